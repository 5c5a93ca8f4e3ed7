/** The server side of ipc, which decides on hits. Hits arrive as lines, and every connection gets its answers in order. */
import { stat } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import type { MaybePromise } from '../../engine/contract.ts';
import { all } from '../../internal/maybe-promise.ts';
import type { Outcome } from '../wire/decider.ts';
import type { Table } from './table.ts';
import { answerLine, type Ask, lineReader } from '../wire/wire.ts';

/** Maximum size of the answers that a connection may leave unread, in bytes. */
const MOST_UNREAD = 64 * 2 ** 20;
/** Milliseconds between checks that the path still leads to this server. */
const LOOK_EVERY = 1000;

/**
 * Serves on a path. Rejects with EADDRINUSE if the path is in use. Calls `onLost` once if the path no longer leads to this
 * server.
 */
export async function serve(
  path: string,
  table: Table,
  onLost: () => void,
): Promise<{ close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    answer(socket, table);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    // The socket is exclusive, because a node:cluster worker would otherwise share the socket with all other workers.
    server.listen({ path, exclusive: true }, () => {
      // The state is loaded here, because it is now certain that no other process serves, and no hit can have been read yet.
      table.open();
      resolve();
    });
  });
  server.on('error', () => {});
  // Serving other processes must not keep this process alive.
  server.unref();
  const stopLooking = await watch(path, lose);

  async function close(): Promise<void> {
    stopLooking();
    for (const socket of sockets) socket.destroy();
    table.close();
    await closed(server);
  }
  function lose(): void {
    onLost();
    void close();
  }
  return { close };
}

function answer(socket: Socket, table: Table): void {
  let before: Promise<unknown> = Promise.resolve();
  socket.unref();
  socket.setEncoding('utf8');
  socket.on('error', () => socket.destroy());
  const read = lineReader((line) => {
    const ask = JSON.parse(line) as Ask;
    const answers: MaybePromise<readonly Outcome[]> =
      ask[5] === true ? table.decideAll(ask) : all(table.decide(ask));
    before = Promise.all([before, answers]).then(([, settled]) => {
      if (socket.writableLength > MOST_UNREAD) socket.destroy();
      else if (socket.writable) socket.write(answerLine(settled));
    });
  });
  socket.on('data', (piece: string) => {
    try {
      read(piece);
    } catch {
      // The peer does not speak this protocol.
      socket.destroy();
    }
  });
}

/** Detects that the socket file was deleted or replaced, because other processes would then send their hits to another server. */
async function watch(path: string, onLost: () => void): Promise<() => void> {
  // A Windows pipe is not a file.
  const inode = (): Promise<number> =>
    stat(path).then(
      ({ ino }) => ino,
      () => 0,
    );
  const own = await inode();
  const timer = setInterval(() => void look(), LOOK_EVERY);
  async function look(): Promise<void> {
    if ((await inode()) === own) return;
    clearInterval(timer);
    onLost();
  }
  timer.unref();
  return () => clearInterval(timer);
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}
