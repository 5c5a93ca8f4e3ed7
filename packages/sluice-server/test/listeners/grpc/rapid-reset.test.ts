/**
 * Tests the protection against HTTP/2 rapid reset attacks. Streams that a client opens and immediately resets cost work, but the
 * number of open streams never reaches the maximum.
 */
import { once } from 'node:events';
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import { connect } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openGrpc } from '../../../src/listeners/grpc/grpc.ts';
import { opened, socketTo } from '../listeners.ts';
import { frame, header, PREFACE } from './frames.ts';
import { started, temporaryFile } from '../../serving.ts';

const CALL = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';

/** Encodes `count` pairs of HEADERS and RST_STREAM (CANCEL) frames. */
function resets(path: string, count: number): Buffer {
  const fixed = Buffer.from([0x83, 0x86]);
  const block = Buffer.concat([
    fixed,
    header(':path', path),
    header(':authority', 'x'),
    header('content-type', 'application/grpc'),
    header('te', 'trailers'),
  ]);
  const reset = Buffer.from([0, 0, 0, 8]);
  const frames = Array.from({ length: count }, (_, i) => [
    frame(1, 4, 2 * i + 1, block),
    frame(3, 0, 2 * i + 1, reset),
  ]);
  return Buffer.concat([PREFACE, ...frames.flat()]);
}

/** Sends the frames over a new connection. Returns whether the server answered with HTTP/2. */
async function attack(port: number, bytes: Buffer): Promise<boolean> {
  const socket = socketTo(port);
  let isServed = false;
  socket.on('data', () => (isServed = true));
  socket.on('end', () => socket.end());
  const gone = new Promise((resolve) => socket.once('close', resolve));
  socket.write(bytes);
  await Promise.race([gone, new Promise((resolve) => setTimeout(resolve, 300))]);
  socket.destroy();
  return isServed;
}

/** Makes a complete call from a loopback address. Returns its HTTP status; undefined if the connection was refused. */
async function callFrom(localAddress: string, port: number): Promise<unknown> {
  const session = connectHttp2(`http://127.0.0.1:${port}`, {
    createConnection: () => connect({ port, host: '127.0.0.1', localAddress }),
  });
  onTestFinished(() => session.destroy());
  session.on('error', () => {});
  const type = { 'content-type': 'application/grpc', te: 'trailers' };
  const call = session.request({ ':method': 'POST', ':path': '/grpc.health.v1.Health/Check', ...type });
  call.end(Buffer.alloc(5));
  call.on('error', () => {});
  const headers = await new Promise<IncomingHttpHeaders | undefined>((resolve) => {
    call.once('response', resolve);
    call.once('close', () => resolve(undefined));
  });
  call.resume();
  return headers?.[':status'];
}

test.each([
  ['calls', CALL],
  ['calls to methods that do not exist', '/none'],
])(
  'the listener closes a connection that resets many %s, and refuses new connections from the same address for a few seconds',
  async (_, path) => {
    const { port, log } = await opened(openGrpc, 'limits: { api: 1/s }');
    const bytes = resets(path, 900);
    let served = 0;
    for (let i = 0; i < 20; i++) if (await attack(port, bytes)) served++;
    // Each connection resets 900 calls, so the second connection uses up the burst of 1,000 resets.
    expect(served).toBeLessThanOrEqual(4);
    expect(log.join('')).toContain('resets too many calls');
    expect(await callFrom('127.0.0.2', port)).toBe(200);
    expect(await callFrom('127.0.0.1', port)).toBeUndefined();
    const now = performance.now.bind(performance);
    vi.spyOn(performance, 'now').mockImplementation(() => now() + 6000);
    onTestFinished(() => void vi.restoreAllMocks());
    expect(await callFrom('127.0.0.1', port)).toBe(200);
  },
);

test('the listener does not close a connection that cancels calls occasionally', async () => {
  const { port, log } = await opened(openGrpc, 'limits: { api: 1/s }');
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  onTestFinished(() => session.destroy());
  for (let i = 0; i < 200; i++) {
    const call = session.request({ ':method': 'POST', ':path': CALL, 'content-type': 'application/grpc' });
    call.on('error', () => {});
    call.close(8);
    await once(call, 'close');
  }
  expect([session.destroyed, log]).toEqual([false, []]);
  expect(await callFrom('127.0.0.1', port)).toBe(200);
});

// Destroying a session while Node reads from it fails an assertion in Node, which cannot be caught.
test('an attack does not crash the process, and HTTP requests are answered during the attack', async () => {
  const file = temporaryFile('limits: { api: 1/s }');
  const server = await started('--config', file, '--grpc', '127.0.0.1:0');
  await server.says('"listener":"grpc"');
  const port = Number(/"listener":"grpc","address":"127\.0\.0\.1:(\d+)"/.exec(server.output())?.[1]);
  const attackers = [CALL, '/none', CALL, '/none'].map(async (path) => {
    const bytes = resets(path, 900);
    for (let i = 0; i < 10; i++) await attack(port, bytes);
  });
  let isOver = false;
  const watched = (async () => {
    while (!isOver) expect((await fetch(`${server.url}/healthcheck`)).status).toBe(200);
  })();
  await Promise.all(attackers);
  isOver = true;
  await watched;
  await server.says('resets too many calls');
}, 60_000);
