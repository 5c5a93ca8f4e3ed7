/**
 * Compares gcra with governor: the outcome, the remaining units, and the wait within 1 µs.
 * It leaves out counting and sweeping keys ('len', 'retainRecent'), which only the store does in Sluice, and denials whose wait
 * is at most 2 µs.
 */
import { createLimiter } from '../../src/index.ts';
import { manualClock } from '../../src/testing/index.ts';
import { policyOf } from './gcra.ts';
import { compareRemaining, FINEST_INTERVAL_NS, FINEST_STEP_NS } from 'sluice-test-support/vectors/gcra.ts';
import type { MakeStore } from '../support/stores.ts';
import {
  agrees,
  Ledger,
  load,
  MICROSECOND,
  type Recording,
  sort,
} from 'sluice-test-support/vectors/vector.ts';

interface Scenario {
  readonly id: string;
  readonly quota: { readonly replenishIntervalNs: number; readonly burstSize: number };
  readonly steps: readonly (Check | Housekeeping)[];
}

interface Check {
  readonly op: 'check';
  readonly atNanos: number;
  readonly key: string;
  readonly n: number;
  readonly expected:
    | { readonly outcome: 'allowed'; readonly remaining: number }
    | { readonly outcome: 'denied'; readonly waitNs: number }
    | { readonly outcome: 'insufficientCapacity'; readonly capacity: number };
}

interface Housekeeping {
  readonly op: 'len' | 'retainRecent';
}

/** The original's time starts at 0; Sluice's time counts from 1970. */
const BASE = 1_700_000_000_000;

async function run(scenario: Scenario, makeStore: MakeStore): Promise<readonly string[]> {
  const cells = { interval: scenario.quota.replenishIntervalNs / 1e6, burst: scenario.quota.burstSize };
  const clock = manualClock(BASE);
  const store = makeStore(clock);
  const limiter = createLimiter(policyOf(cells), { store, name: scenario.id });
  const ledger = new Ledger();
  for (const [index, step] of compared(scenario).entries()) {
    ledger.at(index, step);
    clock.set(BASE + step.atNanos / 1e6);
    const { expected } = step;
    const decision = await limiter.take(step.key, step.n);
    ledger.same('allowed', decision.allowed, expected.outcome === 'allowed');
    if (expected.outcome === 'allowed') {
      compareRemaining(ledger, cells, decision.remaining, expected.remaining, decision.resetAfter);
      ledger.same('retryAfter', decision.retryAfter, 0);
    } else if (expected.outcome === 'denied') {
      ledger.near('retryAfter', decision.retryAfter, expected.waitNs / 1e6, MICROSECOND);
    } else {
      ledger.same('limit', decision.limit, expected.capacity);
      ledger.same('retryAfter', decision.retryAfter, Infinity);
    }
  }
  await store.close();
  return ledger.differences;
}

/** The checks that are compared. Denials with a very short wait are skipped, which is safe because a denial changes nothing. */
function compared({ steps }: Scenario): readonly Check[] {
  return steps
    .filter((step) => step.op === 'check')
    .filter(({ expected }) => expected.outcome !== 'denied' || expected.waitNs > FINEST_STEP_NS);
}

export const governor: Recording = sort(
  load<{ scenarios: Scenario[] }>('governor').scenarios,
  ({ id }) => id,
  ({ quota }) => (quota.replenishIntervalNs < FINEST_INTERVAL_NS ? 'an interval below 0.1 ms' : undefined),
  (scenario) =>
    agrees(`governor: ${scenario.id}`, compared(scenario).length, (makeStore) => run(scenario, makeStore)),
);
