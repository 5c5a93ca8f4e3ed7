/**
 * Sends SIGTERM to a real process while clients of all listeners send requests, and counts what they sent and what was answered.
 * The clients stop sending shortly after the shutdown has begun, so that nothing is on its way when the server stops reading. Needs
 * the build.
 */
import { Agent, request } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { ChannelCredentials, Client, status } from '@grpc/grpc-js';
import { expect, inject, onTestFinished, test, vi } from 'vitest';
import { punctually } from 'sluice-test-support/redis/watch.ts';
import { command } from './listeners.ts';
import { RATE_LIMIT } from './grpc/client.ts';
import { started, temporaryFile } from '../serving.ts';

vi.setConfig({ testTimeout: 60_000 });

const CONFIG = `
limits: { api: 1000000/1000d }
---
domain: d
descriptors: [{ key: k, rate_limit: { unit: year, requests_per_unit: 1000000 } }]
`;

/** How many clients of each kind run at the same time. */
const CLIENTS = 3;
/** Milliseconds for which clients continue to send while the server drains. gRPC calls are accepted for 300 ms. */
const KEEP_SENDING = 100;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** What the clients of one kind sent and received. */
interface Tally {
  sent: number;
  answered: number;
  /** How each connection or client ended; 'end' means that the server closed the connection with FIN. */
  readonly ends: string[];
}

type Load = (port: number, tally: Tally, isOver: () => boolean) => Promise<void>;

/** Resolves with 'end' if the server closes the connection with FIN, and otherwise with an error code. */
function endOf(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    socket.once('end', () => resolve('end'));
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'error'));
  });
}

/** Sends pipelines of commands on a timer, without waiting for replies. */
const resp: Load = async (port, tally, isOver) => {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const ended = endOf(socket);
  socket.on('data', (chunk) => {
    tally.answered += chunk.toString('latin1').split('*').length - 1;
  });
  while (!isOver()) {
    socket.write(command('throttle', 'x', 'api').repeat(5));
    tally.sent += 5;
    await sleep(2);
  }
  tally.ends.push(await ended);
  socket.end();
};

/** Sends five requests, waits for their responses, and repeats until a response tells it to close the connection. */
const pipelined: Load = async (port, tally) => {
  const socket = connect({ port, host: '127.0.0.1' });
  const ended = endOf(socket);
  const body = '{"limit":"api","key":"x"}';
  const ask = `POST /v1/take HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  let isLast = false;
  let missing = 0;
  const send = (): void => {
    missing = 5;
    tally.sent += 5;
    socket.write(ask.repeat(5));
  };
  socket.on('data', (chunk) => {
    const text = chunk.toString('latin1');
    const responses = text.split('HTTP/1.1 200').length - 1;
    tally.answered += responses;
    missing -= responses;
    isLast ||= text.includes('Connection: close');
    if (missing === 0 && !isLast) send();
  });
  send();
  tally.ends.push(await ended);
};

/** Sends one request after another on a kept-alive connection, until it can no longer connect. */
const keepAlive: Load = async (port, tally) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const ask = (): Promise<string> =>
    new Promise((resolve) => {
      const operation = request(
        { port, host: '127.0.0.1', path: '/v1/take', method: 'POST', agent },
        (found) => {
          found.resume().on('end', () => resolve('answered'));
          found.on('error', (error) => resolve(error.message));
        },
      );
      operation.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
      operation.end('{"limit":"api","key":"x"}');
    });
  for (;;) {
    const outcome = await ask();
    // Nothing was sent if the server no longer listens.
    if (outcome === 'ECONNREFUSED') break;
    tally.sent++;
    if (outcome === 'answered') tally.answered++;
    else tally.ends.push(outcome);
  }
};

/** Makes four calls at the same time, over and over. */
const grpc: Load = async (port, tally, isOver) => {
  const client = new Client(`127.0.0.1:${port}`, ChannelCredentials.createInsecure(), {
    'grpc.enable_retries': 0,
    'grpc.use_local_subchannel_pool': 1,
  });
  const { path, requestSerialize, responseDeserialize } = RATE_LIMIT['ShouldRateLimit'];
  const asked = { domain: 'd', descriptors: [{ entries: [{ key: 'k', value: 'x' }] }] };
  const call = (): Promise<void> =>
    new Promise((resolve) => {
      tally.sent++;
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, asked, (error) => {
        if (error === null) tally.answered++;
        else tally.ends.push(status[error.code]);
        resolve();
      });
    });
  const worker = async (): Promise<void> => {
    while (!isOver()) await call();
  };
  await Promise.all(Array.from({ length: 4 }, worker));
  client.close();
};

/** Starts a proxy that delays everything that Redis sends. Returns its port. */
async function slowRedis(delay: number): Promise<number> {
  const proxy = createServer((inner) => {
    const outer = connect(inject('redisPort'), '127.0.0.1');
    inner.pipe(outer);
    outer.on('data', (chunk) => setTimeout(() => inner.write(chunk), delay));
    for (const [one, other] of [
      [inner, outer],
      [outer, inner],
    ])
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
  });
  onTestFinished(() => void proxy.close());
  await new Promise<void>((resolve) => {
    proxy.listen(0, '127.0.0.1', resolve);
  });
  return (proxy.address() as AddressInfo).port;
}

test.each([
  ['memory', async () => ['--store', 'memory']],
  [
    'a slow Redis',
    async () => [
      '--store',
      `redis://127.0.0.1:${await slowRedis(30)}`,
      '--deadline',
      '10s',
      '--on-failure',
      'throw',
    ],
  ],
])('SIGTERM under load leaves no request of any listener unanswered, with %s as the store', (_, store) =>
  // If this machine stalls, clients may send their last requests after the server's grace period.
  punctually(100, async () => {
    const listeners = ['--resp', '127.0.0.1:0', '--grpc', '127.0.0.1:0'];
    const server = await started('--config', temporaryFile(CONFIG), ...listeners, ...(await store()));
    await server.says('"listener":"resp"');
    const portOf = (listener: string): number =>
      Number(
        new RegExp(`"listener":"${listener}","address":"127\\.0\\.0\\.1:(\\d+)"`).exec(server.output())?.[1],
      );
    let isOver = false;
    const loads: [name: string, port: number, load: Load][] = [
      ['RESP', portOf('resp'), resp],
      ['pipelined HTTP', portOf('http'), pipelined],
      ['kept-alive HTTP', portOf('http'), keepAlive],
      ['gRPC', portOf('grpc'), grpc],
    ];
    const tallies = new Map<string, Tally>();
    const clients = loads.flatMap(([name, port, load]) => {
      const tally: Tally = { sent: 0, answered: 0, ends: [] };
      tallies.set(name, tally);
      return Array.from({ length: CLIENTS }, () => load(port, tally, () => isOver));
    });
    const fewest = (): number => Math.min(...[...tallies.values()].map(({ answered }) => answered));
    await expect.poll(fewest, { timeout: 30_000 }).toBeGreaterThan(30);
    server.process.kill('SIGTERM');
    await server.says('"message":"draining"');
    await sleep(KEEP_SENDING);
    isOver = true;
    expect(await server.gone).toBe(0);
    await Promise.all(clients);
    const unanswered = [...tallies].map(([name, { sent, answered, ends }]) => [name, sent - answered, ends]);
    const clean = Array.from({ length: CLIENTS }, () => 'end');
    expect(unanswered).toEqual([
      ['RESP', 0, clean],
      ['pipelined HTTP', 0, clean],
      ['kept-alive HTTP', 0, []],
      ['gRPC', 0, []],
    ]);
  }),
);
