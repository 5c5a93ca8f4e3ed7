/** The HTTP listener, on node:http. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer, Server as SecureServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { MaybePromise } from 'sluice';
import type { Core } from '../../core/core.ts';
import { isPromise } from '../../core/maybe-promise.ts';
import { admissionTo } from '../connections.ts';
import {
  type Listener,
  type ListenerOptions,
  HANDSHAKE_TIMEOUT,
  KEEP_ALIVE,
  REQUEST_TIMEOUT,
} from '../listener.ts';
import { drainBacklog } from '../drain-backlog.ts';
import type { Work } from '../../telemetry/traces/tracer.ts';
import { auditRefusal } from '../audit.ts';
import { Forbidden, type Grant, NO_TOKEN } from '../grants.ts';
import { knownRequestId, requestIdOf } from '../request-id.ts';
import { loggedDetail, refusalReason } from './refusal-reason.ts';
import { checkAccess, checkOrigin } from './access.ts';
import { readJson } from './body.ts';
import { closeConnections, numberOf, sendInDrain, stopListening } from './drain.ts';
import { HttpProblem, problemReply, type Reply } from './reply.ts';
import { type Route, routesOf, statusesOf } from './routes.ts';
import { problemOf } from './v1.ts';

/** Milliseconds that a connection above the maximum stays open, so that its request can be answered with the reason. */
const REFUSAL_TIME = 1000;

export async function openHttp(core: Core, options: ListenerOptions): Promise<Listener> {
  const { address, tls, log, tracer, maxMessage, requestLog } = options;
  const logDenial = requestLog?.denied;
  const routes = routesOf(core, options);
  for (const [path, route] of routes)
    core.metrics.declareRoute('http', path, [...statusesOf(route)].map(String));
  core.metrics.declareRoute('http', 'none', ['404']);
  let isDraining = false;

  /** Answers synchronously if the route answers synchronously. Never throws. */
  function serve(request: IncomingMessage, response: ServerResponse): void {
    const start = performance.now();
    const number = numberOf(request);
    const context = request.method === 'POST' ? tracer?.contextOf(parentIn(request)) : undefined;
    const { url = '' } = request;
    const end = url.indexOf('?');
    const path = end < 0 ? url : url.slice(0, end);
    const route = routes.get(path);
    const name = route === undefined ? 'none' : path;

    function finish(reply: Reply): void {
      if (isDraining) void sendInDrain(request, response, number, (isLast) => finishWith(reply, isLast));
      else finishWith(reply, false);
    }

    function finishWith(reply: Reply, isLast: boolean): void {
      try {
        if (logDenial !== undefined && reply.denied !== undefined)
          logDenial(reply.denied, () => ({ listener: 'http', requestId: requestIdOf(request) }));
        send(request, response, reply, isLast);
        // A stream stays open until the client disconnects, so its duration is meaningless.
        if (reply.stream !== undefined) return;
        core.metrics.answered('http', name, String(reply.status), performance.now() - start);
        if (context !== undefined) tracer?.record(context, workOf(name, reply, start));
      } catch (error) {
        log.error('HTTP request failed', { path: name, error: String(error) });
        response.destroy();
      }
    }

    function fail(error: unknown): void {
      const problem = problemOf(error);
      if (problem.cause instanceof Error || problem.body.status === 500)
        log.error('HTTP request failed', { path: name, error: String(problem.cause) });
      const isAudited = error instanceof Forbidden && error.isAudited;
      const reason = isAudited ? undefined : refusalReason(problem);
      if (reason !== undefined)
        requestLog?.refused(reason, () => ({
          listener: 'http',
          path: name,
          detail: loggedDetail(problem),
          client: options.attempts?.clientOf(request),
          requestId: requestIdOf(request),
        }));
      finish(problemReply(problem));
    }

    let grant: Grant = NO_TOKEN;

    function answer(body: unknown): void {
      let reply: MaybePromise<Reply> | undefined;
      try {
        reply = route?.answer(request, end < 0 ? '' : url.slice(end + 1), body, grant);
        if (reply === undefined) throw new HttpProblem('not-found');
      } catch (error) {
        fail(error);
        return;
      }
      if (isPromise(reply)) reply.then(finish, fail);
      else finish(reply);
    }

    try {
      if (route !== undefined) grant = checkRequest(request, route);
    } catch (error) {
      auditRefusal(log, 'http', error, () => requestIdOf(request));
      fail(error);
      return;
    }
    if (route?.method === 'POST') readJson(request, maxMessage, answer, fail);
    else answer(undefined);
  }

  /** Returns what the client may do. If the request may not use the route, throws an error, which becomes the response. */
  function checkRequest(request: IncomingMessage, route: Route): Grant {
    const { method, verb } = route;
    checkMethod(request, method);
    if (verb === undefined) return NO_TOKEN;
    if (route.isFromProxy?.(request) !== true) checkOrigin(request);
    return checkAccess(request, verb, options);
  }

  /** Connections without a request so far. Node does not count them as idle. */
  const unused = new Set<Socket>();

  /** Connections above the maximum. Their first response gives the reason and closes them. */
  const refused = new WeakSet<Socket>();

  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    unused.delete(request.socket);
    if (refused.has(request.socket)) send(request, response, FULL, true);
    else serve(request, response);
  };
  const server: Server =
    tls === undefined
      ? createServer(onRequest)
      : createSecureServer(
          {
            ...tls,
            handshakeTimeout: HANDSHAKE_TIMEOUT,
            requestCert: tls.ca !== undefined,
            rejectUnauthorized: tls.ca !== undefined,
          },
          onRequest,
        );
  const admit = admissionTo(server, {
    max: options.maxConnections,
    listener: 'http',
    log,
    onConnection: options.onConnection,
  });
  server.on('connection', (socket: Socket) => {
    if (admit(socket)) return;
    // Nothing can be sent to a client before the TLS handshake.
    if (tls !== undefined) return void socket.destroy();
    refused.add(socket);
    setTimeout(() => socket.destroy(), REFUSAL_TIME).unref();
  });
  server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
    unused.add(socket);
    socket.once('close', () => unused.delete(socket));
  });
  server.keepAliveTimeout = options.keepAlive ?? KEEP_ALIVE;
  server.requestTimeout = 2 * REQUEST_TIMEOUT;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(address.port, address.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  server.on('error', (error) => log.error('the HTTP listener failed', { error: String(error) }));

  return {
    address: { host: address.host, port: (server.address() as AddressInfo).port },
    async drain(timeout) {
      await drainBacklog(server);
      const closed = stopListening(server);
      // `isDraining` is set only after the server has stopped listening. Otherwise, a client that is told to close its connection
      // would connect to this server again.
      isDraining = true;
      await closeConnections(server, unused, closed, timeout);
    },
    secure(next) {
      if (server instanceof SecureServer) server.setSecureContext(next);
    },
  };
}

const FULL: Reply = problemReply(new HttpProblem('unavailable', 'Maximum number of connections reached.'));

function parentIn({ headers: { traceparent } }: IncomingMessage): string | undefined {
  return typeof traceparent === 'string' ? traceparent : undefined;
}

function workOf(route: string, { status, asked }: Reply, start: number): Work {
  return {
    name: `POST ${route}`,
    start,
    attributes: {
      'sluice.listener': 'http',
      'http.request.method': 'POST',
      'http.route': route,
      'http.response.status_code': status,
    },
    asked: asked?.(),
    error: status >= 500 ? `status ${status}` : undefined,
  };
}

function checkMethod(request: IncomingMessage, method: Route['method']): void {
  const isRead = method === 'GET' && request.method === 'HEAD';
  if (request.method !== method && !isRead)
    throw new HttpProblem('method-not-allowed', undefined, {}, [['Allow', method]]);
}

function send(request: IncomingMessage, response: ServerResponse, reply: Reply, isLast: boolean): void {
  if (response.destroyed) return;
  const { status, type, body, headers = [], stream } = reply;
  // All headers are in one array, because setting them one by one costs more than the decision.
  const head = ['Content-Type', type, 'X-Content-Type-Options', 'nosniff'];
  for (const [name, value] of headers) head.push(name, value);
  const id = knownRequestId(request);
  if (id !== undefined) head.push('X-Request-Id', id);
  if (!head.includes('Cache-Control')) head.push('Cache-Control', 'no-store');
  const size = Buffer.byteLength(body);
  if (stream === undefined && status !== 304) head.push('Content-Length', String(size));
  if (isLast && !head.includes('Connection')) head.push('Connection', 'close');
  response.writeHead(status, head);
  if (request.method === 'HEAD' || status === 304) response.end();
  // ASCII text is the same in UTF-8 and Latin-1, and Node writes Latin-1 faster.
  else if (stream === undefined) response.end(body, size === body.length ? 'latin1' : 'utf8');
  else stream(response);
}
