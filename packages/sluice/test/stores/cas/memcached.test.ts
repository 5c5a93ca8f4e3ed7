/** Tests examples/stores/memcached.mjs on a Memcached server that this test starts. */
import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { casStore, createLimiter, gcra } from '../../../src/index.ts';
import { conformance } from '../../../src/testing/index.ts';
import { freePort, listening } from 'sluice-test-support/redis/server.ts';
import { races } from './races.ts';
import { type AnyService, example } from './services.ts';

type Memcached = AnyService & { close(): void };

const { memcached } = await example('memcached.mjs');
const patient = { deadline: '30s', onFailure: 'throw' } as const;
let port: number;
let server: ChildProcess;
let shared: Memcached;
const connected = (to = port) => memcached?.({ port: to, host: '127.0.0.1' }) as Memcached;

beforeAll(async () => {
  port = await freePort();
  server = spawn('memcached', ['-p', String(port), '-l', '127.0.0.1', '-U', '0', '-u', 'nobody'], {
    stdio: 'ignore',
  });
  await listening(port, server);
  shared = connected();
});

afterAll(() => {
  shared.close();
  server.kill('SIGKILL');
});

describe('Memcached', () => {
  // One server serves all claims, each with its own limiter name.
  for (const claim of conformance((clock) => casStore(shared, { ...patient, clock })))
    test(claim.name, claim.run);

  for (const claim of races(() => shared)) test(claim.name, claim.run);

  test('admits exactly the limit for four connections', async () => {
    const services = Array.from({ length: 4 }, () => connected());
    let admitted = 0;
    await Promise.all(
      services.map(async (service) => {
        const store = casStore(service, patient);
        const limiter = createLimiter(gcra({ limit: 150, per: '1d' }), { store, name: 'four' });
        for (let i = 0; i < 50; i++) {
          const { allowed } = await limiter.take('k');
          if (allowed) admitted++;
        }
      }),
    );
    expect(admitted).toBe(150);
    for (const service of services) service.close();
  });

  test('expires a value when it is fully replenished, even if that takes more than a month', async () => {
    const store = casStore(shared, patient);
    await createLimiter('1/3s', { store, name: 'short' }).take('k');
    expect(await shared.get('short:k')).toBeDefined();
    await expect.poll(() => shared.get('short:k'), { timeout: 20_000, interval: 200 }).toBeUndefined();
    await createLimiter(gcra({ limit: 1, per: '365d' }), { store, name: 'long' }).take('k');
    expect(await shared.get('long:k')).toBeDefined();
  });

  test('keeps a value long enough, regardless of when the server’s second ends', async () => {
    const kept = [0, 250, 500, 750].map(async (phase) => {
      await sleep(phase);
      const began = performance.now();
      await shared.put(`kept:${phase}`, new Uint8Array(8), undefined, 1000);
      await sleep(900);
      const found = await shared.get(`kept:${phase}`);
      return found !== undefined || performance.now() - began >= 1000;
    });
    expect(await Promise.all(kept)).toEqual([true, true, true, true]);
  });

  test('reports an unreachable server as a connection fault', async () => {
    const limiter = createLimiter('1/s', { store: casStore(connected(1), patient), name: 'api' });
    await expect(limiter.take('k')).rejects.toMatchObject({ fault: 'connection' });
  });
});
