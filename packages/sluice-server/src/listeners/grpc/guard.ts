/** Bounds what clients can do to the gRPC listener below the level of calls: connections, and streams that they reset. */
import { constants, type Http2Server, type Http2Session, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { Server } from '@grpc/grpc-js';
import { createLimiter, memory } from 'sluice';
import { clientAddress } from 'sluice/http';
import { admissionTo } from '../connections.ts';
import { type ListenerOptions, REQUEST_TIMEOUT } from '../listener.ts';
import { oncePerSecond } from '../../log.ts';

/**
 * Streams that one address may reset before they are answered ("rapid reset"). HTTP/2 bounds concurrent streams, but a reset
 * ends one at once, so each costs a call's work and makes room for the next. A client whose calls time out resets, too: the
 * burst is for that. nghttp2 itself allows a burst of 1,000 per connection, and any number of connections.
 */
const RESETS = '100/s burst 1000';
/** Milliseconds for which an address is refused at most. */
const MAX_REFUSAL = 5000;
/** Addresses that are remembered. */
const MAX_KEYS = 10_000;

export function guardSessions(server: Server, options: ListenerOptions): void {
  const { maxConnections: max, requestTimeout = REQUEST_TIMEOUT, tls, log } = options;
  const resets = createLimiter(RESETS, { name: 'resets', store: memory({ maxKeys: MAX_KEYS }) });

  const condemned = new WeakSet<Http2Session>();
  const warn = oncePerSecond((client: string) =>
    log.warn('closing a gRPC connection whose client resets too many calls', { client }),
  );

  /** Resets beyond the limit are charged, too, up to MAX_REFUSAL: until they are paid off, the address is refused. */
  function countReset(session: Http2Session, client: string): void {
    const { allowed, retryAfter } = resets.peek(client);
    if (retryAfter < MAX_REFUSAL) resets.take(client, { mode: 'always' });
    if (allowed || condemned.has(session)) return;
    condemned.add(session);
    warn(client);
    // Not while Node is reading from the session: destroying it there can fail an assertion of Node's, which ends the process.
    setImmediate(() => session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM));
  }

  for (const http2Server of http2ServersOf(server)) {
    const admit = admissionTo(http2Server, { max, listener: 'grpc', log });
    /** Whether the session that Node makes of the current socket is one too many. */
    let isFull = false;
    /** Of streams, since one that was reset no longer knows its own. */
    const sessions = new WeakMap<ServerHttp2Stream, Http2Session>();
    const clients = new WeakMap<Http2Session, string>();
    takeOver(http2Server, 'connection', (socket: Socket) => {
      const isWelcome = resets.peek(clientOf(socket)).allowed;
      isFull = isWelcome && !admit(socket);
      // Before its TLS handshake a client cannot be told anything.
      if (!isWelcome || (isFull && tls !== undefined)) socket.destroy();
      return !socket.destroyed;
    });
    http2Server.on('session', (session: Http2Session) => {
      clients.set(session, clientOf(session.socket));
      session.prependListener('stream', (stream: ServerHttp2Stream) => sessions.set(stream, session));
      if (!isFull || tls !== undefined) return;
      session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM, 0, FULL);
      session.close();
    });
    takeOver(http2Server, 'stream', (stream: ServerHttp2Stream) => {
      const session = sessions.get(stream);
      const client = session && clients.get(session);
      if (session === undefined || client === undefined) return false;
      // Reset before it was looked at, or about to be: grpc-js need not know of it.
      if (stream.destroyed || stream.closed || condemned.has(session)) {
        countReset(session, client);
        return false;
      }
      stream.once('close', () => {
        if (stream.rstCode !== constants.NGHTTP2_NO_ERROR) countReset(session, client);
      });
      // After its request, a watcher of the health service may stay silent.
      stream.setTimeout(requestTimeout, () => {
        if (!stream.readableEnded) stream.close(constants.NGHTTP2_CANCEL);
      });
      return true;
    });
  }
}

/** Puts `accept` before the listeners of an event, which then hear only of what it returns true for. */
function takeOver<T>(server: Http2Server, event: string, accept: (subject: T) => boolean): void {
  const listeners = server.listeners(event);
  server.removeAllListeners(event);
  server.on(event, (subject: T, ...more: unknown[]) => {
    if (!accept(subject)) return;
    for (const listener of listeners) Reflect.apply(listener, server, [subject, ...more]);
  });
}

const FULL = Buffer.from('maximum number of connections reached');

function clientOf(socket: Pick<Socket, 'remoteAddress'>): string {
  return clientAddress({ headers: {}, socket });
}

/** grpc-js has no public way to its HTTP/2 servers, nor options for what is guarded here. Its version is pinned. */
function http2ServersOf(server: Server): readonly Http2Server[] {
  const { http2Servers } = server as unknown as { http2Servers?: unknown };
  if (!(http2Servers instanceof Map) || http2Servers.size === 0)
    throw new Error('cannot guard the gRPC listener: this version of @grpc/grpc-js is not supported');
  return [...http2Servers.keys()];
}
