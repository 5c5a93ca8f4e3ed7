/**
 * Sends SIGTERM under load to each listener of a real process. Clients must get a response for exactly the takes that the store
 * has counted. The store is Redis, so that it can be queried afterwards. Needs the build.
 */
import { connect } from 'node:net';
import { ChannelCredentials, Client, status } from '@grpc/grpc-js';
import { expect, inject, onTestFinished, test, vi } from 'vitest';
import { punctually } from 'sluice-test-support/redis/watch.ts';
import { command } from './listeners.ts';
import { RATE_LIMIT } from './grpc/client.ts';
import { type Started, serving, started, temporaryFile } from '../serving.ts';

vi.setConfig({ testTimeout: 60_000 });

const MOST = 1_000_000;
const store = `redis://127.0.0.1:${inject('redisPort')}`;

/**
 * Repeats a test that failed because its clients stalled. While draining, the server closes a connection that is idle for half a
 * second.
 */
function heard(run: (tries: number) => Promise<void>): Promise<void> {
  let tries = 0;
  return punctually(200, () => run(++tries));
}

/** The port of a listener, from the log. */
async function portOf(server: Started, listener: string): Promise<number> {
  await server.says(`"listener":"${listener}"`);
  return Number(
    new RegExp(`"listener":"${listener}","address":"127\\.0\\.0\\.1:(\\d+)"`).exec(server.output())?.[1],
  );
}

/** Sends SIGTERM after a few hundred responses, and waits until the process has exited. */
async function endedUnderLoad(server: Started, answered: () => number): Promise<void> {
  await expect.poll(answered, { timeout: 30_000 }).toBeGreaterThan(500);
  server.process.kill('SIGTERM');
  expect(await server.gone).toBe(0);
}

test('RESP: every take that the store counted is answered, even if SIGTERM arrives under load', () =>
  heard(async (tries) => {
    const name = `drain-resp-${process.pid}-${tries}`;
    const limits = `limits: { ${name}: ${MOST}/1000d fixed-window }`;
    const args = ['--config', temporaryFile(limits), '--store', store, '--deadline', '10s'];
    const server = await started('--resp', '127.0.0.1:0', ...args);
    const port = await portOf(server, 'resp');
    let answered = 0;
    const clients = Array.from({ length: 20 }, async (_, i) => {
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
      const ask = command('throttle', 'x', name).repeat((i % 5) + 1);
      socket.on('data', (chunk) => {
        answered += chunk.toString().split('*5\r\n').length - 1;
        if (!socket.writableEnded) socket.write(ask);
      });
      socket.write(ask);
      // If an error loses replies, the comparison below fails.
      await new Promise((resolve) => socket.once('end', resolve).once('error', resolve));
      socket.end();
    });
    await endedUnderLoad(server, () => answered);
    await Promise.all(clients);
    const { post } = await serving(limits, { store: { url: store, deadline: '10s' } });
    const left = (await (await post('/v1/peek', { limit: name, key: 'x' })).json()) as { remaining: number };
    expect(MOST - left.remaining).toBe(answered);
  }));

test('gRPC: every call that the store counted is answered, even if SIGTERM arrives under load', () =>
  heard(async (tries) => {
    const key = `drain-grpc-${process.pid}-${tries}`;
    const limits = `domain: d\ndescriptors: [{ key: ${key}, rate_limit: { unit: year, requests_per_unit: ${MOST} } }]`;
    const args = ['--config', temporaryFile(limits), '--store', store, '--deadline', '10s'];
    const server = await started('--grpc', '127.0.0.1:0', ...args);
    const port = await portOf(server, 'grpc');
    const { path, requestSerialize, responseDeserialize } = RATE_LIMIT['ShouldRateLimit'];
    const request = { domain: 'd', descriptors: [{ entries: [{ key, value: 'x' }] }] };
    let answered = 0;
    const codes = new Set<number>();
    const clients = Array.from({ length: 8 }, async (_, i) => {
      const client = new Client(`localhost:${port}`, ChannelCredentials.createInsecure(), {
        'grpc.enable_retries': 0,
        // Makes each client use its own connection.
        'grpc.use_local_subchannel_pool': 1,
      });
      const call = (): Promise<boolean> =>
        new Promise((resolve) => {
          client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, (error) => {
            if (error === null) answered++;
            else codes.add(error.code);
            resolve(error === null);
          });
        });
      const worker = async (): Promise<void> => {
        while (await call());
      };
      await Promise.all(Array.from({ length: (i % 4) + 1 }, worker));
      client.close();
    });
    await endedUnderLoad(server, () => answered);
    await Promise.all(clients);
    // Calls that arrive too late get UNAVAILABLE, so that the client can call another server.
    expect([...codes]).toEqual([status.UNAVAILABLE]);
    const { post } = await serving(limits, { store: { url: store, deadline: '10s' } });
    const peek = { domain: 'd', descriptors: [{ entries: [{ key, value: 'x' }], hitsAddend: 0 }] };
    const { statuses } = (await (await post('/json', peek)).json()) as {
      statuses: { limitRemaining: number }[];
    };
    expect(MOST - (statuses[0]?.limitRemaining ?? 0)).toBe(answered);
  }));

test('gRPC: a client that connects before the shutdown is answered, even if the server has not accepted its connection yet', () =>
  // While draining, the server accepts calls for 300 ms, so a client that stalls may be too late.
  punctually(100, async () => {
    const limits =
      'domain: d\ndescriptors: [{ key: k, rate_limit: { unit: hour, requests_per_unit: 1000 } }]';
    const server = await started('--grpc', '127.0.0.1:0', '--config', temporaryFile(limits));
    const port = await portOf(server, 'grpc');
    const { path, requestSerialize, responseDeserialize } = RATE_LIMIT['ShouldRateLimit'];
    const request = { domain: 'd', descriptors: [{ entries: [{ key: 'k', value: 'x' }] }] };
    server.process.kill('SIGSTOP');
    const answers = Array.from({ length: 20 }, () => {
      const client = new Client(`127.0.0.1:${port}`, ChannelCredentials.createInsecure(), {
        'grpc.use_local_subchannel_pool': 1,
      });
      onTestFinished(() => client.close());
      return new Promise<string>((resolve) => {
        client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, (error) =>
          resolve(error?.message ?? 'answered'),
        );
      });
    });
    // The kernel completes the handshake without the server.
    await new Promise((resolve) => setTimeout(resolve, 300));
    server.process.kill('SIGTERM');
    server.process.kill('SIGCONT');
    expect(new Set(await Promise.all(answers))).toEqual(new Set(['answered']));
    expect(await server.gone).toBe(0);
  }));
