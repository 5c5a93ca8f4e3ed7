/** Tests casStore on a service in this process that counts its calls and can let other writers interfere. */
import { describe, expect, test, vi } from 'vitest';
import {
  casStore,
  createLimiter,
  fixedWindow,
  gcra,
  leakyBucket,
  type Limiter,
  type Decision,
  slidingLog,
  StoreUnavailable,
} from '../../../src/index.ts';
import { conformance, manualClock } from '../../../src/testing/index.ts';
import { differential } from '../differential.ts';
import { outcome, punctually } from 'sluice-test-support/redis/watch.ts';
import { another } from '../../support/stores.ts';

interface Kept {
  readonly value: Uint8Array;
  readonly version: number;
  readonly expiresInMs: number;
}

function countingService() {
  const kept = new Map<string, Kept>();
  const calls = { get: 0, put: 0, lost: 0 };
  let version = 0;
  return {
    kept,
    calls,
    /** Called while a put is in flight. */
    between: async (): Promise<unknown> => undefined,
    async get(key: string): Promise<Kept | undefined> {
      calls.get++;
      return kept.get(key);
    },
    async put(key: string, value: Uint8Array, expected: number | undefined, expiresInMs: number) {
      calls.put++;
      await this.between();
      if (kept.get(key)?.version !== expected) {
        calls.lost++;
        return false;
      }
      kept.set(key, { value, version: ++version, expiresInMs });
      return true;
    },
  };
}

const patient = { deadline: '30s', onFailure: 'throw' } as const;
const admittedIn = (decisions: readonly Decision[]) => decisions.filter(({ allowed }) => allowed).length;
const takes = (limiter: Limiter<Promise<Decision>>, count: number) =>
  Promise.all(Array.from({ length: count }, () => limiter.take('k')));

describe('compare and swap', () => {
  for (const claim of conformance((clock) => casStore(countingService(), { ...patient, clock })))
    test(claim.name, claim.run);
});

differential(
  'compare and swap, compared with memory,',
  (clock) => casStore(countingService(), { ...patient, clock }),
  { hits: 20_000, atOnce: 6 },
);

describe('a compare-and-swap store', () => {
  test('sends one get and one put for all hits of a tick, and another pair for all hits that arrive while these calls are in flight', async () => {
    const service = countingService();
    const limiter = createLimiter('1000/h', { store: casStore(service, patient), name: 'api' });
    const first = takes(limiter, 100);
    await Promise.resolve();
    await Promise.resolve();
    const later = takes(limiter, 100);
    expect(admittedIn([...(await first), ...(await later)])).toBe(200);
    expect(service.calls).toEqual({ get: 2, put: 2, lost: 0 });
    expect((await limiter.peek('k')).remaining).toBe(800);
  });

  test('does not let hits on different keys wait for each other', async () => {
    const service = countingService();
    let done = 0;
    let most = 0;
    service.between = async () => {
      most = Math.max(most, service.calls.put - done);
      await new Promise((resolve) => setTimeout(resolve, 5));
      done++;
    };
    const limiter = createLimiter('10/h', { store: casStore(service, patient), name: 'api' });
    await Promise.all(['a', 'b', 'c', 'd'].map((key) => limiter.take(key)));
    expect(most).toBe(4);
  });

  test('writes nothing for a denied take, a peek, or a refund or reset of a fresh key', async () => {
    const service = countingService();
    const limiter = createLimiter(
      { rate: '3/h', log: '3/h sliding-log' },
      { store: casStore(service, patient), name: 'api' },
    );
    await limiter.peek('k');
    await limiter.refund('k');
    await limiter.reset('k');
    expect(service.calls.put).toBe(0);
    await limiter.take('k', 3);
    expect(service.calls.put).toBe(1);
    expect((await limiter.take('k')).allowed).toBe(false);
    await limiter.peek('k');
    expect(service.calls.put).toBe(1);
  });
});

describe('a compare-and-swap store with conflicting writes', () => {
  test('admits exactly the limit if four stores write the same row', async () => {
    const service = countingService();
    service.between = () => new Promise((resolve) => setTimeout(resolve, Math.random() * 3));
    const policies = { rate: gcra({ limit: 100, per: '1d' }), log: slidingLog({ limit: 100, per: '1d' }) };
    const limiters = Array.from({ length: 4 }, () =>
      createLimiter(policies, { store: casStore(service, patient), name: 'api' }),
    );
    let admitted = 0;
    await Promise.all(
      limiters.map(async (limiter) => {
        for (let i = 0; i < 10; i++) {
          const decisions = await takes(limiter, 5);
          admitted += admittedIn(decisions);
        }
      }),
    );
    expect(admitted).toBe(100);
    expect(service.calls.lost).toBeGreaterThan(5);
  });

  test('gives up after 100 attempts if other writers always come first, and charges nothing', async () => {
    const service = countingService();
    const others = createLimiter('1000/h', { store: casStore(service, patient), name: 'api' });
    const store = casStore({ get: (key) => service.get(key), put: () => false }, patient);
    const limiter = createLimiter('1000/h', { store, name: 'api' });
    const failure = await limiter.take('k', 500).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StoreUnavailable);
    expect(failure).toMatchObject({ fault: 'overloaded' });
    expect(service.calls.get).toBe(101);
    expect((await others.peek('k')).remaining).toBe(1000);
  });

  test.each(['rejects', 'throws'])('does not repeat a put that %s', async (how) => {
    const service = countingService();
    let puts = 0;
    const put = () => {
      puts++;
      if (how === 'throws') throw new Error('ECONNRESET');
      return Promise.reject(new Error('ECONNRESET'));
    };
    const limiter = createLimiter('10/h', {
      store: casStore({ get: (key) => service.get(key), put }, patient),
      name: 'api',
    });
    await expect(limiter.take('k')).rejects.toMatchObject({ fault: 'connection' });
    expect(puts).toBe(1);
  });
});

test('casStore waits at most ten seconds for a service that never answers, and charges none of the waiting hits', () =>
  punctually(20, async () => {
    const service = countingService();
    let answer = (): void => {};
    const stuck = new Promise<void>((resolve) => {
      answer = resolve;
    });
    let gets = 0;
    const get = async (key: string) => {
      if (++gets === 1) await stuck;
      return service.get(key);
    };
    const store = casStore(
      { get, put: (...args) => service.put(...args) },
      { onFailure: 'throw', deadline: 50 },
    );
    const limiter = createLimiter('10/h', { store, name: 'api' });
    const truth = createLimiter('10/h', { store: casStore(service, patient), name: 'api' });
    const late = { fault: 'deadline' };
    const first = limiter.take('k');
    await Promise.resolve();
    const second = limiter.take('k');
    await expect(first).rejects.toMatchObject(late);
    await expect(second).rejects.toMatchObject(late);

    const real = performance.now.bind(performance);
    const later = vi.spyOn(performance, 'now').mockImplementation(() => real() + 10_001);
    const { value } = await outcome(() => limiter.take('k'));
    later.mockRestore();
    expect(value?.remaining).toBe(9);

    // The service finally answers, too late for both hits.
    answer();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect((await truth.peek('k')).remaining).toBe(9);
  }));

describe('a row', () => {
  test('starts from scratch if the algorithms change, but keeps a manual block', async () => {
    const service = countingService();
    const before = createLimiter('5/h', { store: casStore(service, patient), name: 'api' });
    const after = createLimiter(leakyBucket({ size: 5 }), {
      store: another(casStore(service, patient)),
      name: 'api',
    });
    await before.take('k', 5);
    expect((await after.peek('k')).remaining).toBe(5);
    expect((await before.peek('k')).remaining).toBe(0);
    await after.reset('k');
    expect((await before.peek('k')).remaining).toBe(5);
    await before.take('k', 5);
    await before.block('k', '1h');
    expect(await after.take('k')).toMatchObject({ allowed: false, policy: 'block' });
    await after.reset('k');
    expect((await before.peek('k')).remaining).toBe(5);
  });

  test('is read by several plans of one batch, one after the other', async () => {
    const service = countingService();
    const store = casStore(service, patient);
    const rate = createLimiter('5/h', { store, name: 'api', tiers: { pro: '10/h' } });
    const window = createLimiter('5/h fixed-window', { store: another(store), name: 'api' });
    await rate.take('k', 2);
    const answers = await Promise.all([
      window.peek('k'),
      rate.take('k'),
      rate.take('k', { tier: 'pro', cost: 4 }),
      window.take('k', 6),
      rate.peek('k', 2),
    ]);
    expect(answers.map(({ allowed }) => allowed)).toEqual([true, true, true, false, false]);
    expect(service.calls.get).toBe(2);
  });

  test('is ignored if its bytes were not written by Sluice', async () => {
    const service = countingService();
    const limiter = createLimiter(
      { log: '5/h sliding-log' },
      { store: casStore(service, patient), name: 'api' },
    );
    await limiter.take('k', 5);
    const { value } = service.kept.get('api:k') as Kept;
    const foreign = [
      new Uint8Array(3),
      new Uint8Array(64).fill(255),
      value.slice(0, 40),
      Uint8Array.from([...value, ...value.slice(0, 8)]),
    ];
    for (const [version, bytes] of foreign.entries()) {
      service.kept.set('api:k', { value: bytes, version: -version, expiresInMs: 1 });
      expect((await limiter.peek('k')).remaining).toBe(5);
    }
    // The bytes that Sluice wrote are read even at an unaligned position in memory.
    const shifted = new Uint8Array(value.length + 3);
    shifted.set(value, 3);
    service.kept.set('api:k', { value: shifted.subarray(3), version: 9, expiresInMs: 1 });
    expect((await limiter.peek('k')).remaining).toBe(0);
  });

  test('is kept until it is fully replenished for each of its plans', async () => {
    const service = { ...countingService(), now: () => 1_700_000_000_000 };
    const limiter = createLimiter(gcra({ limit: 10, per: '10s' }), {
      store: casStore(service, patient),
      name: 'api',
      tiers: { pro: gcra({ limit: 1000, per: '10s' }) },
    });
    const kept = () => service.kept.get('api:k')?.expiresInMs;
    await limiter.take('k', 3);
    expect(kept()).toBe(3000);
    await limiter.refund('k', 2);
    expect(kept()).toBe(3000);
    await limiter.take('k', { tier: 'pro' });
    expect(kept()).toBe(3000);
    await limiter.block('k', '1m');
    expect(kept()).toBe(60_000);
    await limiter.reset('k');
    expect(kept()).toBe(1);
  });

  test('is never written with an earlier time, even if the clock of a process is behind', async () => {
    const service = countingService();
    const at = (offset: number) =>
      createLimiter(fixedWindow({ limit: 10, per: '1s', align: 'first' }), {
        store: casStore(
          {
            get: (key) => service.get(key),
            put: (...args) => service.put(...args),
            now: () => 1_700_000_000_000 + offset,
          },
          patient,
        ),
        name: 'api',
      });
    await at(0).take('k', 4);
    expect(await at(-5000).take('k', 4)).toMatchObject({ allowed: true, remaining: 2, resetAfter: 1000 });
    expect(await at(400).take('k', 2)).toMatchObject({ allowed: true, resetAfter: 600 });
  });
});

test('casStore makes short, printable and distinct keys from any name and subject', async () => {
  const service = countingService();
  const store = casStore(service, { ...patient, clock: manualClock() });
  const names = ['api', 'a:b', 'a', 'a@x', '#', 'a%3ab', ' ', 'x'.repeat(300)];
  const subjects = [
    '',
    'b:',
    ':b',
    'a b',
    'ü',
    '🚰',
    '\ud83d',
    '\0',
    '%00',
    '\n',
    '\u00010',
    '\u0010',
    'y'.repeat(500),
    'y'.repeat(501),
  ];
  for (const name of names) {
    const limiter = createLimiter('1/s', { store, name, tiers: { log: '1/s sliding-log' } });
    for (const subject of subjects) {
      expect((await limiter.take(subject)).allowed).toBe(true);
      expect((await limiter.take(subject, { tier: 'log' })).allowed).toBe(true);
    }
  }
  const keys = [...service.kept.keys()];
  expect(keys.length).toBe(names.length * subjects.length);
  expect(keys.filter((key) => !/^[!-~]{1,200}$/.test(key))).toEqual([]);
  expect(keys[0]).toBe('api:');
});

test('casStore rejects a value that is not a service, and a misspelled option', () => {
  expect(() => casStore({ get: () => undefined } as never, { onFailure: 'throw' })).toThrow(
    'casStore.service',
  );
  expect(() => casStore(countingService(), { denyCahce: true } as never)).toThrow('ERR_UNKNOWN_OPTION');
});
