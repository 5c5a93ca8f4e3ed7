/** Accepts pending connections before a server stops listening, because their clients already consider them established. */
import type { Server } from 'node:net';

/** Maximum number of pending connections that the system queues, by Node's default. */
const BACKLOG = 511;

/**
 * Resolves after two turns of the event loop without a new connection, or after enough turns to accept a full backlog. Node may
 * accept only one connection per turn.
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
