/** Limits the number of open connections of a listener, and detects clients that have vanished. */
import type { Server, Socket } from 'node:net';
import { type Log, oncePerSecond } from '../log.ts';

/** Default maximum number of connections per listener, the same as in Redis. */
const MAX_CONNECTIONS = 10_000;
/**
 * Number of connections above the maximum that stay open long enough to tell the client why it is refused. Node drops all further
 * connections.
 */
const SPARE = 100;
/**
 * Milliseconds of inactivity before TCP keepalive probes start. The system closes the connection if ten probes, a second apart,
 * get no reply.
 */
const KEEP_ALIVE = 60_000;

export interface AdmissionOptions {
  readonly max?: number | undefined;
  readonly listener: string;
  /** Called with 1 when a connection is admitted, and with -1 when it closes. */
  readonly onConnection?: ((change: 1 | -1) => void) | undefined;
  readonly log: Log;
}

/** Returns a function that admits a new connection, or returns false if the maximum is reached. */
export function admissionTo(
  server: Server,
  { max = MAX_CONNECTIONS, listener, log, onConnection = () => {} }: AdmissionOptions,
): (socket: Socket) => boolean {
  let open = 0;
  const warn = oncePerSecond(() =>
    log.warn('maximum number of connections reached; refusing new ones', { listener, max }),
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
    onConnection(1);
    socket.once('close', () => {
      open--;
      onConnection(-1);
    });
    return true;
  };
}
