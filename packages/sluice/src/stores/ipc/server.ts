/** The side that decides: hits come in as lines, and every connection gets its answers in order. */
import { stat } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import type { AlgorithmsByName } from '../../algorithms/by-name.ts';
import type { Decision, Hit, MaybePromise, Plan, Store } from '../../contract.ts';
import { kept } from '../../kept.ts';
import { answerLine, type Ask, hitFrom, lineReader, planFrom } from './wire.ts';

/** Plans kept ready. A plan that was dropped is parsed again. */
const READY = 5000;
/** Bytes of answers that a connection may leave unread. */
const MOST_UNREAD = 64 * 2 ** 20;
/** How often the server looks whether the path still leads to it, in milliseconds. */
const LOOK_EVERY = 1000;

/** Applies hits whose plans come as text. */
export function decider(
  store: Store,
  algorithms: AlgorithmsByName,
): (plan: string, hit: (plan: Plan) => Hit) => MaybePromise<Decision> {
  const plans = kept<Plan>(READY);
  return (text, hit) => store.apply(hit(plans.get(text) ?? plans.set(text, planFrom(text, algorithms))));
}

export type Decide = ReturnType<typeof decider>;

/** Rejects with EADDRINUSE if the path is taken. `onLost` is called once when the path leads elsewhere. */
export async function serve(
  path: string,
  decide: Decide,
  onLost: () => void,
): Promise<{ close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    answer(socket, decide);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    // Exclusive: a worker of node:cluster would otherwise share its socket with all the others.
    server.listen({ path, exclusive: true }, resolve);
  });
  server.on('error', () => {});
  // Nobody's process lives on for the sake of others' limits.
  server.unref();
  const stopLooking = await watch(path, lose);

  async function close(): Promise<void> {
    stopLooking();
    for (const socket of sockets) socket.destroy();
    await closed(server);
  }
  function lose(): void {
    onLost();
    void close();
  }
  return { close };
}

function answer(socket: Socket, decide: Decide): void {
  let before: Promise<unknown> = Promise.resolve();
  socket.unref();
  socket.setEncoding('utf8');
  socket.on('error', () => socket.destroy());
  const read = lineReader((line) => {
    const [plans, hits] = JSON.parse(line) as Ask;
    // All are decided at once, in the order in which they came; only the answers may have to wait for a slow store.
    const answers = hits.map((hit) => attempt(() => decide(plans[hit[0]], (plan) => hitFrom(hit, plan))));
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

async function attempt(act: () => MaybePromise<Decision>): Promise<Decision | { error: string }> {
  try {
    return await act();
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
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
