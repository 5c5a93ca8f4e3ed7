/**
 * Tests the deny cache under a flood, in simulated time: how much it admits, how long callers wait, and how often the store is
 * called.
 */
import { afterEach, expect, test, vi } from 'vitest';
import { type Decision, fixedWindow, gcra, type Policies, slidingLog, type Store } from '../../src/index.ts';
import { denyCache } from '../../src/wrappers/deny-cache.ts';
import { steady } from './leased/scenarios.ts';
import { type SimulationResult, overAdmitted, simulate, total } from './leased/simulation.ts';

const LENGTH = 500;
/** Hits per millisecond, on all nodes together. */
const FLOOD = 30;

afterEach(() => {
  vi.restoreAllMocks();
});

interface Flood extends SimulationResult {
  /** Milliseconds that the slowest answer took. */
  readonly slowest: number;
  /** Number of answers that were not given immediately. */
  readonly delayed: number;
}

/** Simulates a flood on one key with this round trip to the store. `wrap` wraps the store. */
async function flood(
  policies: Policies,
  roundTrip: number,
  nodes: number,
  wrap: (store: Store<Promise<Decision>>) => Store<Promise<Decision>>,
): Promise<Flood> {
  let slowest = 0;
  let delayed = 0;
  const delay = [roundTrip / 2, roundTrip / 2] as const;
  const result = await simulate({
    ...steady(policies, nodes, FLOOD * 1000, LENGTH),
    delay,
    wrap(remote, { clock }) {
      // The cache reads the system's clock, which follows a spy on `performance`.
      vi.spyOn(performance, 'now').mockImplementation(() => clock.now());
      const store = wrap(remote as Store<Promise<Decision>>);
      return {
        ...store,
        async apply(hit) {
          const asked = clock.now();
          const decision = await store.apply(hit);
          slowest = Math.max(slowest, clock.now() - asked);
          if (clock.now() > asked) delayed++;
          return decision;
        },
      };
    },
  });
  return { ...result, slowest, delayed };
}

const POLICIES: Readonly<Record<string, Policies>> = {
  'one unit a millisecond (no burst)': gcra({ limit: 1000, per: '1s', burst: 1 }),
  'one unit a millisecond, a burst of 20': gcra({ limit: 1000, per: '1s', burst: 20 }),
  'ten units a millisecond': gcra({ limit: 10_000, per: '1s', burst: 100 }),
  'one unit in 100 ms (no burst)': gcra({ limit: 10, per: '1s', burst: 1 }),
  'a window of 200 in 200 ms': fixedWindow({ limit: 200, per: '200ms' }),
  'a log of 200 in 200 ms': slidingLog({ limit: 200, per: '200ms', resolution: 50 }),
};

const CASES = Object.keys(POLICIES).flatMap((name) =>
  [0, 2, 5].map((roundTrip) => [name, roundTrip] as const),
);

test.each(CASES)(
  'with a limit of %s and a round trip of %d ms, a deny cache admits as much as direct checks, and no caller waits longer than three round trips',
  async (name, roundTrip) => {
    const policies = POLICIES[name];
    const direct = await flood(policies, roundTrip, 1, (store) => store);
    const { spends, calls, slowest } = await flood(policies, roundTrip, 1, denyCache);
    const passed = total(spends);
    expect(overAdmitted(policies, spends)).toBe(0);
    expect(passed).toBeGreaterThanOrEqual(0.99 * total(direct.spends) - 2);
    expect(slowest).toBeLessThanOrEqual(3 * roundTrip + 0.01);
    // The first hits are sent before a denial is known. After the first denial, one take and one peek are sent for each unit, and
    // a few more hits.
    expect(calls).toBeLessThanOrEqual(FLOOD * (roundTrip + 1) + 3 * passed);
  },
  30_000,
);

test('while the deny cache waits for an answer from the store, it denies other hits without a delay', async () => {
  const policies = gcra({ limit: 1000, per: '1s', burst: 1 });
  const { spends, delayed } = await flood(policies, 5, 1, denyCache);
  // The first hits and the hits that pass are delayed, and a few others. The flood has 15,000 hits.
  expect(delayed).toBeLessThanOrEqual(FLOOD * 6 + 1.2 * total(spends));
}, 30_000);

test('with four processes, a deny cache admits as much as direct checks', async () => {
  const policies = gcra({ limit: 200, per: '1s', burst: 2 });
  const direct = await flood(policies, 5, 4, (store) => store);
  const { spends, slowest } = await flood(policies, 5, 4, denyCache);
  expect(overAdmitted(policies, spends)).toBe(0);
  expect(total(spends)).toBeGreaterThanOrEqual(0.98 * total(direct.spends) - 2);
  expect(slowest).toBeLessThanOrEqual(15.01);
}, 30_000);
