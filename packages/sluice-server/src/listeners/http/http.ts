/** The HTTP listener, on node:http. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer, Server as SecureServer } from 'node:https';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import type { Core } from '../../core/core.ts';
import { admissionTo } from '../connections.ts';
import { type Listener, type ListenerOptions, HANDSHAKE_TIMEOUT, REQUEST_TIMEOUT } from '../listener.ts';
import { drainBacklog } from '../drain-backlog.ts';
import type { Work } from '../../telemetry/traces/tracer.ts';
import { checkAccess, checkOrigin } from './access.ts';
import { HttpProblem, problemReply, type Reply } from './reply.ts';
import { type Route, routesOf } from './routes.ts';
import { problemOf } from './v1.ts';

/** While draining, a client that keeps its connection gets this long to send one more request, and hears to close. */
const LAST_WORDS = 1000;
/** Milliseconds for a client above the maximum of connections to send a request, and hear why it is refused. */
const REFUSAL_TIME = 1000;

export async function openHttp(core: Core, options: ListenerOptions): Promise<Listener> {
  const { address, tls, log, tracer } = options;
  const routes = routesOf(core, options);
  let isDraining = false;

  async function replyTo(request: IncomingMessage): Promise<[name: string, reply: Reply]> {
    const [path = '', query = ''] = (request.url ?? '').split('?', 2);
    const route = routes.get(path);
    const name = route === undefined ? 'none' : path;
    try {
      if (route === undefined) throw new HttpProblem('not-found');
      checkMethod(request, route);
      if (route.access !== 'public') {
        checkOrigin(request);
        checkAccess(request, route.access, options);
      }
      return [name, await route.answer(request, new URLSearchParams(query))];
    } catch (error) {
      const problem = problemOf(error);
      if (problem.cause instanceof Error || problem.body.status === 500)
        log.error('a request failed', { path: name, error: String(problem.cause) });
      return [name, problemReply(problem)];
    }
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const start = performance.now();
    const context = request.method === 'POST' ? tracer?.contextOf(parentIn(request)) : undefined;
    const [name, reply] = await replyTo(request);
    send(request, response, reply, isDraining);
    // A stream lasts as long as somebody looks.
    if (reply.stream !== undefined) return;
    core.metrics.answered('http', name, String(reply.status), performance.now() - start);
    if (context !== undefined) tracer?.record(context, workOf(name, reply, start));
  }

  /** Connections that have not asked anything yet: http does not count them as idle. */
  const silent = new Set<Socket>();

  /** Connections above the maximum: the next answer says so, and closes them. */
  const refused = new WeakSet<Socket>();

  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    silent.delete(request.socket);
    if (refused.has(request.socket)) {
      send(request, response, FULL, true);
      return;
    }
    serve(request, response).catch((error: unknown) => {
      log.error('a request failed', { error: String(error) });
      response.destroy();
    });
  };
  const server: Server =
    tls === undefined
      ? createServer(listener)
      : createSecureServer(
          {
            ...tls,
            handshakeTimeout: HANDSHAKE_TIMEOUT,
            requestCert: tls.ca !== undefined,
            rejectUnauthorized: tls.ca !== undefined,
          },
          listener,
        );
  const admit = admissionTo(server, { max: options.maxConnections, listener: 'http', log });
  server.on('connection', (socket: Socket) => {
    if (admit(socket)) return;
    // Before its TLS handshake a client cannot be told anything.
    if (tls !== undefined) return void socket.destroy();
    refused.add(socket);
    setTimeout(() => socket.destroy(), REFUSAL_TIME).unref();
  });
  server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
    silent.add(socket);
    socket.once('close', () => silent.delete(socket));
  });
  server.keepAliveTimeout = 60_000;
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
      // Only now: whoever hears to close would connect again.
      isDraining = true;
      await emptied(server, silent, closed, timeout);
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
      'sluice.door': 'http',
      'http.request.method': 'POST',
      'http.route': route,
      'http.response.status_code': status,
    },
    asked: asked?.(),
    error: status >= 500 ? `status ${status}` : undefined,
  };
}

function checkMethod(request: IncomingMessage, { method }: Route): void {
  const isRead = method === 'GET' && request.method === 'HEAD';
  if (request.method !== method && !isRead)
    throw new HttpProblem('method-not-allowed', undefined, {}, [['Allow', method]]);
}

function send(request: IncomingMessage, response: ServerResponse, reply: Reply, isLast: boolean): void {
  if (response.destroyed) return;
  const { status, type, body, headers = [], stream } = reply;
  // All at once: one by one, headers cost more than the decision.
  const head = ['Content-Type', type, 'X-Content-Type-Options', 'nosniff'];
  for (const [name, value] of headers) head.push(name, value);
  if (!head.includes('Cache-Control')) head.push('Cache-Control', 'no-store');
  if (stream === undefined && status !== 304) head.push('Content-Length', String(Buffer.byteLength(body)));
  if (isLast && !head.includes('Connection')) head.push('Connection', 'close');
  response.writeHead(status, head);
  if (request.method === 'HEAD' || status === 304) response.end();
  else if (stream === undefined) response.end(body);
  else stream(response);
}

/** Resolves when the last connection has ended. http's own close would cut idle ones at once. */
function stopListening(server: Server): Promise<void> {
  return new Promise((resolve) => {
    NetServer.prototype.close.call(server, () => resolve());
  });
}

/**
 * Idle connections are told to close with their next answer and cut after a while, since a request may be on its way;
 * and not before the sockets have been looked at: where the process was held up, requests wait there unread.
 */
async function emptied(
  server: Server,
  silent: ReadonlySet<Socket>,
  closed: Promise<void>,
  timeout: number,
): Promise<void> {
  const closeIdle = async (): Promise<void> => {
    await looked();
    server.closeIdleConnections();
    for (const socket of silent) socket.destroy();
  };
  const idle = setTimeout(() => void closeIdle(), Math.min(LAST_WORDS, timeout));
  const sweep = setInterval(() => void closeIdle(), LAST_WORDS);
  const cut = setTimeout(() => server.closeAllConnections(), timeout);
  await closed;
  clearTimeout(idle);
  clearInterval(sweep);
  clearTimeout(cut);
  // Ends what http itself keeps for timeouts.
  server.close();
}

/** After Node has looked at all sockets: that is between timers and immediates. Twice, for what the first look began. */
async function looked(): Promise<void> {
  for (let i = 0; i < 2; i++) await new Promise((resolve) => setImmediate(resolve));
}
