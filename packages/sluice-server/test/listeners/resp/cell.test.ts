/**
 * Replays the recordings of redis-cell over a socket. Like the library's own test, it compares each scenario up to the first step
 * that is limited although its retry time is 0. It skips scenarios that are marked as quirks or have intervals below 1 ms.
 */
import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { memory } from 'sluice';
import { manualClock } from 'sluice/testing';
import { expect, onTestFinished, test } from 'vitest';
import { openResp } from '../../../src/listeners/resp/resp.ts';
import { opened } from '../listeners.ts';

interface Step {
  readonly atNanos: number;
  readonly args: readonly string[];
  readonly expected: readonly number[] | { readonly error: string };
}

interface Scenario {
  readonly id: string;
  readonly quirk?: boolean;
  readonly baseNanos: string;
  readonly steps: readonly Step[];
}

const file = new URL('../../../../sluice/test/vectors/data/redis-cell.json', import.meta.url);
const { scenarios } = JSON.parse(readFileSync(file, 'utf8')) as { scenarios: Scenario[] };

const isFine = ({ args: [, , count, period] }: Step): boolean =>
  (Number(period) * 1e9) / Number(count) >= 1e6;
const chosen = scenarios.filter(({ quirk, steps }) => quirk !== true && steps.every(isFine));

function compared({ steps }: Scenario): readonly Step[] {
  const end = steps.findIndex(
    ({ expected }) => Array.isArray(expected) && expected[0] === 1 && expected[3] === 0,
  );
  return end < 0 ? steps : steps.slice(0, end);
}

/** Milliseconds since 1970, as the nearest float64. The recordings use nanoseconds, which have too many digits for a number. */
function millis(baseNanos: string, atNanos: number): number {
  const nanos = BigInt(baseNanos) + BigInt(atNanos);
  return Number(nanos / 1_000_000n) + Number(nanos % 1_000_000n) / 1e6;
}

test.each(chosen)('$id gives the same replies as redis-cell at every step', async (scenario) => {
  const clock = manualClock();
  const { port } = await opened(openResp, 'limits: { api: 1/s }', { store: memory({ clock }) });
  const client = new Redis({ port });
  onTestFinished(() => client.disconnect());
  const differences: unknown[] = [];
  for (const step of compared(scenario)) {
    clock.set(millis(scenario.baseNanos, step.atNanos));
    const got = await client.call('CL.THROTTLE', ...step.args);
    if (JSON.stringify(got) !== JSON.stringify(step.expected)) differences.push({ ...step, got });
  }
  expect(differences).toEqual([]);
});

test('34 scenarios with 1442 steps are compared, and 9 scenarios are skipped', () => {
  const steps = chosen.reduce((sum, scenario) => sum + compared(scenario).length, 0);
  expect([chosen.length, steps, scenarios.length - chosen.length]).toEqual([34, 1442, 9]);
});
