/**
 * Compares slidingLog with RisingStack's rate-limiter.
 *
 * If the original kept an exact log, these must agree: the acknowledged actions, the remaining actions, and, within 1 µs, the
 * wait until the same number of actions is allowed. If the original breaks a promise of its readme, the promised answer is
 * expected. 'binary' takes all or nothing, 'nary' takes what fits, and 'uniform' counts and acknowledges every action. With
 * 'uniform', the original's number of remaining actions can be negative. Sluice then shows 0.
 *
 * If the original kept a coarse grid, which admits too much, Sluice must acknowledge at most the limit in any interval.
 */
import { inMillis } from '../../src/internal/duration.ts';
import { createLimiter, minInterval, type Mode, type Policy, slidingLog } from '../../src/index.ts';
import { manualClock } from '../../src/testing/index.ts';
import type { MakeStore } from '../support/stores.ts';
import { limitsOf, recordingBy, type Scenario } from 'sluice-test-support/vectors/risingstack.ts';
import { Ledger, MICROSECOND, type Recording } from 'sluice-test-support/vectors/vector.ts';

const MODES = { binary: 'whole', nary: 'partial', uniform: 'always' } as const satisfies Record<string, Mode>;
const DEFAULT_BUCKETS = 10_000;

async function run(scenario: Scenario, makeStore: MakeStore): Promise<readonly string[]> {
  const mode = MODES[scenario.options.mode];
  const clock = manualClock();
  const store = makeStore(clock);
  const limiter = createLimiter(policiesOf(scenario), { store, name: scenario.name });
  const ledger = new Ledger();
  for (const [index, step] of scenario.steps.entries()) {
    const { id, n, expected, readme = expected } = step;
    ledger.at(index, step);
    clock.set(step.atMicros / 1000);
    const decision = await limiter.take(id, { cost: n, mode });
    const again = await limiter.peek(id, n);
    const left = decision.policies
      .filter(({ name }) => name.startsWith('log'))
      .map(({ remaining }) => remaining);
    ledger.same('acknowledged', decision.taken, readme.acknowledged);
    ledger.same('remaining', Math.min(...left), Math.max(0, readme.actionsRemaining));
    ledger.near('wait', again.retryAfter, readme.wait ?? Infinity, MICROSECOND);
  }
  await store.close();
  return ledger.differences;
}

async function acknowledgedIn(scenario: Scenario, makeStore: MakeStore): Promise<readonly number[]> {
  const mode = MODES[scenario.options.mode];
  const clock = manualClock();
  const store = makeStore(clock);
  const limiter = createLimiter(policiesOf(scenario), { store, name: scenario.name });
  const acknowledged: number[] = [];
  for (const { id, n, atMicros } of scenario.steps) {
    clock.set(atMicros / 1000);
    acknowledged.push((await limiter.take(id, { cost: n, mode })).taken);
  }
  await store.close();
  return acknowledged;
}

function policiesOf(scenario: Scenario): Record<string, Policy> {
  const policies: Record<string, Policy> = {};
  for (const [index, limit] of limitsOf(scenario).entries()) {
    const resolution = scenario.exactLog ? 'exact' : (limit.buckets ?? DEFAULT_BUCKETS);
    policies[`log ${index}`] = slidingLog({
      limit: limit.maxInInterval,
      per: inMillis(limit.interval),
      resolution,
    });
    if (limit.minDifference !== undefined)
      policies[`apart ${index}`] = minInterval({ every: inMillis(limit.minDifference) });
  }
  return policies;
}

export const risingstack: Recording = recordingBy(run, acknowledgedIn);
