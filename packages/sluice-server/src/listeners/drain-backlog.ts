/** Before a server stops listening, those who have connected are let in: they have been told that they are. */
import type { Server } from 'node:net';

/** Connections that the system keeps for us. */
const BACKLOG = 511;

/** Node may accept one a turn of its loop: so until two turns bring nobody, or a whole backlog has come. */
export async function drainBacklog(server: Server): Promise<void> {
  let quiet = 0;
  const welcome = (): void => {
    quiet = 0;
  };
  server.on('connection', welcome);
  for (let turns = 0; turns < BACKLOG && quiet < 2; turns++) {
    quiet++;
    await new Promise((resolve) => setImmediate(resolve));
  }
  server.off('connection', welcome);
}
