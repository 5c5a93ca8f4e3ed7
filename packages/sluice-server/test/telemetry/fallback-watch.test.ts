/** Tests the log lines about decisions that are made without the store. */
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { createLog } from '../../src/log.ts';
import { watchFallback } from '../../src/telemetry/fallback-watch.ts';

beforeEach(() => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
});

function watching() {
  const lines: string[] = [];
  const answers: Readonly<Record<string, string>> = { login: 'deny', search: 'allow' };
  const watch = watchFallback({
    log: createLog((line) => lines.push((JSON.parse(line) as { message: string }).message)),
    isStoreUp: () => true,
    onFailureOf: (limit) => answers[limit] ?? 'local',
  });
  return { lines, watch };
}

test('the log says what happens to requests during an outage, once for each kind of fallback', () => {
  const { lines, watch } = watching();
  for (const limit of ['login', 'api', 'search', 'login', 'api']) watch.decided(limit, 'fallback');
  expect(lines).toEqual([
    'the store does not answer: all requests are denied',
    'the store does not answer: this server decides alone, so servers that share the store may together exceed the limit',
    'the store does not answer: all requests are allowed',
  ]);
  watch.decided('login', 'store');
  expect(lines.slice(3)).toEqual(['enforcing shared limits again: the store answers']);
});

test('frequent short failures of the store are not all logged, but a lasting failure is logged', () => {
  const { lines, watch } = watching();
  for (let i = 0; i < 5; i++) {
    watch.decided('login', 'fallback');
    watch.decided('login', 'store');
  }
  expect(lines).toHaveLength(2);
  watch.decided('login', 'fallback');
  expect([lines.length, watch.isActive]).toEqual([2, true]);
  vi.advanceTimersByTime(10_000);
  watch.decided('login', 'fallback');
  expect(lines).toHaveLength(3);
});
