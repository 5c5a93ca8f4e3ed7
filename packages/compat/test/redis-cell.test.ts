/**
 * Replays the recordings of redis-cell, and tests the errors for invalid arguments. All five integers are compared, up to the
 * first step that is limited although its retry time is 0. At that step, the original drops the last millisecond. Scenarios that
 * were recorded as quirks, and those whose interval is below a millisecond, are left out.
 */
import { describe, expect, test } from 'vitest';
import { CellError, type ClThrottleArgs, createClThrottle } from '../src/redis-cell.ts';
import { memory } from 'sluice';
import { manualClock } from 'sluice/testing';
import { STORES } from './stores.ts';
import { millis } from 'sluice-test-support/vectors/gcra.ts';
import { load } from 'sluice-test-support/vectors/vector.ts';

interface Step {
  readonly atNanos: number;
  readonly args: ClThrottleArgs;
  readonly expected: readonly number[] | { readonly error: string };
}

interface Scenario {
  readonly id: string;
  readonly quirk?: boolean;
  readonly baseNanos: string;
  readonly steps: readonly Step[];
}

const { scenarios } = load<{ scenarios: Scenario[] }>('redis-cell');

/** The time that replenishes one unit, in nanoseconds. */
const intervalOf = ({ args: [, , count, period] }: Step): number => (Number(period) * 1e9) / Number(count);

function why({ quirk, steps }: Scenario): string | undefined {
  if (quirk === true) return 'quirk';
  return steps.some((step) => intervalOf(step) < 1e6) ? 'an interval below 1 ms' : undefined;
}

function compared({ steps }: Scenario): readonly Step[] {
  const end = steps.findIndex(
    ({ expected }) => Array.isArray(expected) && expected[0] === 1 && expected[3] === 0,
  );
  return end < 0 ? steps : steps.slice(0, end);
}

const STORE_NAMES = ['memory', 'redis 7'] as const;
const run = scenarios.filter((scenario) => why(scenario) === undefined);

for (const name of STORE_NAMES) {
  const makeStore = STORES[name];
  describe(`on ${name},`, () => {
    for (const scenario of run) {
      const steps = compared(scenario);
      test(`${scenario.id} agrees with the recording at all ${steps.length} steps`, async () => {
        const clock = manualClock();
        const throttle = createClThrottle({ store: makeStore(clock) });
        const differences: unknown[] = [];
        for (const step of steps) {
          clock.set(millis(scenario.baseNanos, step.atNanos));
          const got = await throttle(...step.args);
          if (JSON.stringify(got) !== JSON.stringify(step.expected)) differences.push({ ...step, got });
        }
        expect(differences).toEqual([]);
      });
    }

    test('all sets of parameters share the state of a key, which is a single arrival time', async () => {
      const clock = manualClock(1_700_000_000_000);
      const throttle = createClThrottle({ store: makeStore(clock) });
      for (let burst = 0; burst < 50; burst++) await throttle('k', burst, 1, 1);
      // The 50 parameter sets used 50 seconds in total, which is all that the last of them allows.
      expect(await throttle('k', 49, 1, 1, 0)).toEqual([0, 50, 0, -1, 50]);
      expect(await throttle('k', 49, 2, 1, 0)).toEqual([1, 50, 0, 25, 50]);
    });

    test('a negative quantity refunds units, but never beyond the full burst', async () => {
      const throttle = createClThrottle({ store: makeStore(manualClock(1000)) });
      expect(await throttle('k', 3, 2, 1, 4)).toEqual([0, 4, 0, -1, 2]);
      expect(await throttle('k', 3, 2, 1, -1)).toEqual([0, 4, 1, -1, 2]);
      expect(await throttle('k', 3, 2, 1, -9)).toEqual([0, 4, 4, -1, 0]);
      expect(await throttle('k', 3, 2, 1, 5)).toEqual([1, 4, 4, -1, 0]);
    });

    test('nothing passes with a burst below 0 or a negative rate', async () => {
      const throttle = createClThrottle({ store: makeStore(manualClock(1000)) });
      expect(await throttle('k', -1, 1, 1)).toEqual([1, 0, 0, -1, 0]);
      expect(await throttle('k', -1, 1, 1, 0)).toEqual([0, 0, 0, -1, 0]);
      expect(await throttle('k', -5, 1, 1)).toEqual([1, -4, 0, -1, 0]);
      expect(await throttle('k', 4, -1, 1)).toEqual([1, 5, 0, -1, 0]);
    });
  });
}

test('34 scenarios with 1442 steps are replayed, and 9 scenarios are left out', () => {
  const steps = run.reduce((sum, scenario) => sum + compared(scenario).length, 0);
  expect([run.length, steps, scenarios.length - run.length]).toEqual([34, 1442, 9]);
});

test('clThrottle reports a wait below a millisecond as one second, not as 0', () => {
  const clock = manualClock();
  const throttle = createClThrottle({ clock });
  throttle('k', 0, 1, 10);
  clock.set(9999.5);
  expect(throttle('k', 0, 1, 10)).toEqual([1, 1, 0, 1, 1]);
  clock.set(10_000);
  expect(throttle('k', 0, 1, 10)).toEqual([0, 1, 0, -1, 10]);
});

test('two functions that createClThrottle returned share keys only if they use the same store', () => {
  const store = memory({ clock: manualClock() });
  createClThrottle({ store })('k', 1, 1, 1);
  expect(createClThrottle({ store })('k', 1, 1, 1)[2]).toBe(0);
  expect(createClThrottle()('k', 1, 1, 1)[2]).toBe(1);
});

test.each([
  [['k', 1, 1], 'expected key, max_burst, count, period and optionally quantity'],
  [['k', 1, 1, 1, 1, 1], 'expected key, max_burst, count, period and optionally quantity'],
  [['k', 'many', 1, 1], 'not a whole number: many'],
  [['k', 1, 1.5, 1], 'not a whole number: 1.5'],
  [['k', 1, 1, ''], 'not a whole number: '],
  [['k', 1, 1, 1, NaN], 'not a whole number: NaN'],
  [['k', 1, 0, 1], 'count and period must not be 0, and the rate must be at most 1e9 per second'],
  [['k', 1, 1, 0], 'count and period must not be 0, and the rate must be at most 1e9 per second'],
  [['k', 1, 2_000_000_000, 1], 'count and period must not be 0, and the rate must be at most 1e9 per second'],
])('clThrottle rejects %j with a message that explains why', (args, message) => {
  const throttle = createClThrottle();
  const call = (): unknown => throttle(...(args as unknown as ClThrottleArgs));
  expect(call).toThrow(CellError);
  expect(call).toThrow(`CL.THROTTLE: ${message}`);
});

test('clThrottle rejects a key that is not a string, and createClThrottle rejects an unknown option', () => {
  expect(() => createClThrottle()(7 as unknown as string, 1, 1, 1)).toThrow('ERR_KEY');
  expect(() => createClThrottle({ clok: 1 } as object)).toThrow('createClThrottle.clok');
});
