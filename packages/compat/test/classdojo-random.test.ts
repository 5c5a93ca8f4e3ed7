/** Compares random calls with rolling-rate-limiter itself, whose clock and timers are faked. */
import { createRequire } from 'node:module';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { InMemoryRateLimiter, type RateLimiterOptions } from '../src/rolling-window.ts';
import { manualClock } from 'sluice/testing';
import { random } from 'sluice-test-support/random.ts';

const require = createRequire(import.meta.url);
const original = require('rolling-rate-limiter') as {
  InMemoryRateLimiter: new (options: RateLimiterOptions) => InMemoryRateLimiter;
};
/** The module from which the original reads the time, in microseconds. */
const microtime = createRequire(require.resolve('rolling-rate-limiter'))('microtime') as { now(): number };

// The original uses a real timer to forget a key after the interval, and that timer would not follow the faked clock.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const OPS = ['limit', 'limit', 'limitWithInfo', 'limitWithInfo', 'wouldLimit', 'wouldLimitWithInfo'] as const;

test.each([
  ['short', 400, 60, 8],
  ['long', 12, 2000, 250],
])(
  'with %s sliding logs, 24,000 random calls return the same fields as rolling-rate-limiter',
  async (_, seeds, steps, most) => {
    const differences: unknown[] = [];
    let micros = 0;
    vi.spyOn(microtime, 'now').mockImplementation(() => micros);
    for (let seed = 1; seed <= seeds; seed++) {
      const draw = random(seed);
      const pick = <T>(list: readonly T[]): T => list[draw(list.length)];
      const interval = pick([10, 37, 100, 1000, 60_000]);
      const options: RateLimiterOptions = {
        interval,
        maxInInterval: 1 + draw(most),
        // The minimum difference is at most the interval, because the original does not enforce a longer one.
        minDifference: Math.min(interval, pick([0, 0, 0.5, 1, 5, 20, 200])),
      };
      const span = interval * 1000;
      const clock = manualClock();
      const ours = new InMemoryRateLimiter({ ...options, clock });
      const theirs = new original.InMemoryRateLimiter(options);
      micros = 1_700_000_000_000_000 + draw(1e6);
      for (let step = 0; step < steps; step++) {
        const gaps = [0, 1, 1000, (options.minDifference ?? 0) * 1000, span, draw(span), draw(span / 50)];
        micros += Math.round(pick(gaps));
        clock.set(micros / 1000);
        const id = pick(['x', 'y']);
        const op = draw(50) === 0 ? 'clear' : pick(OPS);
        const [got, rightly] = [await ours[op](id), await theirs[op](id)];
        // The original's wait includes the attempt that wouldLimitWithInfo did not make.
        const part = op === 'wouldLimitWithInfo' ? { millisecondsUntilAllowed: 0 } : {};
        if (!isEqual(got, rightly, part)) differences.push({ seed, step, op, options, got, rightly });
      }
    }
    expect(differences).toEqual([]);
  },
);

function isEqual(a: unknown, b: unknown, part: object): boolean {
  const told = (one: unknown): string =>
    JSON.stringify(typeof one === 'object' ? { ...one, ...part } : (one ?? null));
  return told(a) === told(b);
}
