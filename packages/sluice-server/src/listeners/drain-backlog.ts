/** Accepts pending connections before a server stops listening: to their clients, they are already established. */
import type { Server } from 'node:net';

/** Node's default for the number of pending connections that the system queues. */
const BACKLOG = 511;

/**
 * Node may accept only one connection per turn of the event loop. So this waits until two turns bring none, or until a full
 * backlog could have been accepted.
 */
export async function drainBacklog(server: Server): Promise<void> {
  let quietTurns = 0;
  const onConnection = (): void => {
    quietTurns = 0;
  };
  server.on('connection', onConnection);
  for (let turns = 0; turns < BACKLOG && quietTurns < 2; turns++) {
    quietTurns++;
    await new Promise((resolve) => setImmediate(resolve));
  }
  server.off('connection', onConnection);
}
