/** Tests the counts of the last hour with fake timers, because the periods are too long to wait for. */
import type { Decision } from 'sluice';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { createHistory, type History, type HistoryOptions } from '../../src/telemetry/metrics/history.ts';
import { createMetrics } from '../../src/telemetry/metrics/metrics.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const DECISION: Decision = {
  allowed: true,
  taken: 1,
  limit: 10,
  remaining: 9,
  retryAfter: 0,
  resetAfter: 0,
  policy: 'default',
  policies: [],
  source: 'store',
};

function open(options: Partial<HistoryOptions> = {}) {
  const metrics = createMetrics();
  const history: History = createHistory({ metrics, ...options });
  onTestFinished(() => history.close());
  return {
    history,
    past: () => history.past(metrics.totals().limits),
    take: (limit: string, times: number, allowed = true, isLenient = false): void => {
      for (let i = 0; i < times; i++) metrics.decided(limit, 'key', { ...DECISION, allowed }, isLenient);
    },
  };
}

const SHADOWED = [false, true] as const;

test('the history counts each period separately, and the current period up to now', () => {
  const { past, take } = open();
  take('api', 3);
  take('api', 1, false);
  vi.advanceTimersByTime(10_000);
  take('login', 2);
  vi.advanceTimersByTime(20_000);
  take('api', 7);
  vi.advanceTimersByTime(4000);
  expect(past()).toEqual({
    at: Date.now(),
    every: 10_000,
    span: 4000,
    all: { allowed: [3, 2, 0, 7], denied: [1, 0, 0, 0], shadowed: [0, 0, 0, 0] },
    limits: [
      { name: 'api', allowed: [3, 0, 0, 7], denied: [1, 0, 0, 0], shadowed: [0, 0, 0, 0] },
      { name: 'login', allowed: [0, 2, 0, 0], denied: [0, 0, 0, 0], shadowed: [0, 0, 0, 0] },
    ],
  });
});

test('the history counts takes that only shadow mode let pass, even for a limit that has no other takes', () => {
  const { past, take } = open();
  take('api', 4, ...SHADOWED);
  vi.advanceTimersByTime(10_000);
  take('api', 2, ...SHADOWED);
  const series = { allowed: [0, 0], denied: [0, 0], shadowed: [4, 2] };
  expect(past()).toMatchObject({ all: series, limits: [{ name: 'api', ...series }] });
});

test('the history keeps one hour, and discards older periods', () => {
  const { past, take } = open();
  take('api', 5);
  vi.advanceTimersByTime(10_000);
  take('api', 6);
  vi.advanceTimersByTime(3_590_000);
  expect(past().all.allowed).toHaveLength(361);
  expect(past().all.allowed.slice(0, 3)).toEqual([5, 6, 0]);
  vi.advanceTimersByTime(10_000);
  expect(past().all.allowed.slice(0, 3)).toEqual([6, 0, 0]);
  vi.advanceTimersByTime(10_000);
  expect(past().all.allowed.every((count) => count === 0)).toBe(true);
});

test('the history uses at most 225 kB for 5000 limits, and keeps the busiest of them', () => {
  const { history, past, take } = open();
  for (let i = 0; i < 5000; i++) take(`limit-${i}`, 1);
  vi.advanceTimersByTime(10_000);
  expect(history.bytes()).toBeLessThan(225_000);
  expect(past().limits).toHaveLength(50);
  // The metrics count the limits above their own maximum together.
  expect(past().all.allowed[0]).toBe(5000);
  for (let round = 0; round < 6; round++) {
    take('limit-1999', 5);
    vi.advanceTimersByTime(10_000);
  }
  expect(history.bytes()).toBeLessThan(225_000);
  expect(past().limits.map(({ name }) => name)).toContain('limit-1999');
  expect(past().limits).toHaveLength(50);
});

test('a limit keeps its history if a slightly busier limit appears', () => {
  const { past, take } = open({ maxLimits: 1 });
  take('first', 10);
  vi.advanceTimersByTime(10_000);
  take('second', 15);
  vi.advanceTimersByTime(10_000);
  expect(past().limits).toMatchObject([{ name: 'first', allowed: [10, 0, 0] }]);
  take('second', 30);
  vi.advanceTimersByTime(10_000);
  expect(past().limits).toMatchObject([{ name: 'second', allowed: [0, 0, 30, 0] }]);
});
