/** Compares random calls with ratelimit.js itself, which sends the time of its process in whole seconds. */
import { Redis } from 'ioredis';
import { createRequire } from 'node:module';
import { afterAll, afterEach, expect, inject, test, vi } from 'vitest';
import { createMultiPrecision, type Ids } from '../src/multi-precision.ts';
import { manualClock } from 'sluice/testing';
import { random } from 'sluice-test-support/random.ts';

interface NamedRule {
  readonly interval: number;
  readonly limit: number;
  readonly precision?: number;
}

type Done = (error: Error | null, limited: boolean) => void;

interface Original {
  incr(ids: Ids, weight: number, done: Done): void;
  check(ids: Ids, done: Done): void;
}

const require = createRequire(import.meta.url);
const { RateLimit } = require('ratelimit.js') as {
  RateLimit: new (client: Redis, rules: readonly NamedRule[], options: { prefix: string }) => Original;
};

const client = new Redis(inject('redisPort'), '127.0.0.1');
afterAll(() => client.disconnect());
afterEach(() => void vi.restoreAllMocks());

const asked = (ask: (done: Done) => void): Promise<boolean> =>
  new Promise((resolve, reject) => {
    ask((error, limited) => (error ? reject(error) : resolve(limited)));
  });

test('4,000 random calls with several rules and identifiers get the same decisions as from ratelimit.js', async () => {
  let now = 0;
  vi.spyOn(Date, 'now').mockImplementation(() => now * 1000);
  const differences: unknown[] = [];
  for (let seed = 1; seed <= 100; seed++) {
    const draw = random(seed);
    const pick = <T>(list: readonly T[]): T => list[draw(list.length)];
    // Each interval has at most one rule, because the original counts rules with the same interval and precision twice.
    const intervals = [1, 2, 5, 10, 60, 100, 3600].filter(() => draw(3) === 0);
    const rules = (intervals.length === 0 ? [10] : intervals).map((interval): NamedRule => {
      const precision = pick([1, 2, 3, 5, 7, 10, 30, 60].filter((one) => one <= interval));
      return { interval, limit: 1 + draw(12), ...(draw(2) === 0 && { precision }) };
    });
    const clock = manualClock();
    const ours = createMultiPrecision(rules, { clock });
    const theirs = new RateLimit(client, rules, { prefix: `beside ${process.pid} ${seed}` });
    now = 1_700_000_000 + draw(5000);
    for (let step = 0; step < 40; step++) {
      const span = rules[0].interval;
      now += pick([0, 0, 0, 1, draw(3), draw(span + 1), span]);
      clock.set(now * 1000);
      const some = ['a', 'b', 'c'].filter(() => draw(2) === 0);
      const ids = some.length === 0 ? 'a' : some;
      const weight = pick([1, 1, 1 + draw(4)]);
      const [got, rightly] =
        draw(4) === 0
          ? [await ours.check(ids), await asked((done) => theirs.check(ids, done))]
          : [await ours.incr(ids, weight), await asked((done) => theirs.incr(ids, weight, done))];
      if (got !== rightly) differences.push({ seed, step, ids, weight, rules, got, rightly });
    }
  }
  expect(differences).toEqual([]);
});
