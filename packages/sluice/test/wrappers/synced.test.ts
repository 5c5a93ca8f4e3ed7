import { beforeEach, describe, expect, test } from 'vitest';
import {
  concurrency,
  createLimiter,
  type Decision,
  fixedWindow,
  gcra,
  type Limiter,
  type MaybePromise,
  type Policies,
  type PolicySource,
  slidingLog,
  type Store,
  synced,
  type SyncedOptions,
} from '../../src/index.ts';
import type { ManualClock } from '../../src/testing/index.ts';
import { askedStore, settled } from './leased/asked.ts';
import { steady, storms, surges } from './leased/scenarios.ts';
import {
  type SimulationResult,
  excess,
  type Scenario,
  simulate,
  type Spend,
  total,
} from './leased/simulation.ts';

const EVERY = 100;
/** The longest round trip of the simulation, in milliseconds. */
const ROUND_TRIP = 4;

function withSync(scenario: Scenario): Promise<SimulationResult> {
  return simulate({ ...scenario, wrap: (store, { clock }) => synced(store, { every: EVERY, clock }) });
}

/** The maximum number of units that all nodes except the busiest admitted in two intervals and a round trip. */
function unsynchronized(spends: readonly Spend[], nodes: number): number {
  const span = 2 * EVERY + ROUND_TRIP;
  const most = Array.from({ length: nodes }, (_, node) => {
    const own = spends.filter((spend) => spend.node === node);
    let [busiest, sum, first] = [0, 0, 0];
    for (const { at, cost } of own) {
      sum += cost;
      while (own[first].at <= at - span) sum -= own[first++].cost;
      busiest = Math.max(busiest, sum);
    }
    return busiest;
  }).toSorted((a, b) => a - b);
  return most.slice(0, -1).reduce((sum, each) => sum + each, 0);
}

describe('without faults, the overshoot of any window is at most what other nodes admitted before they synchronized', () => {
  const CASES: Readonly<Record<string, { policies: Policies; over: (spends: readonly Spend[]) => number }>> =
    {
      gcra: {
        policies: gcra({ limit: 100, per: '1s', burst: 1000 }),
        over: (spends) => excess(spends, (w) => 1000 + 0.1 * w, { base: 1000, rate: 0.1 }),
      },
      'sliding log': {
        policies: slidingLog({ limit: 1000, per: '10s' }),
        over: (spends) => excess(spends, (w) => (w < 10_000 ? 1000 : Infinity)),
      },
    };
  test.each(Object.keys(CASES))(
    '%s',
    async (name) => {
      const { policies, over: overIn } = CASES[name];
      let seen = 0;
      for (const nodes of [1, 2, 4, 16]) {
        const { spends } = await withSync(steady(policies, nodes, 1000, 20_000));
        const over = overIn(spends);
        expect(over).toBeLessThanOrEqual(unsynchronized(spends, nodes));
        if (nodes === 1) expect(over).toBeLessThanOrEqual(0);
        seen = Math.max(seen, over);
      }
      for (const seed of [1, 2]) {
        const scenario = surges(policies, seed);
        const { spends } = await withSync(scenario);
        expect(overIn(spends)).toBeLessThanOrEqual(unsynchronized(spends, scenario.nodes));
      }
      // Some overshoot must occur. Otherwise, the load would be too low for this test.
      expect(seen).toBeGreaterThan(0);
    },
    30_000,
  );

  test('fixed window', async () => {
    const policies = fixedWindow({ limit: 2000, per: '10s' });
    const { spends } = await withSync(steady(policies, 8, 1000, 30_000));
    const byWindow = new Map<number, number>();
    for (const { at, cost } of spends) {
      const window = Math.floor(at / 10_000);
      byWindow.set(window, (byWindow.get(window) ?? 0) + cost);
    }
    const over = Math.max(...byWindow.values()) - 2000;
    expect(over).toBeGreaterThan(0);
    expect(over).toBeLessThanOrEqual(unsynchronized(spends, 8));
  });
});

test('a bucket makes up for an overshoot later, so that it keeps its rate over a minute', async () => {
  const { spends } = await withSync(steady(gcra({ limit: 200, per: '1s', burst: 400 }), 8, 1000, 60_000));
  expect(total(spends)).toBeLessThanOrEqual(1.02 * (400 + 60 * 200));
  expect(total(spends)).toBeGreaterThan(0.95 * (400 + 60 * 200));
});

test('crashes, stalls and lost answers cause no unhandled rejection, and every node recovers', async () => {
  for (const seed of [1, 2, 3]) {
    const scenario = storms(gcra({ limit: 200, per: '1s', burst: 2000 }), seed);
    const result = await withSync(scenario);
    expect(total(result.spends)).toBeGreaterThan(0.5 * total((await simulate(scenario)).spends));
  }
});

describe('with one node,', () => {
  let clock: ManualClock;
  let asked: string[];
  let store: Store<Promise<Decision>>;
  beforeEach(() => {
    ({ clock, asked, store } = askedStore());
  });
  const limiterOf = (policies: Policies): Limiter<MaybePromise<Decision>> =>
    createLimiter(policies, { store: synced(store, { every: EVERY, clock }), name: 'api' });

  test('synced calls the store once, then answers synchronously and pushes once per interval', async () => {
    const limiter = limiterOf(fixedWindow({ limit: 10, per: '1h' }));
    await limiter.take('alice');
    for (let i = 0; i < 5; i++)
      expect(limiter.take('alice')).toMatchObject({ allowed: true, remaining: 8 - i });
    expect(asked).toEqual(['take 1']);
    clock.advance(EVERY);
    await settled();
    expect(asked).toEqual(['take 1', 'take always 5']);
    expect(limiter.take('alice', 5)).toMatchObject({ allowed: false, remaining: 4 });
    expect(limiter.take('alice', 4)).toMatchObject({ allowed: true, remaining: 0 });
  });

  test('hits that arrive before the store’s first answer wait for that answer', async () => {
    const limiter = limiterOf(fixedWindow({ limit: 3, per: '1h' }));
    const decisions = await Promise.all(Array.from({ length: 5 }, async () => limiter.take('alice')));
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, true, false, false]);
    expect(asked).toEqual(['take 1']);
  });

  test('a denial announces the wait for the next synchronization, or the wait from the store once that is known', async () => {
    const limiter = limiterOf(fixedWindow({ limit: 2, per: '1h', align: 'first' }));
    await limiter.take('alice');
    void limiter.take('alice');
    expect(limiter.take('alice')).toMatchObject({ allowed: false, retryAfter: EVERY });
    for (let i = 0; i < 2; i++) {
      clock.advance(EVERY);
      await settled();
      void limiter.take('alice');
    }
    expect(limiter.take('alice')).toMatchObject({ allowed: false, retryAfter: 3_600_000 - 2 * EVERY });
  });

  test('synced stops counting an idle key after its units were pushed', async () => {
    const limiter = limiterOf(fixedWindow({ limit: 10, per: '1h' }));
    await limiter.take('alice');
    void limiter.take('alice', 2);
    for (let i = 0; i < 10; i++) {
      clock.advance(EVERY);
      await settled();
    }
    expect(asked).toEqual(['take 1', 'take always 2']);
  });

  test('a refund reduces the next push, and reset and block take effect immediately', async () => {
    const limiter = limiterOf(fixedWindow({ limit: 10, per: '1h' }));
    await limiter.take('alice');
    void limiter.take('alice', 4);
    expect(limiter.refund('alice', 4)).toMatchObject({ remaining: 9 });
    await limiter.reset('alice');
    expect(await limiter.peek('alice')).toMatchObject({ remaining: 10 });
    await limiter.take('alice');
    await limiter.block('alice', '1m');
    expect(await limiter.take('alice')).toMatchObject({ allowed: false, policy: 'block' });
  });

  test('a manual block does not lose units that were admitted before the block', async () => {
    const limiter = limiterOf(fixedWindow({ limit: 10, per: '1h' }));
    await limiter.take('alice');
    void limiter.take('alice', 4);
    await limiter.block('alice', 1);
    expect(asked).toEqual(['take 1', 'take always 4', 'block 0']);
    clock.advance(1);
    expect(await limiter.peek('alice')).toMatchObject({ allowed: true, remaining: 5 });
  });

  test('close pushes units that were not pushed yet', async () => {
    const wrapped = synced(store, { every: EVERY, clock });
    const limiter = createLimiter('10/h', { store: wrapped, name: 'api' });
    await limiter.take('alice');
    void limiter.take('alice', 3);
    await wrapped.close();
    expect(asked).toEqual(['take 1', 'take always 3']);
  });

  test('close waits for a push that is in flight', async () => {
    const wrapped = synced(store, { every: EVERY, clock });
    const limiter = createLimiter('10/h', { store: wrapped, name: 'api' });
    await limiter.take('alice');
    void limiter.take('alice', 3);
    const apply = store.apply.bind(store);
    store.apply = async (hit) => {
      await settled();
      return apply(hit);
    };
    store.close = () => void asked.push('close');
    clock.advance(EVERY);
    await wrapped.close();
    expect(asked).toEqual(['take 1', 'take always 3', 'close']);
  });

  test('a push without an answer is not sent again, and the next hit is sent to the store', async () => {
    const limiter = limiterOf(fixedWindow({ limit: 10, per: '1h' }));
    await limiter.take('alice');
    void limiter.take('alice', 3);
    const apply = store.apply.bind(store);
    store.apply = () => Promise.reject(new Error('gone'));
    clock.advance(EVERY);
    await settled();
    await expect(limiter.take('alice')).rejects.toThrow('gone');
    store.apply = apply;
    expect(await limiter.take('alice')).toMatchObject({ remaining: 8, source: 'store' });
  });

  describe('an answer of the fallback', () => {
    /** Answers as `resilient` does with `onFailure`. */
    const fallBack = (): void => {
      const apply = store.apply.bind(store);
      store.apply = async (hit) => ({ ...(await apply(hit)), remaining: 999, source: 'fallback' });
    };

    test('to the first hit is not treated as the state of the store', async () => {
      const apply = store.apply.bind(store);
      fallBack();
      const limiter = limiterOf(fixedWindow({ limit: 3, per: '1h' }));
      expect((await limiter.take('alice')).source).toBe('fallback');
      expect((await limiter.take('alice')).source).toBe('fallback');
      store.apply = apply;
      expect(await limiter.take('alice')).toMatchObject({ allowed: true, remaining: 0, source: 'store' });
      expect(limiter.take('alice')).toMatchObject({ allowed: false, source: 'lease' });
    });

    test('leads to one store call for each waiting hit, and these calls are concurrent', async () => {
      fallBack();
      const apply = store.apply.bind(store);
      let [inFlight, most] = [0, 0];
      store.apply = async (hit) => {
        most = Math.max(most, ++inFlight);
        await settled();
        inFlight--;
        return apply(hit);
      };
      const limiter = limiterOf(fixedWindow({ limit: 3, per: '1h' }));
      const decisions = await Promise.all(Array.from({ length: 5 }, async () => limiter.take('alice')));
      expect(decisions.map(({ source }) => source)).toEqual(Array(5).fill('fallback'));
      expect(asked).toEqual(Array(5).fill('take 1'));
      expect(most).toBe(4);
    });

    test('to a push makes the next hit call the store', async () => {
      const apply = store.apply.bind(store);
      const limiter = limiterOf(fixedWindow({ limit: 10, per: '1h' }));
      await limiter.take('alice');
      void limiter.take('alice', 3);
      fallBack();
      clock.advance(EVERY);
      await settled();
      store.apply = apply;
      expect(await limiter.take('alice')).toMatchObject({ remaining: 5, source: 'store' });
    });
  });

  test('policies that do not count units are checked directly', async () => {
    const limiter = limiterOf(concurrency({ limit: 2, lease: '1m' }));
    for (let i = 0; i < 3; i++) await limiter.take('alice');
    expect(asked).toEqual(['take 1', 'take 1', 'take 1']);
  });

  describe('an interval that is too long for the window', () => {
    const longFor = (policies: PolicySource): Limiter<MaybePromise<Decision>> =>
      createLimiter(policies, { store: synced(store, { every: '1h', clock }), name: 'api' });

    test('is shortened to a tenth of the window, so that nodes notice each other’s units and the next window', async () => {
      const limiter = longFor(fixedWindow({ limit: 10, per: '1m' }));
      await limiter.take('alice');
      void limiter.take('alice', 4);
      const elsewhere = createLimiter(fixedWindow({ limit: 10, per: '1m' }), { store, name: 'api' });
      await elsewhere.take('alice', 5);
      clock.advance(6000);
      await settled();
      expect(limiter.take('alice')).toMatchObject({ allowed: false, retryAfter: 6000 });
      clock.advance(66_000);
      await settled();
      expect((await limiter.take('alice', 10)).allowed).toBe(true);
    });

    test('is shortened independently of limiters with longer windows', async () => {
      const wrapped = synced(store, { every: '1h', clock });
      const quick = createLimiter(fixedWindow({ limit: 10, per: '1m' }), { store: wrapped, name: 'quick' });
      const slow = createLimiter(fixedWindow({ limit: 10, per: '1d' }), { store: wrapped, name: 'slow' });
      for (const limiter of [quick, slow]) {
        await limiter.take('alice');
        void limiter.take('alice', 2);
      }
      asked.length = 0;
      clock.advance(6000);
      await settled();
      expect(asked).toEqual(['take always 2']);
      clock.advance(3_600_000 - 6000);
      await settled();
      expect(asked.filter((what) => what.startsWith('take'))).toEqual(['take always 2', 'take always 2']);
    });

    test('is not shortened below 10 ms; limiters that would need a shorter interval are checked directly', async () => {
      const limiter = longFor(fixedWindow({ limit: 10, per: '90ms' }));
      for (let i = 0; i < 3; i++) expect((await limiter.take('alice')).source).toBe('store');
      expect(asked).toEqual(['take 1', 'take 1', 'take 1']);
    });
  });

  test('equal policies in different objects share one count', async () => {
    const policiesOf = () => fixedWindow({ limit: 10, per: '1h' });
    const wrapped = synced(store, { every: EVERY, clock });
    const limiter = createLimiter(policiesOf, { store: wrapped, name: 'api' });
    await limiter.take('alice');
    for (let i = 0; i < 9; i++)
      expect(limiter.take('alice')).toMatchObject({ allowed: true, source: 'lease' });
    expect(limiter.take('alice')).toMatchObject({ allowed: false });
    expect(asked).toEqual(['take 1']);
    // The key was dropped, and another object starts counting it again.
    for (let i = 0; i < 3; i++) {
      clock.advance(EVERY);
      await settled();
    }
    await limiter.reset('alice');
    expect(await limiter.take('alice')).toMatchObject({ remaining: 9, source: 'store' });
    expect(limiter.take('alice')).toMatchObject({ remaining: 8, source: 'lease' });
  });

  test('synced rejects invalid options', () => {
    expect(() => synced(store, {} as SyncedOptions)).toThrow('ERR_MISSING_OPTION');
    expect(() => synced(store, { every: '0s' })).toThrow('synced.every');
    expect(() => synced(store, { every: 1, maxKeys: 0 })).toThrow('synced.maxKeys');
  });
});
