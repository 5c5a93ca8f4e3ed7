/**
 * Compares gcra with throttled: whether the call is limited, the remaining units, and within 1 µs the waits until a retry and
 * until the reset. Left out: remaining units and reset for a quantity above the limit (a quirk of throttled), everything after a
 * negative quantity, denials whose wait is at most 2 µs, and a clock that goes back by more than ten seconds plus one window.
 */
import { createLimiter, type Decision, type Limiter, type MaybePromise } from '../../src/index.ts';
import { manualClock } from '../../src/testing/index.ts';
import { policyOf } from './gcra.ts';
import {
  type Cells,
  compareRemaining,
  FINEST_INTERVAL_NS,
  FINEST_STEP_NS,
  millis,
} from 'sluice-test-support/vectors/gcra.ts';
import type { MakeStore } from '../support/stores.ts';
import {
  agrees,
  Ledger,
  load,
  MICROSECOND,
  type Recording,
  sort,
} from 'sluice-test-support/vectors/vector.ts';

interface Quota {
  readonly emissionIntervalNs: number;
  readonly maxBurst: number;
}

interface Step {
  readonly atNanos: number;
  readonly key: string;
  /** 0 is a peek. */
  readonly quantity: number;
  /** The quota of another limiter on the same state; default: the scenario's. */
  readonly quota?: Quota;
  readonly expected: {
    readonly limited: boolean;
    readonly limit: number;
    readonly remaining: number;
    readonly resetAfterNs: number;
    /** −1 if the call is not limited, or if it can never be allowed. */
    readonly retryAfterNs: number;
  };
}

interface Scenario {
  readonly id: string;
  readonly quota: Quota;
  /** 0 if the number of keys is not bounded. */
  readonly maxKeys: number;
  readonly baseNanos: string;
  readonly steps: readonly Step[];
}

async function run(scenario: Scenario, makeStore: MakeStore): Promise<readonly string[]> {
  const clock = manualClock();
  const store = makeStore(clock);
  const limiters = new Map<string, Limiter<MaybePromise<Decision>>>();
  const ledger = new Ledger();
  for (const [index, step] of compared(scenario).entries()) {
    const { expected, key, quantity } = step;
    const cells = cellsOf(step.quota ?? scenario.quota);
    const id = JSON.stringify(cells);
    const limiter = limiters.get(id) ?? createLimiter(policyOf(cells), { store, name: scenario.id });
    limiters.set(id, limiter);
    ledger.at(index, step);
    clock.set(millis(scenario.baseNanos, step.atNanos));
    const decision = await (quantity === 0 ? limiter.peek(key, 0) : limiter.take(key, quantity));
    ledger.same('limited', !decision.allowed, expected.limited);
    ledger.same('limit', decision.limit, expected.limit);
    if (quantity > cells.burst) {
      ledger.same('retryAfter', decision.retryAfter, Infinity);
      continue;
    }
    compareRemaining(ledger, cells, decision.remaining, expected.remaining, expected.resetAfterNs / 1e6);
    ledger.near('resetAfter', decision.resetAfter, expected.resetAfterNs / 1e6, MICROSECOND);
    ledger.near(
      'retryAfter',
      decision.retryAfter,
      expected.limited ? expected.retryAfterNs / 1e6 : 0,
      MICROSECOND,
    );
  }
  await store.close();
  return ledger.differences;
}

const cellsOf = (quota: Quota): Cells => ({
  interval: quota.emissionIntervalNs / 1e6,
  burst: quota.maxBurst + 1,
});

/** The steps that are compared. Denials with a very short wait are skipped, which is safe because a denial changes nothing. */
function compared({ steps }: Scenario): readonly Step[] {
  const negative = steps.findIndex(({ quantity }) => quantity < 0);
  return steps
    .slice(0, negative < 0 ? steps.length : negative)
    .filter(({ expected }) => expected.retryAfterNs < 0 || expected.retryAfterNs > FINEST_STEP_NS)
    .filter(({ atNanos }) => atNanos > FAR_BACK_NS);
}

/** Skips a peek 100 s in the past with a window of 2 s: throttled denies for 112 s, while Sluice treats the key as fresh. */
const FAR_BACK_NS = -10e9;

function why({ quota, maxKeys }: Scenario): string | undefined {
  if (quota.emissionIntervalNs < FINEST_INTERVAL_NS) return 'an interval below 0.1 ms';
  return maxKeys > 0
    ? 'evicts the least recently used key, where Sluice evicts one that is almost fully replenished'
    : undefined;
}

export const throttled: Recording = sort(
  load<{ scenarios: Scenario[] }>('throttled').scenarios,
  ({ id }) => id,
  why,
  (scenario) =>
    agrees(`throttled: ${scenario.id}`, compared(scenario).length, (makeStore) => run(scenario, makeStore)),
);
