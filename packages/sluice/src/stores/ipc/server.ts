/** The side that decides: hits come in as lines, and every connection gets its answers in order. */
import { stat } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import type { Table } from './table.ts';
import { answerLine, type Ask, lineReader } from './wire.ts';

/** Bytes of answers that a connection may leave unread. */
const MOST_UNREAD = 64 * 2 ** 20;
/** How often the server looks whether the path still leads to it, in milliseconds. */
const LOOK_EVERY = 1000;

/** Rejects with EADDRINUSE if the path is taken. `onLost` is called once when the path leads elsewhere. */
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
    // Exclusive: a worker of node:cluster would otherwise share its socket with all the others.
    server.listen({ path, exclusive: true }, () => {
      // Only now is it certain that nobody else serves; and the first hit cannot have been read yet.
      table.open();
      resolve();
    });
  });
  server.on('error', () => {});
  // Nobody's process lives on for the sake of others' limits.
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
    const answers = table.decide(JSON.parse(line) as Ask);
    before = Promise.all([before, ...answers]).then(([, ...settled]) => {
      if (socket.writableLength > MOST_UNREAD) socket.destroy();
      else if (socket.writable) socket.write(answerLine(settled));
    });
  });
  socket.on('data', (piece: string) => {
    try {
      read(piece);
    } catch {
      // Not our language.
      socket.destroy();
    }
  });
}

/** A socket's file can be deleted, and another made in its place: then others would ask somebody else. */
async function watch(path: string, onLost: () => void): Promise<() => void> {
  // A pipe of Windows is no file.
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
