/**
 * What a socket hears. For each read Node makes a buffer of 64 kB and hands it through a stream, which costs more than
 * most commands do. It would read into a buffer of ours (`onread`), but only for sockets that are made by hand: so the
 * handle of the accepted one moves into such a one.
 */
import { Socket } from 'node:net';

/** For all sockets: what is in it is read before anything else runs. On Windows the system keeps it for longer. */
const shared: Buffer | undefined =
  process.platform === 'win32' ? undefined : Buffer.allocUnsafeSlow(64 * 1024);

/** The socket to go on with. */
export function readWithSharedBuffer(given: Socket, hear: (text: string) => void): Socket {
  const handle = shared === undefined || 'encrypted' in given ? undefined : taken(given);
  if (handle === undefined || shared === undefined) {
    given.setEncoding('latin1').on('data', hear);
    return given.resume();
  }
  const onread = {
    buffer: shared,
    callback(size: number) {
      hear(shared.toString('latin1', 0, size));
      return true;
    },
  };
  const options: object = { handle, allowHalfOpen: true, onread };
  const socket = new Socket(options);
  // The server counts the one that it gave.
  socket.on('close', () => given.destroy());
  given.on('close', () => socket.destroy());
  return socket;
}

/** Undefined: this is another Node than those we know. */
function taken(socket: Socket): object | undefined {
  const owner = socket as { _handle?: object | null };
  const handle = owner._handle ?? undefined;
  owner._handle = null;
  return handle;
}
