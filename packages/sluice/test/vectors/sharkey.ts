/**
 * Compares leakyBucket with Sharkey's bucket limits, in every field of the answer. The fields about resets are derived as in
 * the service: `reset` is the wait for one more unit, and 0 while some remain. Left out, because they belong to
 * sluice-compat/sharkey: limits that the service rejects or skips, limits in the legacy form, and factors by user.
 */
import { createLimiter, leakyBucket } from '../../src/index.ts';
import { manualClock } from '../../src/testing/index.ts';
import type { MakeStore } from '../support/stores.ts';
import { agrees, Ledger, load, type Recording, sort } from 'sluice-test-support/vectors/vector.ts';

interface BucketLimit {
  readonly key: string;
  readonly type?: string;
  readonly size: number;
  readonly dripRate?: number | null;
  readonly dripSize?: number | null;
}

interface Scenario {
  readonly id: string;
  readonly name: string;
  readonly env?: string;
  readonly baseMs: number;
  readonly policies: { readonly default: number; readonly users?: unknown };
  readonly limits: readonly BucketLimit[];
  readonly steps: readonly Step[];
}

interface Step {
  readonly atMs: number;
  readonly actor: string;
  /** Index in `limits`; default 0. */
  readonly limit?: number;
  /** Missing if the call is rejected. */
  readonly expect?: {
    readonly blocked: boolean;
    readonly remaining: number;
    readonly resetSec: number;
    readonly resetMs: number;
    readonly fullResetSec: number;
    readonly fullResetMs: number;
  };
}

/** A higher factor is a tighter limit. Everything is rounded up. */
function bucketOf({ size, dripRate, dripSize }: BucketLimit, factor: number) {
  return {
    size: Math.max(Math.ceil(size / factor), 1),
    dripRate: Math.ceil((dripRate ?? 1000) * factor),
    dripSize: Math.ceil(dripSize ?? 1),
  };
}

async function run(scenario: Scenario, makeStore: MakeStore): Promise<readonly string[]> {
  const clock = manualClock();
  const store = makeStore(clock);
  const limits = scenario.limits.map((limit) => {
    const bucket = bucketOf(limit, scenario.policies.default);
    const limiter = createLimiter(leakyBucket(bucket), { store, name: `${scenario.id}/${limit.key}` });
    return { dripRate: bucket.dripRate, limiter };
  });
  const ledger = new Ledger();
  for (const [index, { atMs, actor, limit = 0, expect }] of scenario.steps.entries()) {
    const { dripRate, limiter } = limits[limit];
    ledger.at(index, { atMs, actor, limit });
    clock.set(scenario.baseMs + atMs);
    const { allowed, remaining, resetAfter } = await limiter.take(actor);
    const next = await limiter.peek(actor);
    const resetMs = remaining === 0 ? next.retryAfter : 0;
    // Sharkey counts the remaining drips as if the last drip had fallen at this instant.
    const fullResetMs = dripRate * Math.ceil(resetAfter / dripRate);
    ledger.same('blocked', !allowed, expect?.blocked);
    ledger.same('remaining', remaining, expect?.remaining);
    ledger.same('resetMs', resetMs, expect?.resetMs);
    ledger.same('resetSec', Math.ceil(resetMs / 1000), expect?.resetSec);
    ledger.same('fullResetMs', fullResetMs, expect?.fullResetMs);
    ledger.same('fullResetSec', Math.ceil(fullResetMs / 1000), expect?.fullResetSec);
  }
  await store.close();
  return ledger.differences;
}

function why({ env, limits, policies, steps }: Scenario): string | undefined {
  if (env !== undefined || policies.default === 0 || steps.some(({ expect }) => expect === undefined)) {
    return 'rejected or skipped before it is counted';
  }
  if (policies.users !== undefined) return 'factors by user';
  return limits.every(({ type }) => type === 'bucket') ? undefined : 'limits in the legacy form';
}

export const sharkey: Recording = sort(
  load<{ scenarios: Scenario[] }>('sharkey').scenarios,
  ({ id }) => id,
  why,
  (scenario) =>
    agrees(`sharkey: ${scenario.id} ${scenario.name}`, scenario.steps.length, (makeStore) =>
      run(scenario, makeStore),
    ),
);
