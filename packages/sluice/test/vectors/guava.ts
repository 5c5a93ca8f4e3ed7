/**
 * Compares pacer, with a resolution of microseconds, with Guava's RateLimiter. Booleans must be equal, and waits may
 * differ by 1 µs for each step so far. The following calls are left out, because they belong to sluice-compat/guava: setRate and
 * everything after it, getRate, toString, and calls whose arguments are rejected.
 */
import { inMillis } from '../../src/internal/duration.ts';
import {
  createLimiter,
  type Decision,
  type Limiter,
  type MaybePromise,
  pacer,
  type Policy,
} from '../../src/index.ts';
import { manualClock } from '../../src/testing/index.ts';
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
  readonly kind: 'bursty' | 'warmingUp';
  readonly permitsPerSecond: number | 'Infinity';
  readonly maxBurstSeconds?: number;
  readonly warmupMs?: number;
  readonly coldFactor?: number;
  readonly startMicros: number;
  readonly needsInt64?: boolean;
  readonly steps: readonly Step[];
}

interface Step {
  readonly op: 'acquire' | 'tryAcquire' | 'setRate' | 'getRate' | 'toString';
  /** When the call was made, including the time that the caller slept before it. */
  readonly atMicros: number;
  readonly permits: number;
  readonly timeoutMs?: number;
  /** Missing if the arguments were rejected. */
  readonly waitedMicros?: number;
  readonly expected: unknown;
}

const BASE = 1_700_000_000_000;
const KEY = 'k';

async function run(scenario: Scenario, makeStore: MakeStore): Promise<readonly string[]> {
  const clock = manualClock(BASE + scenario.startMicros / 1000);
  const store = makeStore(clock);
  const limiter = createLimiter(policyOf(scenario), { store, name: scenario.id });
  const steps = compared(scenario);
  // Guava's limiter stores idle time from its construction on, but a key does so only from its first use. With a warm-up, both
  // start full, so this makes no difference.
  const idles = scenario.kind === 'bursty' && scenario.startMicros < steps[0].atMicros;
  if (idles) await (await limiter.reserve(KEY)).cancel();
  const ledger = new Ledger();
  for (const [index, step] of steps.entries()) {
    const { expected, permits: cost, timeoutMs = 0, waitedMicros = 0 } = step;
    const within = (index + 1) * MICROSECOND;
    ledger.at(index, step);
    clock.set(BASE + step.atMicros / 1000);
    if (step.op === 'acquire') {
      const { delay } = await limiter.reserve(KEY, { cost, maxDelay: Infinity });
      ledger.near('delay', delay, waitedMicros / 1000, within);
      continue;
    }
    const delay = await delayWithin(limiter, cost, Math.max(timeoutMs, 0));
    ledger.same('granted', delay < Infinity, expected);
    if (delay < Infinity) ledger.near('delay', delay, waitedMicros / 1000, within);
  }
  await store.close();
  return ledger.differences;
}

/** The delay, or Infinity if the call is denied. `reserve` does not accept a `maxDelay` of 0, so `take` is used in that case. */
async function delayWithin(
  limiter: Limiter<MaybePromise<Decision>>,
  cost: number,
  patience: number,
): Promise<number> {
  // Times are whole microseconds, so half a microsecond only tolerates the rounding of epoch milliseconds in a float64.
  if (patience > 0) return (await limiter.reserve(KEY, { cost, maxDelay: patience + MICROSECOND / 2 })).delay;
  return (await limiter.take(KEY, cost)).allowed ? 0 : Infinity;
}

function policyOf(scenario: Scenario): Policy {
  const limit = Number(scenario.permitsPerSecond);
  const { kind, maxBurstSeconds = 0, warmupMs, coldFactor } = scenario;
  const resolution = 'microseconds';
  return kind === 'bursty'
    ? pacer({ limit, per: 1000, maxBurst: limit * maxBurstSeconds, fresh: 'empty', resolution })
    : pacer({ limit, per: 1000, warmup: inMillis(warmupMs ?? 0), coldFactor, resolution });
}

function compared({ steps }: Scenario): readonly Step[] {
  const changed = steps.findIndex(({ op }) => op === 'setRate');
  return steps
    .slice(0, changed < 0 ? steps.length : changed)
    .filter(
      ({ op, waitedMicros }) => (op === 'acquire' || op === 'tryAcquire') && waitedMicros !== undefined,
    );
}

function why(scenario: Scenario): string | undefined {
  if (scenario.needsInt64) return 'needs 64-bit integers';
  if (scenario.permitsPerSecond === 'Infinity') return 'an infinite rate';
  if (scenario.kind === 'warmingUp' && Number(scenario.warmupMs) < MICROSECOND) return 'a warm-up below 1 µs';
  return compared(scenario).length === 0 ? 'starts with setRate' : undefined;
}

export const guava: Recording = sort(
  load<{ scenarios: Scenario[] }>('guava').scenarios,
  ({ id }) => id,
  why,
  (scenario) =>
    agrees(`guava: ${scenario.id}`, compared(scenario).length, (makeStore) => run(scenario, makeStore)),
);
