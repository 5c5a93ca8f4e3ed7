/** Tests connections that send nothing or too little, and more connections than a listener accepts. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { openGrpc } from '../../src/listeners/grpc/grpc.ts';
import { openResp } from '../../src/listeners/resp/resp.ts';
import { openHttp } from '../../src/listeners/http/http.ts';
import { command, opened, socketTo, talk } from './listeners.ts';
import { clientOf, HEALTH } from './grpc/client.ts';
import { started, temporaryFile } from '../serving.ts';

const LIMITS = 'limits: { api: 1000/h }';
const tokens = (): string[] => ['right'];

/** Resolves with everything received when the server closes the connection. */
async function closed(socket: Socket): Promise<string> {
  let heard = '';
  socket.on('data', (chunk) => (heard += String(chunk)));
  socket.on('end', () => socket.end());
  await once(socket, 'close');
  return heard;
}

async function connected(port: number): Promise<Socket> {
  const socket = socketTo(port);
  await once(socket, 'connect');
  return socket;
}

describe('the maximum number of connections', () => {
  test('makes RESP refuse further connections with an error, until an open one is closed', async () => {
    const { port, log } = await opened(openResp, LIMITS, { maxConnections: 2 });
    const [first, second] = [await connected(port), await connected(port)];
    second.write(command('PING'));
    expect(String((await once(second, 'data'))[0])).toBe('+PONG\r\n');
    expect(await talk(port, command('PING'))).toBe('-ERR maximum number of connections reached\r\n');
    expect(log.join('')).toContain('maximum number of connections reached');
    first.destroy();
    await expect.poll(() => talk(port, command('PING'))).toBe('+PONG\r\n');
  });

  test('makes HTTP refuse further connections with a 503, until an open one is closed', async () => {
    const { port } = await opened(openHttp, LIMITS, { maxConnections: 1 });
    const first = await connected(port);
    const refused = await fetch(`http://127.0.0.1:${port}/healthcheck`);
    expect([refused.status, refused.headers.get('connection')]).toEqual([503, 'close']);
    expect(await refused.json()).toMatchObject({ detail: 'Maximum number of connections reached.' });
    // A refused connection is closed even if it sends no request.
    await closed(await connected(port));
    first.destroy();
    const ask = async () => (await fetch(`http://127.0.0.1:${port}/healthcheck`)).status;
    await expect.poll(ask).toBe(200);
  });

  test('makes gRPC refuse further connections with GOAWAY, until an open one is closed', async () => {
    const { port } = await opened(openGrpc, LIMITS, { maxConnections: 1 });
    const first = await connected(port);
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    session.on('error', () => {});
    const gone = new Promise((resolve) => session.on('close', resolve));
    const told = await new Promise((resolve) => {
      session.on('goaway', (code, _last, data) => resolve([code, String(data)]));
    });
    expect(told).toEqual([11, 'maximum number of connections reached']);
    await gone;
    first.destroy();
    const check = async () => (await clientOf(port, HEALTH).call('Check', { service: '' })).status;
    await expect.poll(() => check().catch(() => '')).toBe('SERVING');
  });

  test('can be set for all listeners with --max-connections', async () => {
    const args = ['--max-connections', '1', '--resp', '127.0.0.1:0'];
    const server = await started('--config', temporaryFile(LIMITS), ...args);
    await server.says('"listener":"resp"');
    const port = Number(/"listener":"resp","address":"127\.0\.0\.1:(\d+)"/.exec(server.output())?.[1]);
    await connected(port);
    expect(await talk(port, command('PING'))).toBe('-ERR maximum number of connections reached\r\n');
  });
});

describe('timeouts of inactive connections:', () => {
  afterEach(() => void vi.useRealTimers());

  /** Returns a function that advances the fake clock of the listener's timers. Sockets run in real time. */
  function slowly(): (ms: number) => Promise<void> {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    return async (ms) => {
      // Waits until data in transit has arrived.
      for (let i = 0; i < 5; i++) await new Promise((resolve) => setTimeout(resolve, 10));
      await vi.advanceTimersByTimeAsync(ms);
    };
  }

  test('RESP closes a connection that does not authenticate within ten seconds', async () => {
    const pass = slowly();
    const { port } = await opened(openResp, LIMITS, { tokens });
    const [silent, known] = [await connected(port), await connected(port)];
    known.write(command('AUTH', 'right'));
    expect(String((await once(known, 'data'))[0])).toBe('+OK\r\n');
    const heard = closed(silent);
    await pass(8000);
    expect(silent.readableEnded).toBe(false);
    await pass(4000);
    expect(await heard).toBe('-ERR authentication timeout\r\n');
    known.write(command('PING'));
    expect(String((await once(known, 'data'))[0])).toBe('+PONG\r\n');
  });

  test('RESP closes a connection if a command stays incomplete for thirty seconds', async () => {
    const pass = slowly();
    const { port } = await opened(openResp, LIMITS);
    const [half, idle] = [await connected(port), await connected(port)];
    half.write(`${command('PING')}*2\r\n$4\r\nECHO\r\n$5\r\nhal`);
    expect(String((await once(half, 'data'))[0])).toBe('+PONG\r\n');
    const heard = closed(half);
    await pass(28_000);
    expect(half.readableEnded).toBe(false);
    await pass(5000);
    expect(await heard).toBe('-ERR timeout: the command is incomplete\r\n');
    // Between commands, a connection may be inactive for longer.
    idle.write(command('PING'));
    expect(String((await once(idle, 'data'))[0])).toBe('+PONG\r\n');
  });

  test('RESP closes an idle connection after the configured time, but not a connection that sends commands', async () => {
    const pass = slowly();
    const { port } = await opened(openResp, LIMITS, { idleTimeout: 60_000 });
    const [idle, busy] = [await connected(port), await connected(port)];
    const heard = closed(idle);
    for (let i = 0; i < 4; i++) {
      await pass(20_000);
      busy.write(command('PING'));
      await once(busy, 'data');
    }
    expect(await heard).toBe('-ERR idle timeout\r\n');
  });

  test('RESP keeps idle connections open if the idle timeout is 0', async () => {
    const pass = slowly();
    const { port } = await opened(openResp, LIMITS, { idleTimeout: 0 });
    const idle = await connected(port);
    await pass(3_600_000);
    idle.write(command('PING'));
    expect(String((await once(idle, 'data'))[0])).toBe('+PONG\r\n');
  });

  test('gRPC closes a connection without calls after the idle timeout', async () => {
    const { port } = await opened(openGrpc, LIMITS, { idleTimeout: 300 });
    await closed(await connected(port));
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    session.on('error', () => {});
    onTestFinished(() => session.destroy());
    await once(session, 'close');
  });

  test('gRPC resets a call whose request stays incomplete', async () => {
    const { port } = await opened(openGrpc, LIMITS, { requestTimeout: 200 });
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    onTestFinished(() => session.destroy());
    const half = session.request({
      ':method': 'POST',
      ':path': '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    half.write(Buffer.from([0, 0, 0]));
    half.on('error', () => {});
    await once(half, 'close');
    expect(half.rstCode).not.toBe(0);
    // A health watch has sent its complete request, and may stay idle.
    const watcher = clientOf(port, HEALTH).watch({ service: '' });
    let isOpen = true;
    watcher.on('error', () => {});
    watcher.on('end', () => (isOpen = false));
    await once(watcher, 'data');
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(isOpen).toBe(true);
    watcher.cancel();
  });

  test.runIf(process.platform === 'linux')('every listener enables TCP keepalive', async () => {
    for (const open of [openHttp, openGrpc, openResp]) {
      const { port } = await opened(open, LIMITS);
      const socket = connect(port, '127.0.0.1');
      onTestFinished(() => void socket.destroy());
      await once(socket, 'connect');
      await expect.poll(() => timerOf(port, socket.localPort ?? 0)).toBe('02');
    }
  });
});

/** The kernel's timer for the server's side of a connection. 02 means keepalive. */
function timerOf(local: number, remote: number): string | undefined {
  const hex = (port: number) => port.toString(16).toUpperCase().padStart(4, '0');
  const lines = readFileSync('/proc/net/tcp', 'utf8').trim().split('\n').slice(1);
  const fields = lines.map((line) => line.trim().split(/\s+/));
  const found = fields.find(
    ([, from, to]) => from?.endsWith(`:${hex(local)}`) && to?.endsWith(`:${hex(remote)}`),
  );
  return found?.[5]?.slice(0, 2);
}

test('an HTTP connection is closed after --keep-alive without a request', async () => {
  const { port } = await opened(openHttp, LIMITS, { keepAlive: 50 });
  const socket = await connected(port);
  socket.write('GET /healthcheck HTTP/1.1\r\nHost: localhost\r\n\r\n');
  expect(await closed(socket)).toMatch(/^HTTP\/1\.1 200 OK/);
}, 30_000);
