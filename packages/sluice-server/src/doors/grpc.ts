/** The gRPC door: Envoy's rate limit service, and health checks. */
import { type sendUnaryData, Server, type ServerUnaryCall, status } from '@grpc/grpc-js';
import { StoreError, StoreUnavailable } from 'sluice';
import type { Core } from '../core/core.ts';
import { isPromise } from '../core/maybe.ts';
import { type Door, type DoorOptions, showAddress } from '../door.ts';
import { isToken } from '../http/access.ts';
import { askedOf } from '../traces/envoy.ts';
import type { Work } from '../traces/tracer.ts';
import { createHealth } from './grpc-health.ts';
import { credentialsOf } from './grpc-tls.ts';
import { loadServices, RATE_LIMIT, type RateLimitRequest, type RateLimitResponse } from './grpc-proto.ts';
import { Refusal, shouldRateLimit } from './grpc-rls.ts';

type Call = ServerUnaryCall<RateLimitRequest, RateLimitResponse>;

/** Of one connection, at once. */
const MOST_CALLS = 1000;

/** While draining, calls are taken for so long: who has just connected hears from us before it calls. */
const LAST_WORDS = 300;

export async function openGrpc(core: Core, options: DoorOptions): Promise<Door> {
  const { address, maxMessage, maxKey, isHealthy, tokens, log, tracer } = options;
  const services = loadServices();
  const health = createHealth(isHealthy);
  const server = new Server({
    'grpc.max_receive_message_length': maxMessage,
    'grpc.max_concurrent_streams': MOST_CALLS,
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
      callback(null, response);
    };
    const fail = (error: unknown): void => {
      const { code, message } = refusalOf(error);
      if (code === status.INTERNAL) log.error('a call failed', { door: 'grpc', error: String(error) });
      answered(code);
      callback({ code, details: message });
    };
    try {
      if (tokens !== undefined && !isToken(tokenOf(call), tokens()))
        throw new Refusal(status.UNAUTHENTICATED, 'a bearer token is needed');
      const response = shouldRateLimit(core, call.request, maxKey);
      if (isPromise(response)) response.then(succeed, fail);
      else succeed(response);
    } catch (error) {
      fail(error);
    }
  }

  server.addService(services.rateLimit, { ShouldRateLimit: decide });
  server.addService(services.health, { Check: health.check, Watch: health.watch });
  const { credentials, secure } = credentialsOf(options.tls);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(showAddress(address), credentials, (error, bound) => {
      if (error === null) resolve(bound);
      else reject(error);
    });
  });

  return {
    address: { host: address.host, port },
    async drain(timeout) {
      health.close();
      const cut = setTimeout(() => server.forceShutdown(), timeout);
      await new Promise((resolve) => setTimeout(resolve, Math.min(LAST_WORDS, timeout)));
      await new Promise<void>((resolve) => {
        server.tryShutdown(() => resolve());
      });
      clearTimeout(cut);
    },
    secure,
  };
}

function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof StoreError || error instanceof StoreUnavailable)
    return new Refusal(status.UNAVAILABLE, error.message);
  return new Refusal(status.INTERNAL, 'the server failed');
}

function parentIn({ metadata }: Call): string | undefined {
  const [given] = metadata.get('traceparent');
  return typeof given === 'string' ? given : undefined;
}

/** Not the caller's mistakes. */
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
      'sluice.door': 'grpc',
      'rpc.system': 'grpc',
      'rpc.service': RATE_LIMIT,
      'rpc.method': 'ShouldRateLimit',
      'rpc.grpc.status_code': code,
    },
    asked: askedOf(domain, descriptors, response && response.overallCode === 'OVER_LIMIT'),
    error: FAULTS.includes(code) ? status[code] : undefined,
  };
}

function tokenOf({ metadata }: Call): string {
  return /^Bearer +(\S+) *$/i.exec(String(metadata.get('authorization')[0] ?? ''))?.[1] ?? '';
}
