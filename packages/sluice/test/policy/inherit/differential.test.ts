/** Makes the same random hits, with several versions of a limiter, on memory and on other stores. All decisions must be equal. */
import { Redis } from 'ioredis';
import { afterAll, describe, inject, test } from 'vitest';
import {
  casStore,
  createLimiter,
  type Decision,
  type Limiter,
  type LimiterOptions,
  type MaybePromise,
  memory,
  type Policies,
  type Store,
} from '../../../src/index.ts';
import { redis } from '../../../src/stores/redis/index.ts';
import { sharedMemory } from '../../../src/stores/shared-memory/index.ts';
import { type ManualClock, manualClock } from '../../../src/testing/index.ts';
import { random } from 'sluice-test-support/random.ts';
import { someGap, someVerb } from '../../stores/differential.ts';
import { ADDITIVE, ADDITIVE_TIERS, INHERIT, TIERS, VERSIONS } from './versions.ts';

const START = 1_700_000_000_000;

type AnyStore = Store<MaybePromise<Decision>>;

/** Valkey in wasm takes a tenth of a second per batch, so it gets fewer hits, in larger batches. */
const OTHERS: Readonly<
  Record<string, { make: (clock: ManualClock) => AnyStore; hits: number; atOnce: number; back: boolean }>
> = {
  'redis 7': { make: onServer('redisPort'), hits: 1200, atOnce: 6, back: true },
  valkey: { make: onServer('valkeyPort'), hits: 300, atOnce: 60, back: true },
  // In the next two stores, a refund to a fresh row writes nothing. In the other stores, the refund writes the time,
  // which makes a difference only when the clock goes back.
  'shared memory': {
    make: (clock) => sharedMemory({ clock, maxKeys: 1000 }),
    hits: 1200,
    atOnce: 6,
    back: false,
  },
  'compare and swap': { make: swapped, hits: 1200, atOnce: 6, back: false },
};

function onServer(port: 'redisPort' | 'valkeyPort'): (clock: ManualClock) => AnyStore {
  const client = new Redis(inject(port), '127.0.0.1');
  afterAll(() => client.disconnect());
  return (clock) => redis(client, { onFailure: 'throw', clock, deadline: '30s' });
}

/** A store on a map that supports only compare-and-swap. */
function swapped(clock: ManualClock): AnyStore {
  const rows = new Map<string, { value: Uint8Array; version: number }>();
  let version = 0;
  return casStore(
    {
      get: async (key) => rows.get(key),
      async put(key, value, expected) {
        if (rows.get(key)?.version !== expected) return false;
        rows.set(key, { value, version: ++version });
        return true;
      },
    },
    { onFailure: 'throw', clock, deadline: '30s' },
  );
}

const CASES: [inherit: LimiterOptions['inherit'], name: string, versions: readonly Policies[]][] = [
  ...INHERIT.flatMap((inherit) =>
    Object.entries(VERSIONS).map(([name, versions]): (typeof CASES)[number] => [inherit, name, versions]),
  ),
  ...Object.entries(ADDITIVE).map(([name, versions]): (typeof CASES)[number] => ['additive', name, versions]),
  ['reset', 'gcra', VERSIONS['gcra'] ?? []],
  [undefined, 'gcra', VERSIONS['gcra'] ?? []],
  [undefined, 'sliding window', VERSIONS['sliding window'] ?? []],
];

type AnyLimiter = Limiter<MaybePromise<Decision>>;

/**
 * Makes every call with the same tier, because hits of one tier are sent in one batch. A take replaces block, unblock and reset,
 * which would be hits of the base tier and would arrive before or after that batch.
 */
function inTier(limiter: AnyLimiter, tier: string | undefined): AnyLimiter {
  if (tier === undefined) return limiter;
  const withTier = (options: unknown): object =>
    typeof options === 'object' ? { ...options, tier } : { cost: options, tier };
  return {
    ...limiter,
    take: (key, options) => limiter.take(key, withTier(options)),
    peek: (key, options) => limiter.peek(key, withTier(options)),
    refund: (key, options) => limiter.refund(key, withTier(options)),
    release: (key, options) => limiter.release(key, withTier(options)),
    reserve: (key, options) => limiter.reserve(key, withTier(options)),
    block: (key) => limiter.take(key, { tier }),
    unblock: (key) => limiter.take(key, { tier }),
    reset: (key) => limiter.take(key, { tier }),
  };
}

const TIER_CASES: [inherit: LimiterOptions['inherit'], name: string, tiers: (typeof TIERS)[string]][] = [
  ...INHERIT.flatMap((inherit) =>
    Object.entries(TIERS).map(([name, tiers]): (typeof TIER_CASES)[number] => [inherit, name, tiers]),
  ),
  ...Object.entries(ADDITIVE_TIERS).map(([name, tiers]): (typeof TIER_CASES)[number] => [
    undefined,
    name,
    tiers,
  ]),
];

for (const [store, { make, hits, atOnce, back }] of Object.entries(OTHERS)) {
  describe.concurrent(`memory and ${store}, for tiers of one limiter,`, () => {
    for (const [index, [inherit, name, [base, ...others]]] of TIER_CASES.entries()) {
      test(`make equal decisions with inherit: ${inherit ?? 'default'} (${name})`, {
        timeout: 120_000,
      }, async ({ expect }) => {
        const clock: ManualClock = manualClock(START);
        const draw = random(100 + index);
        const tiers = Object.fromEntries(others.map((policies, i) => [`tier ${i}`, policies]));
        const limiter = (over: AnyStore): AnyLimiter =>
          createLimiter(base, { store: over, name: `tiers ${process.pid} ${index}`, inherit, tiers });
        const [here, there] = [limiter(memory({ clock })), limiter(make(clock))];
        for (let done = 0; done < hits; ) {
          const gap = someGap(draw);
          clock.set(clock.now() + (back ? gap : Math.max(0, gap)));
          const drawn = draw(others.length + 1);
          const tier = drawn === 0 ? undefined : `tier ${drawn - 1}`;
          const asks = Array.from({ length: 1 + draw(atOnce) }, () => someVerb(draw));
          const expected: unknown[] = [];
          for (const ask of asks) expected.push(await ask(inTier(here, tier)));
          const actual = asks.map((ask) => ask(inTier(there, tier)));
          expect(await Promise.all(actual)).toEqual(expected);
          done += asks.length;
        }
      });
    }
  });
}

for (const [store, { make, hits, atOnce, back }] of Object.entries(OTHERS)) {
  describe.concurrent(`memory and ${store}, for versions of one limiter,`, () => {
    for (const [index, [inherit, name, versions]] of CASES.entries()) {
      test(`make equal decisions with inherit: ${inherit ?? 'not set'} (${name})`, {
        timeout: 120_000,
      }, async ({ expect }) => {
        const clock: ManualClock = manualClock(START);
        const draw = random(index + 1);
        const limiters = (over: AnyStore): Limiter<MaybePromise<Decision>>[] =>
          versions.map((policies) =>
            createLimiter(policies, { store: over, name: `inherit ${process.pid} ${index}`, inherit }),
          );
        const here = limiters(memory({ clock }));
        const there = limiters(make(clock));
        for (let done = 0; done < hits; ) {
          const gap = someGap(draw);
          clock.set(clock.now() + (back ? gap : Math.max(0, gap)));
          // The hits of one version are sent in one batch.
          const version = draw(versions.length);
          const asks = Array.from({ length: 1 + draw(atOnce) }, () => someVerb(draw));
          const expected: unknown[] = [];
          for (const ask of asks) expected.push(await ask(here[version]));
          const actual = asks.map((ask) => ask(there[version]));
          expect(await Promise.all(actual)).toEqual(expected);
          done += asks.length;
        }
      });
    }
  });
}
