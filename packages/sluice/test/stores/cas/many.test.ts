/** Tests a service that reads and writes many rows in one call. */
import { describe, expect, test } from 'vitest';
import { casStore, createLimiter, type Decision } from '../../../src/index.ts';
import type { CasFound, CasPut } from '../../../src/store.ts';
import { conformance } from '../../../src/testing/index.ts';
import { differential } from '../differential.ts';

function batchingService() {
  const kept = new Map<string, { value: Uint8Array; version: number }>();
  const sizes = { get: [] as number[], put: [] as number[] };
  let version = 0;
  const put = (key: string, value: Uint8Array, expected: number | undefined): boolean => {
    if (kept.get(key)?.version !== expected) return false;
    kept.set(key, { value, version: ++version });
    return true;
  };
  return {
    sizes,
    /** Called while a write is in flight. */
    between: async (): Promise<unknown> => undefined,
    get: (key: string): CasFound<number> | undefined => kept.get(key),
    put,
    async getMany(keys: readonly string[]) {
      sizes.get.push(keys.length);
      return keys.map((key) => kept.get(key));
    },
    async putMany(puts: readonly CasPut<number>[]) {
      sizes.put.push(puts.length);
      expect(new Set(puts.map(({ key }) => key)).size).toBe(puts.length);
      await this.between();
      return puts.map((one) => put(one.key, one.value, one.version));
    },
  };
}

const patient = { deadline: '30s' } as const;
const keys = Array.from({ length: 300 }, (_, i) => `client ${i}`);
const admittedIn = (decisions: readonly Decision[]) => decisions.filter(({ allowed }) => allowed).length;

describe('compare and swap of many rows', () => {
  for (const claim of conformance((clock) => casStore(batchingService(), { ...patient, clock })))
    test(claim.name, claim.run);
});

differential(
  'compare and swap of many rows, compared with memory,',
  (clock) => casStore(batchingService(), { ...patient, clock }),
  { hits: 20_000, atOnce: 6 },
);

test('300 keys are checked in one tick with two reads and two writes', async () => {
  const service = batchingService();
  const limiter = createLimiter('10/h', { store: casStore(service, patient), name: 'api' });
  await Promise.all(keys.map((key) => limiter.take(key)));
  expect(service.sizes).toEqual({ get: [200, 100], put: [200, 100] });
});

test('each key admits exactly its limit when several stores write simultaneously', async () => {
  const service = batchingService();
  service.between = () => new Promise((resolve) => setTimeout(resolve, Math.random() * 3));
  const limiters = [0, 1, 2].map(() =>
    createLimiter('5/day fixed-window', { store: casStore(service, patient), name: 'api' }),
  );
  let admitted = 0;
  await Promise.all(
    limiters.map(async (limiter) => {
      for (let i = 0; i < 4; i++) {
        const decisions = await Promise.all(keys.slice(0, 30).map((key) => limiter.take(key)));
        admitted += admittedIn(decisions);
      }
    }),
  );
  expect(admitted).toBe(5 * 30);
});

test.each(['rejects', 'throws'])('if a batch write %s, all its checks fail without a retry', async (how) => {
  let calls = 0;
  const putMany = () => {
    calls++;
    if (how === 'throws') throw new Error('ECONNRESET');
    return Promise.reject(new Error('ECONNRESET'));
  };
  const store = casStore({ ...batchingService(), putMany }, { ...patient, onFailure: 'throw' });
  const limiter = createLimiter('10/h', { store, name: 'api' });
  const outcomes = await Promise.allSettled(keys.slice(0, 50).map((key) => limiter.take(key)));
  expect(outcomes.map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => 'rejected'));
  expect(calls).toBe(1);
});

test('a call that never ends delays other calls for only 100 ms', async () => {
  const service = batchingService();
  let writes = 0;
  service.between = () => (++writes <= 2 ? new Promise(() => {}) : Promise.resolve());
  const limiter = createLimiter('10/h', { store: casStore(service, patient), name: 'api' });
  // These two calls, in different ticks, never end.
  for (const key of ['stuck', 'stuck too']) {
    void limiter.take(key);
    await expect.poll(() => writes).toBe(key === 'stuck' ? 1 : 2);
  }
  expect((await limiter.take('other')).allowed).toBe(true);
});
