/** The gRPC listener: Envoy's rate limit service, and health checks. */
import { randomUUID } from 'node:crypto';
import { type sendUnaryData, Server, type ServerUnaryCall, status } from '@grpc/grpc-js';
import type { Core } from '../../core/core.ts';
import { isPromise } from '../../core/maybe-promise.ts';
import { secondsOf } from '../auth-attempts.ts';
import { type Listener, type ListenerOptions, IDLE_TIMEOUT, showAddress } from '../listener.ts';
import { Forbidden, type Grant, grantFor, NO_TOKEN } from '../grants.ts';
import { validRequestId } from '../request-id.ts';
import { deniedDescriptors, type RefusalReason } from '../request-log.ts';
import { storeFaultIn } from '../store-failure.ts';
import { askedOf } from '../../telemetry/traces/envoy.ts';
import type { Work } from '../../telemetry/traces/tracer.ts';
import { withFastCodec } from './codec.ts';
import { createHealth } from './health.ts';
import { guardSessions } from './guard.ts';
import { credentialsOf } from './tls.ts';
import { loadServices, RATE_LIMIT, type RateLimitRequest, type RateLimitResponse } from './proto.ts';
import { Refusal, shouldRateLimit } from './rls.ts';

type Call = ServerUnaryCall<RateLimitRequest, RateLimitResponse>;

/** Maximum number of concurrent calls per connection. */
const MAX_CALLS = 1000;

/** Milliseconds of inactivity before an HTTP/2 ping. */
const KEEP_ALIVE = 60_000;
/** Milliseconds to wait for the client's answer to a ping. */
const KEEP_ALIVE_TIMEOUT = 20_000;

/** Milliseconds for which calls are still accepted while draining, for clients that have just connected. */
const DRAIN_GRACE = 300;

export async function openGrpc(core: Core, options: ListenerOptions): Promise<Listener> {
  const {
    address,
    maxMessage,
    maxKey,
    isHealthy,
    log,
    tracer,
    requestLog,
    idleTimeout = IDLE_TIMEOUT,
  } = options;
  const logDenial = requestLog?.denied;
  core.metrics.declareRoute('grpc', 'ShouldRateLimit', [
    status[status.OK],
    ...[...REASONS.keys(), ...FAULTS].map((code) => status[code]),
  ]);
  const services = loadServices();
  const health = createHealth(isHealthy);
  const server = new Server({
    'grpc.max_receive_message_length': maxMessage,
    'grpc.max_concurrent_streams': MAX_CALLS,
    'grpc.keepalive_time_ms': KEEP_ALIVE,
    'grpc.keepalive_timeout_ms': KEEP_ALIVE_TIMEOUT,
    ...(idleTimeout > 0 && { 'grpc.max_connection_idle_ms': idleTimeout }),
  });

  function decide(call: Call, callback: sendUnaryData<RateLimitResponse>): void {
    const start = performance.now();
    const context = tracer?.contextOf(parentIn(call));
    const answered = (code: status, response?: RateLimitResponse): void => {
      core.metrics.answered('grpc', 'ShouldRateLimit', status[code], performance.now() - start);
      if (context !== undefined) tracer?.record(context, workOf(call, start, code, response));
    };
    const succeed = (response: RateLimitResponse): void => {
      answered(status.OK, response);
      if (logDenial !== undefined && response.overallCode === 'OVER_LIMIT') {
        const { domain, descriptors } = call.request;
        logDenial(
          () => deniedDescriptors(domain, descriptors, response.statuses),
          () => ({
            listener: 'grpc',
            requestId: idOf(call),
          }),
        );
      }
      callback(null, response);
    };
    const fail = (error: unknown): void => {
      const { code, message } = refusalOf(error);
      if (code === status.INTERNAL) log.error('gRPC call failed', { listener: 'grpc', error: String(error) });
      const reason = REASONS.get(code);
      if (reason !== undefined)
        requestLog?.refused(reason, () => ({
          listener: 'grpc',
          detail: message,
          client: hostOf(call.getPeer()),
          requestId: idOf(call),
        }));
      answered(code);
      callback({ code, details: message });
    };
    try {
      const grant = checkToken(call, options);
      const response = shouldRateLimit(core, call.request, maxKey, grant);
      if (isPromise(response)) response.then(succeed, fail);
      else succeed(response);
    } catch (error) {
      fail(error);
    }
  }

  const method = withFastCodec(services.rateLimit['ShouldRateLimit']);
  server.addService({ ShouldRateLimit: method }, { ShouldRateLimit: decide });
  server.addService(services.health, { Check: health.check, Watch: health.watch });
  const { credentials, secure } = credentialsOf(options.tls);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(showAddress(address), credentials, (error, bound) => {
      if (error === null) resolve(bound);
      else reject(bindError(error));
    });
  });

  guardSessions(server, options);

  return {
    address: { host: address.host, port },
    async drain(timeout) {
      health.close();
      const cut = setTimeout(() => server.forceShutdown(), timeout);
      await new Promise((resolve) => setTimeout(resolve, Math.min(DRAIN_GRACE, timeout)));
      await new Promise<void>((resolve) => {
        server.tryShutdown(() => resolve());
      });
      clearTimeout(cut);
    },
    secure,
  };
}

/** Returns an error like those of node:net, which the command prints without a stack trace. */
function bindError({ message }: Error): Error {
  const reason = /errors: \[(.*)\]$/s.exec(message)?.[1] ?? message;
  return Object.assign(new Error(reason), { code: /\bE[A-Z]{3,}\b/.exec(reason)?.[0] ?? 'ERR_LISTEN' });
}

/** Status codes of refusals that are logged. A denial by a limit has the status OK. */
const REASONS: ReadonlyMap<status, RefusalReason> = new Map([
  [status.UNAUTHENTICATED, 'unauthorized'],
  [status.RESOURCE_EXHAUSTED, 'unauthorized'],
  [status.PERMISSION_DENIED, 'forbidden'],
  [status.INVALID_ARGUMENT, 'invalid'],
]);

/** The id in the call's metadata, which Envoy copies from the request, or a new one. */
function idOf({ metadata }: Call): string {
  return validRequestId(metadata.get('x-request-id')[0]) ?? randomUUID();
}

function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof Forbidden) return new Refusal(status.PERMISSION_DENIED, error.message);
  if (storeFaultIn(error) !== undefined) return new Refusal(status.UNAVAILABLE, (error as Error).message);
  return new Refusal(status.INTERNAL, 'internal server error');
}

function parentIn({ metadata }: Call): string | undefined {
  const [given] = metadata.get('traceparent');
  return typeof given === 'string' ? given : undefined;
}

/** Status codes of failures that the client did not cause. */
const FAULTS: readonly status[] = [status.UNAVAILABLE, status.INTERNAL];

function workOf(
  { request: { domain, descriptors } }: Call,
  start: number,
  code: status,
  response: RateLimitResponse | undefined,
): Work {
  return {
    name: `${RATE_LIMIT}/ShouldRateLimit`,
    start,
    attributes: {
      'sluice.listener': 'grpc',
      'rpc.system': 'grpc',
      'rpc.service': RATE_LIMIT,
      'rpc.method': 'ShouldRateLimit',
      'rpc.grpc.status_code': code,
    },
    asked: askedOf(domain, descriptors, response && response.overallCode === 'OVER_LIMIT'),
    error: FAULTS.includes(code) ? status[code] : undefined,
  };
}

function checkToken(call: Call, options: ListenerOptions): Grant {
  const { tokens, attempts } = options;
  if (tokens === undefined) return NO_TOKEN;
  const shown = tokenOf(call);
  if (shown === '') throw new Refusal(status.UNAUTHENTICATED, 'a bearer token is required');
  const client = attempts?.clientOf({ headers: {}, remoteAddress: hostOf(call.getPeer()) }) ?? '';
  const wait = secondsOf(attempts?.waitOf(client) ?? 0);
  if (wait > 0)
    throw new Refusal(
      status.RESOURCE_EXHAUSTED,
      `too many failed authentication attempts. Retry in ${wait} s.`,
    );
  const grant = grantFor(shown, options);
  if (grant !== undefined) return grant;
  attempts?.failed(client, shown);
  throw new Refusal(status.UNAUTHENTICATED, 'invalid token');
}

/** Removes the port from '192.0.2.1:80' or '2001:db8::1:80', which grpc-js writes without brackets. */
function hostOf(peer: string): string {
  return peer.slice(0, Math.max(0, peer.lastIndexOf(':'))).replace(/^\[|\]$/g, '');
}

function tokenOf({ metadata }: Call): string {
  return /^Bearer +(\S+) *$/i.exec(String(metadata.get('authorization')[0] ?? ''))?.[1] ?? '';
}
