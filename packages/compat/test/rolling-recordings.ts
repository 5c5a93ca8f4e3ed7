/**
 * Replays the recordings of RisingStack's rate-limiter 1.0.4 and classdojo's rolling-rate-limiter 0.4.2 through the drop-in
 * API. At a step with `readme`, the original broke a promise of its readme, so the promised result is expected instead.
 */
import { rateLimiterFactory, InMemoryRateLimiter } from '../src/rolling-window.ts';
import { manualClock } from 'sluice/testing';
import type { MakeStore } from './stores.ts';
import {
  recordingBy,
  type Scenario as RisingStackScenario,
} from 'sluice-test-support/vectors/risingstack.ts';
import { agrees, Ledger, load, type Recording, sort } from 'sluice-test-support/vectors/vector.ts';

async function runExact(scenario: RisingStackScenario, makeStore: MakeStore): Promise<readonly string[]> {
  const clock = manualClock();
  const limiter = rateLimiterFactory({ ...scenario.options, store: makeStore(clock) });
  const ledger = new Ledger();
  for (const [index, step] of scenario.steps.entries()) {
    const { id, n, expected, readme = expected } = step;
    ledger.at(index, step);
    clock.set(step.atMicros / 1000);
    const got = await limiter(id, n);
    ledger.same('acknowledged', got.acknowledged, readme.acknowledged);
    ledger.same('actionsRecorded', got.actionsRecorded, readme.acknowledged);
    ledger.same('actionsRemaining', got.actionsRemaining, readme.actionsRemaining);
    ledger.same('wait', got.wait, readme.wait === null ? Infinity : Math.round(readme.wait * 1000));
  }
  return ledger.differences;
}

/** The number of acknowledged actions at each step. */
export async function acknowledgedIn(
  scenario: RisingStackScenario,
  makeStore: MakeStore,
): Promise<readonly number[]> {
  const clock = manualClock();
  const limiter = rateLimiterFactory({ ...scenario.options, store: makeStore(clock) });
  const acknowledged: number[] = [];
  for (const { id, n, atMicros } of scenario.steps) {
    clock.set(atMicros / 1000);
    acknowledged.push((await limiter(id, n)).acknowledged);
  }
  return acknowledged;
}

export const risingstack: Recording = recordingBy(runExact, acknowledgedIn);

interface ClassdojoScenario {
  readonly name: string;
  readonly implementation: string;
  readonly api: 'legacy' | 'modern';
  readonly options: {
    readonly interval: number;
    readonly maxInInterval: number;
    readonly minDifference?: number;
  };
  readonly steps: readonly {
    readonly atMicros: number;
    readonly id: string;
    readonly op: 'limit' | 'limitWithInfo' | 'wouldLimit' | 'wouldLimitWithInfo' | 'clear';
    readonly expected: unknown;
    readonly readme?: unknown;
  }[];
}

async function runClassdojo(scenario: ClassdojoScenario, makeStore: MakeStore): Promise<readonly string[]> {
  const clock = manualClock();
  const limiter = new InMemoryRateLimiter({ ...scenario.options, store: makeStore(clock) });
  const ledger = new Ledger();
  for (const [index, step] of scenario.steps.entries()) {
    ledger.at(index, step);
    clock.set(step.atMicros / 1000);
    const got = await limiter[step.op](step.id);
    ledger.same(step.op, JSON.stringify(got ?? null), JSON.stringify(step.readme ?? step.expected));
  }
  return ledger.differences;
}

export const classdojo: Recording = sort(
  load<{ scenarios: ClassdojoScenario[] }>('classdojo').scenarios,
  ({ name, implementation }) => `${name} ${implementation}`,
  ({ name, api }) => {
    if (api === 'legacy') return 'the API of version 0.1';
    return name.includes('clock-goes-backwards') ? 'the clock goes back' : undefined;
  },
  (scenario) =>
    agrees(`classdojo: ${scenario.name} of ${scenario.implementation}`, scenario.steps.length, (makeStore) =>
      runClassdojo(scenario, makeStore),
    ),
);
