/** Tests which limiters share keys if they have no name, and which stores require a name. */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { casStore, createLimiter, leased, memory, metered, type Store, synced } from '../../src/index.ts';
import { ipc } from '../../src/stores/ipc/index.ts';
import { postgres } from '../../src/stores/postgres/index.ts';
import { redis } from '../../src/stores/redis/index.ts';
import { sharedMemory } from '../../src/stores/shared-memory/index.ts';
import { denyCache } from '../../src/wrappers/deny-cache.ts';
import { resilient } from '../../src/wrappers/resilient/resilient.ts';

describe('unnamed limiters on one memory store', () => {
  test('count separately when their policies have different names, even if the numbers are equal', () => {
    const store = memory();
    createLimiter({ login: '5/min' }, { store }).take('alice', 5);
    expect(createLimiter({ search: '5/min' }, { store }).take('alice').remaining).toBe(4);
  });

  test('count together when names and numbers are equal', () => {
    const store = memory();
    createLimiter({ login: '5/min' }, { store }).take('alice', 5);
    expect(createLimiter({ login: '5/min' }, { store }).take('alice').allowed).toBe(false);
  });

  test('count separately when only the order of names differs', () => {
    const store = memory();
    createLimiter({ a: '5/min', b: '9/min' }, { store }).take('alice', 5);
    expect(createLimiter({ b: '5/min', a: '9/min' }, { store }).take('alice').remaining).toBe(4);
  });

  test('count separately when a function returns their policies', () => {
    const store = memory();
    const policies = (): string => '5/min';
    const first = createLimiter(policies, { store, tiers: { pro: '10/min' } });
    first.take('alice', 5);
    expect(createLimiter(policies, { store }).take('alice').remaining).toBe(4);
    // A tier reads the rows of its own limiter: five of its ten units are used.
    expect(first.peek('alice', { cost: 0, tier: 'pro' }).remaining).toBe(5);
  });
});

describe('stores that outlive the process or are shared', () => {
  const service = { get: () => undefined, put: () => true };
  const client = { send: () => Promise.reject(new Error('not asked')) };
  const pool = { query: () => Promise.reject(new Error('not asked')) };
  const inner = memory();
  const foreign: Store = { clock: inner.clock, apply: (hit) => inner.apply(hit), close() {} };
  const SHARED: Record<string, () => Store> = {
    redis: () => redis(client),
    'redis with a deny cache': () => redis(client, { denyCache: true }),
    postgres: () => postgres(pool),
    casStore: () => casStore(service),
    sharedMemory: () => sharedMemory({ maxKeys: 10 }),
    ipc: () => ipc({ path: join(tmpdir(), `sluice-names-${process.pid}.sock`), serve: false }),
    'a third-party store': () => foreign,
    'metered over redis': () => metered(redis(client), { decided() {} }),
    'leased over redis': () => leased(redis(client), { nodes: 2 }),
    'synced over redis': () => synced(redis(client), { every: '1s' }),
  };

  test.each(Object.entries(SHARED))('a limiter on %s requires a name', async (_, make) => {
    const store = make();
    const policy = '5/min';
    const message =
      'createLimiter.name is required for a store that outlives the process or is shared, because limiters with the same ' +
      "name share their keys (such as name: 'api'); got undefined [ERR_MISSING_OPTION]";
    for (const create of [
      () => createLimiter(policy, { store }),
      () => createLimiter(() => policy, { store }),
    ])
      expect(create).toThrow(expect.objectContaining({ code: 'ERR_MISSING_OPTION', message }));
    createLimiter(policy, { store, name: 'api' });
    await store.close();
  });
});

test('a limiter on a wrapped memory store needs no name', async () => {
  const rows = memory();
  const later: Store<Promise<never>> = {
    clock: rows.clock,
    ephemeral: true,
    apply: () => Promise.reject(new Error('not asked')),
    close() {},
  };
  for (const store of [
    metered(rows, { decided() {} }),
    leased(rows, { nodes: 2 }),
    synced(rows, { every: '1s' }),
    resilient(later),
    denyCache(later),
  ]) {
    createLimiter('5/min', { store });
    await store.close();
  }
});
