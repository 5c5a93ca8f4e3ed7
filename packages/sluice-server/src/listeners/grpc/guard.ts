/**
 * Protects the gRPC listener at the level of connections and streams: limits the number of connections, and the number of streams
 * that clients reset.
 */
import { constants, type Http2Server, type Http2Session, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { Server } from '@grpc/grpc-js';
import { createLimiter, memory } from 'sluice';
import { clientAddress } from 'sluice/http';
import { admissionTo } from '../connections.ts';
import { type ListenerOptions, REQUEST_TIMEOUT } from '../listener.ts';
import { oncePerSecond } from '../../log.ts';

/**
 * Limit on the streams that one address may reset before they are answered ("rapid reset"). HTTP/2 limits concurrent streams, but
 * a reset stream no longer counts, so a client could start any number of calls. Clients whose calls time out also reset streams,
 * which the burst allows for. nghttp2 itself allows a burst of 1,000 per connection, which does not limit an address with many
 * connections.
 */
const RESETS = '100/s burst 1000';
/** Maximum number of milliseconds for which an address is refused. */
const MAX_REFUSAL = 5000;
/** Maximum number of addresses to track. */
const MAX_KEYS = 10_000;

/** Where a stream comes from. A stream that was reset no longer has a reference to its session. */
interface Origin {
  readonly session: Http2Session;
  /** The address of the client. */
  readonly client: string;
}

/** Property of a stream that holds its origin. It is a property because a WeakMap would cost the garbage collector more. */
const ORIGIN: unique symbol = Symbol('origin');

type Stream = ServerHttp2Stream & { [ORIGIN]?: Origin };

export function guardSessions(server: Server, options: ListenerOptions): void {
  const { maxConnections: max, requestTimeout = REQUEST_TIMEOUT, tls, log } = options;
  const resets = createLimiter(RESETS, { name: 'resets', store: memory({ maxKeys: MAX_KEYS }) });

  const condemned = new WeakSet<Http2Session>();
  const warn = oncePerSecond((client: string) =>
    log.warn('closing a gRPC connection because the client resets too many calls', { client }),
  );

  /**
   * Counts a reset. Resets above the limit are charged as well, so connections from the address are refused until its allowance is
   * replenished, which takes at most about MAX_REFUSAL.
   */
  function countReset(session: Http2Session, client: string): void {
    const { allowed, retryAfter } = resets.peek(client);
    if (retryAfter < MAX_REFUSAL) resets.take(client, { mode: 'always' });
    if (allowed || condemned.has(session)) return;
    condemned.add(session);
    warn(client);
    // The session is destroyed later, because destroying a session while Node reads from it can fail a Node assertion and crash
    // the process.
    setImmediate(() => session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM));
  }

  for (const http2Server of http2ServersOf(server)) {
    const admit = admissionTo(http2Server, {
      max,
      listener: 'grpc',
      log,
      onConnection: options.onConnection,
    });
    /** Whether the session that Node creates for the current socket exceeds the maximum number of connections. */
    let isFull = false;
    takeOver(http2Server, 'connection', (socket: Socket) => {
      const isAllowed = resets.peek(clientOf(socket)).allowed;
      isFull = isAllowed && !admit(socket);
      // Nothing can be sent to a client before the TLS handshake.
      if (!isAllowed || (isFull && tls !== undefined)) socket.destroy();
      return !socket.destroyed;
    });
    http2Server.on('session', (session: Http2Session) => {
      const origin: Origin = { session, client: clientOf(session.socket) };
      session.prependListener('stream', (stream: Stream) => {
        stream[ORIGIN] = origin;
      });
      if (!isFull || tls !== undefined) return;
      session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM, 0, FULL);
      session.close();
    });
    takeOver(http2Server, 'stream', (stream: Stream) => {
      const origin = stream[ORIGIN];
      if (origin === undefined) return false;
      const { session, client } = origin;
      // The stream is already reset, or its session is about to be closed. grpc-js never sees this stream.
      if (stream.destroyed || stream.closed || condemned.has(session)) {
        countReset(session, client);
        return false;
      }
      stream.once('close', () => {
        if (stream.rstCode !== constants.NGHTTP2_NO_ERROR) countReset(session, client);
      });
      // The timeout applies only until the request is complete, because a health watch may stay open without further messages.
      stream.setTimeout(requestTimeout, () => {
        if (!stream.readableEnded) stream.close(constants.NGHTTP2_CANCEL);
      });
      return true;
    });
  }
}

/** Runs `accept` before the existing listeners of an event, and calls these listeners only if `accept` returns true. */
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

/**
 * The HTTP/2 servers of grpc-js. grpc-js offers neither access to these servers nor options for the limits in this file, so the
 * version of grpc-js is pinned.
 */
function http2ServersOf(server: Server): readonly Http2Server[] {
  const { http2Servers } = server as unknown as { http2Servers?: unknown };
  if (!(http2Servers instanceof Map) || http2Servers.size === 0)
    throw new Error('cannot guard the gRPC listener, because this version of @grpc/grpc-js is not supported');
  return [...http2Servers.keys()];
}
