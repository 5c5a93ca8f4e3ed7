/** Closes the connections of an HTTP server without losing requests that are on their way. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';

/**
 * Milliseconds that an idle connection stays open while draining. If a request arrives in this time, its response tells the
 * client to close the connection.
 */
const DRAIN_GRACE = 1000;

/**
 * Stops listening, and resolves when the last connection has closed. The server's own `close` would also close idle connections.
 */
export function stopListening(server: Server): Promise<void> {
  return new Promise((resolve) => {
    NetServer.prototype.close.call(server, () => resolve());
  });
}

/**
 * Resolves when all connections are closed. Idle connections are closed only after DRAIN_GRACE, because a request may be on its
 * way, and only after Node has read from all sockets, because unread requests may be waiting if the process was stalled.
 */
export async function closeConnections(
  server: Server,
  unused: ReadonlySet<Socket>,
  closed: Promise<void>,
  timeout: number,
): Promise<void> {
  const closeIdle = async (): Promise<void> => {
    await socketsRead();
    server.closeIdleConnections();
    for (const socket of unused) socket.destroy();
  };
  const idle = setTimeout(() => void closeIdle(), Math.min(DRAIN_GRACE, timeout));
  const sweep = setInterval(() => void closeIdle(), DRAIN_GRACE);
  const cut = setTimeout(() => server.closeAllConnections(), timeout);
  await closed;
  clearTimeout(idle);
  clearInterval(sweep);
  clearTimeout(cut);
  // This call also stops the timer with which Node checks request timeouts.
  server.close();
}

/** Number of requests that have arrived on a connection. */
const REQUESTS: unique symbol = Symbol('requests');

/** Counts a request, and returns its number on its connection. */
export function numberOf({ socket }: IncomingMessage): number {
  const counted: Socket & { [REQUESTS]?: number } = socket;
  const number = (counted[REQUESTS] ?? 0) + 1;
  counted[REQUESTS] = number;
  return number;
}

/**
 * Calls `send` for a response while draining. Node closes the connection after a response with `Connection: close`, so only the
 * response to the last request may have this header. A client that pipelines requests may have sent more of them, so the newest
 * response waits until all earlier responses have been sent and until Node has read from all sockets.
 */
export async function sendInDrain(
  { socket }: IncomingMessage,
  response: ServerResponse,
  number: number,
  send: (isLast: boolean) => void,
): Promise<void> {
  const isNewest = (): boolean => (socket as { [REQUESTS]?: number })[REQUESTS] === number;
  if (isNewest()) {
    // Node assigns the socket to a response once all earlier responses on this connection have been sent.
    if (response.socket === null) await new Promise((resolve) => response.once('socket', resolve));
    await socketsRead();
  }
  send(isNewest());
}

/**
 * Resolves after Node has read from all sockets, which it does between timers and immediates. Waits for two rounds, because a
 * read may cause further reads.
 */
async function socketsRead(): Promise<void> {
  for (let i = 0; i < 2; i++) await new Promise((resolve) => setImmediate(resolve));
}
