/** Injects latency with a proxy in a separate process, which forwards requests after a delay. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';

/**
 * Returns a port that forwards to `target` with a latency of `roundTrip` milliseconds, for as long as this process lives.
 */
export async function delayedPort(target, roundTrip) {
  const proxy = fork(fileURLToPath(import.meta.url), [String(target), String(roundTrip)]);
  const [port] = await once(proxy, 'message');
  return port;
}

/** Returns a function that forwards bytes after the delay, in order. */
function later(delay, write) {
  const queue = [];
  function pass() {
    while (queue.length > 0 && queue[0].due <= performance.now()) write(queue.shift().bytes);
    if (queue.length > 0) setTimeout(pass, queue[0].due - performance.now());
  }
  return (bytes) => {
    queue.push({ bytes, due: performance.now() + delay });
    if (queue.length === 1) setTimeout(pass, delay);
  };
}

async function serve(target, delay) {
  const server = createServer((near) => {
    const far = connect(target, '127.0.0.1');
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ]) {
      socket.setNoDelay(true);
      socket.on('error', () => other.destroy());
      socket.on('close', () => other.destroy());
    }
    near.on(
      'data',
      later(delay, (bytes) => far.write(bytes)),
    );
    far.on('data', (bytes) => near.write(bytes));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.once('disconnect', () => process.exit());
  process.send(server.address().port);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await serve(...process.argv.slice(2).map(Number));
