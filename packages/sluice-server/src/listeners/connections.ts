/** Bounds how many connections a listener holds, and finds out about those whose client has vanished. */
import type { Server, Socket } from 'node:net';
import { type Log, oncePerSecond } from '../log.ts';

/** Default maximum per listener, as Redis has it. */
const MAX_CONNECTIONS = 10_000;
/** Connections above the maximum that may exist at a time while they are told so. Node drops any further ones itself. */
const SPARE = 100;
/** After this many milliseconds of silence, TCP asks whether the peer still exists; ten seconds without an answer end it. */
const KEEP_ALIVE = 60_000;

export interface AdmissionOptions {
  readonly max?: number | undefined;
  readonly listener: string;
  readonly log: Log;
}

/** Returns a function that counts a new connection until it closes, or returns false if it is one too many. */
export function admissionTo(
  server: Server,
  { max = MAX_CONNECTIONS, listener, log }: AdmissionOptions,
): (socket: Socket) => boolean {
  let open = 0;
  const warn = oncePerSecond(() =>
    log.warn('maximum number of connections reached; refusing new ones', { door: listener, max }),
  );

  server.maxConnections = max + SPARE;
  server.on('drop', warn);
  return (socket) => {
    socket.setKeepAlive(true, KEEP_ALIVE);
    if (open >= max) {
      warn();
      return false;
    }
    open++;
    socket.once('close', () => open--);
    return true;
  };
}
