/** Compares random calls to the drop-in for Guava's RateLimiter with Guava's documented rules, computed in exact fractions. */
import { describe, expect, test } from 'vitest';
import { RateLimiter } from '../src/guava.ts';
import { manualClock } from 'sluice/testing';
import { random } from 'sluice-test-support/random.ts';
import { exactPace } from './guava-exact.ts';

describe('random calls', () => {
  const RATES = [1, 2, 3, 5, 7, 10, 33, 100, 999, 5000];

  for (const warmup of [undefined, 1, 400, 3000]) {
    test(`to a limiter with the warmup ${warmup} return the same waits as a calculation with exact fractions`, async () => {
      for (let seed = 1; seed <= 40; seed++) {
        const draw = random(seed);
        const clock = manualClock(draw(1e9) / 1000);
        let rate = RATES[draw(RATES.length)] ?? 1;
        const maxBurstSeconds = warmup === undefined ? draw(4) : undefined;
        const coldFactor = warmup === undefined ? undefined : 1 + draw(5);
        const options = { warmup, coldFactor, maxBurstSeconds };
        const limiter = RateLimiter.create(rate, { ...options, clock, sleep: () => undefined });
        const exact = exactPace(options, rate, Math.round(clock.now() * 1000));
        for (let step = 1; step <= 60; step++) {
          clock.advance([0, draw(1e6), draw(1e7), Math.floor(1e6 / rate)][draw(4)] / 1000);
          const now = Math.round(clock.now() * 1000);
          const permits = 1 + draw(draw(4) === 0 ? 50 : 3);
          if (draw(10) === 0) {
            rate = RATES[draw(RATES.length)] ?? 1;
            limiter.setRate(rate);
            exact.setRate(rate);
          } else if (draw(2) === 0) {
            const wait = limiter.reserve(permits) * 1000;
            expect(Math.abs(wait - exact.book(permits, now))).toBeLessThanOrEqual(step + 1e-6);
          } else {
            // The timeout is far enough from the wait that a rounding error of a microsecond per step makes no difference.
            const wait = exact.waitAt(now);
            const timeout = wait + (draw(2) === 0 ? -1 : 1) * (step + 1 + draw(1e5));
            const granted = await limiter.tryAcquire(permits, timeout / 1000);
            expect(granted).toBe(timeout >= wait || wait === 0);
            if (granted) exact.book(permits, now);
          }
        }
      }
    });
  }

  test('pass with a timeout equal to their wait, but not with a timeout that is a microsecond shorter', async () => {
    const draw = random(7);
    for (let i = 0; i < 500; i++) {
      const clock = manualClock(1_700_000_000_000 + draw(1e9) / 1000);
      const rate = 0.1 + draw(1e6) / 997;
      const open = () => RateLimiter.create(rate, { clock, sleep: () => undefined });
      const [limiter, twin] = [open(), open()];
      const permits = 1 + draw(20);
      const gap = draw(1000) / 1000;
      for (const one of [limiter, twin]) one.reserve(permits);
      clock.advance(gap);
      const wait = twin.reserve();
      if (wait === 0) continue;
      expect(await limiter.tryAcquire(1, wait - 0.001)).toBe(false);
      expect(await limiter.tryAcquire(1, wait)).toBe(true);
    }
  });
});
