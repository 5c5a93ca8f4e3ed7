/** Tests that HTTP/2 pings detect clients that have vanished, even while their calls are open. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openGrpc } from '../../../src/listeners/grpc/grpc.ts';
import { opened, socketTo } from '../listeners.ts';
import { frame, framesIn, header, PREFACE } from './frames.ts';

const PING = 6;
const ACK = 1;

interface Watch {
  readonly socket: Socket;
  /** The number of pings that the server has sent. */
  pings(): number;
  /** The number of answers to pings that the server has received. */
  answers(): number;
}

/** Opens a health watch, which keeps the connection from being idle. */
async function watching(port: number, doesAnswer: boolean): Promise<Watch> {
  const socket = socketTo(port);
  let pings = 0;
  let answers = 0;
  socket.on('data', (chunk) => {
    for (const { type, flags, body } of framesIn(chunk)) {
      if (type !== PING) continue;
      if (flags === ACK) answers += 1;
      else pings += 1;
      // Sends a ping of our own after the answer. Once the server has answered that ping, it has read our answer.
      if (doesAnswer && flags !== ACK)
        socket.write(Buffer.concat([frame(PING, ACK, 0, body), frame(PING, 0, 0, Buffer.alloc(8))]));
    }
  });
  const block = Buffer.concat([
    Buffer.from([0x83, 0x86]),
    header(':path', '/grpc.health.v1.Health/Watch'),
    header(':authority', 'x'),
    header('content-type', 'application/grpc'),
    header('te', 'trailers'),
  ]);
  // The request is an empty message, which asks for the status of the whole server.
  socket.write(Buffer.concat([PREFACE, frame(1, 4, 1, block), frame(0, 1, 1, Buffer.alloc(5))]));
  await once(socket, 'data');
  return { socket, pings: () => pings, answers: () => answers };
}

test('a client that does not answer pings loses its connection, and a client that answers them keeps it', async () => {
  const { port } = await opened(openGrpc, 'limits: { a: 1/s }');
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const silent = await watching(port, false);
  const live = await watching(port, true);
  let isClosed = false;
  silent.socket.on('end', () => (isClosed = true));

  vi.advanceTimersByTime(60_000);
  await expect.poll(() => [silent.pings(), live.answers()]).toEqual([1, 1]);
  expect(isClosed).toBe(false);

  vi.advanceTimersByTime(20_000);
  await expect.poll(() => isClosed).toBe(true);

  vi.advanceTimersByTime(40_000);
  await expect.poll(() => live.answers()).toBe(2);
  expect(live.socket.readyState).toBe('open');
});
