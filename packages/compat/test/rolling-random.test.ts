/** Compares random calls of rateLimiterFactory with the rule in its readme, implemented again on a plain list. */
import { describe, expect, test } from 'vitest';
import { rateLimiterFactory, type RateLimiterFactoryOptions } from '../src/rolling-window.ts';
import { manualClock } from 'sluice/testing';
import { random } from 'sluice-test-support/random.ts';
import { STORES } from './stores.ts';

interface Limit {
  readonly interval: number;
  readonly maxInInterval: number;
  readonly minDifference: number;
}

type RollingMode = 'binary' | 'nary' | 'uniform';

/** Times are in microseconds, so that all sums are exact. */
function rule(limits: readonly Limit[], mode: RollingMode) {
  const log: { readonly at: number; readonly n: number }[] = [];
  const gap = Math.max(...limits.map(({ minDifference }) => minDifference)) * 1000;
  const left = ({ interval, maxInInterval }: Limit, now: number): number =>
    log.reduce((rest, { at, n }) => (at > now - interval * 1000 ? rest - n : rest), maxInInterval);
  const leastLeft = (now: number): number => Math.min(...limits.map((limit) => left(limit, now)));
  const last = (): number => log.at(-1)?.at ?? -Infinity;

  function fitting(n: number, now: number): number {
    if (mode === 'uniform') return n;
    if (now - last() < gap) return 0;
    return mode === 'nary' ? Math.max(0, Math.min(n, leastLeft(now))) : n <= leastLeft(now) ? n : 0;
  }

  return (n: number, now: number) => {
    const acknowledged = fitting(n, now);
    if (acknowledged > 0) log.push({ at: now, n: acknowledged });
    const ends = log.flatMap(({ at }) => limits.map(({ interval }) => at + interval * 1000));
    const instants = [now, last() + gap, ...ends].filter((at) => at >= now).sort((a, b) => a - b);
    const passes = instants.find((at) => at - last() >= gap && n <= leastLeft(at));
    return {
      acknowledged,
      actionsRecorded: acknowledged,
      actionsRemaining: mode === 'uniform' ? leastLeft(now) : Math.max(0, leastLeft(now)),
      wait: passes === undefined ? Infinity : passes - now,
    };
  };
}

describe.each([
  ['memory', 40],
  ['redis 7', 4],
])('on %s,', (store, seeds) => {
  test.each(['binary', 'nary', 'uniform'] as const)(
    'mode %s returns the same fields as the rule in the readme',
    async (mode) => {
      for (let seed = 1; seed <= seeds; seed++) {
        const draw = random(seed);
        const oneOf = <T>(list: readonly T[]): T => list[draw(list.length)];
        const limits = Array.from({ length: 1 + draw(3) }, () => ({
          interval: oneOf([10, 100, 1000, 60_000]),
          maxInInterval: 1 + draw(15),
          minDifference: oneOf([0, 0, 1, 5, 200]),
        }));
        let micros = 1_700_000_000_000_000 + seed;
        const clock = manualClock();
        const options: RateLimiterFactoryOptions = { limits, mode, store: STORES[store](clock) };
        const limiter = rateLimiterFactory(options);
        const expected = { x: rule(limits, mode), y: rule(limits, mode) };
        const span = limits[0].interval * 1000;
        for (let step = 0; step < 60; step++) {
          micros += oneOf([0, 0, 1, 1000, span / 10, span, draw(span)]);
          clock.set(micros / 1000);
          const [id, n] = [oneOf(['x', 'y'] as const), oneOf([1, 1, 1, 1 + draw(17)])];
          expect(await limiter(id, n), `seed ${seed}, step ${step}`).toEqual(expected[id](n, micros));
        }
      }
    },
  );
});
