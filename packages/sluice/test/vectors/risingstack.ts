/**
 * RisingStack's rate-limiter against slidingLog.
 *
 * Compared, where the original kept an exact log: what is acknowledged, what remains, and within 1 µs the wait until the
 * same number would pass (again). Where the original breaks what its readme promises, the promised answer counts. 'binary'
 * takes all or nothing, 'nary' what fits; 'uniform' counts and acknowledges every action, so that less than nothing remains:
 * here, nothing.
 * Where it kept a coarse grid, which admits too much: that no more than the limit is acknowledged in any interval.
 */
import { inMillis } from '../../src/internal/duration.ts';
import { createLimiter, minInterval, type Mode, type Policy, slidingLog } from '../../src/index.ts';
import { manualClock } from '../../src/testing/index.ts';
import type { MakeStore } from '../support/stores.ts';
import { agrees, Ledger, load, MICROSECOND, type Recording, sort, type Vector } from './vector.ts';

interface Limit {
  /** Milliseconds. */
  readonly interval: number;
  readonly maxInInterval: number;
  readonly minDifference?: number;
  readonly buckets?: number;
}

interface Answer {
  readonly acknowledged: number;
  readonly actionsRemaining: number;
  /** Milliseconds; null: never. */
  readonly wait: number | null;
}

/** As recorded. */
export interface Scenario {
  readonly name: string;
  readonly exactLog: boolean;
  readonly options: { readonly mode: keyof typeof MODES } & (
    | Limit
    | { readonly limits: readonly Limit[] | Readonly<Record<string, Limit>> }
  );
  readonly steps: readonly {
    readonly atMicros: number;
    readonly id: string;
    readonly n: number;
    readonly expected: Answer;
    readonly readme?: Answer;
  }[];
}

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

function limitsOf({ options }: Scenario): readonly Limit[] {
  return 'limits' in options ? Object.values(options.limits) : [options];
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

/** Where more than the limit was acknowledged in an interval. */
function tooMany(scenario: Scenario, acknowledged: readonly number[]): readonly string[] {
  const { steps } = scenario;
  const ledger = new Ledger();
  for (const [index, step] of steps.entries()) {
    ledger.at(index, step);
    for (const { interval, maxInInterval } of limitsOf(scenario)) {
      let sum = 0;
      for (let i = 0; i <= index; i++)
        if (steps[i].id === step.id && steps[i].atMicros > step.atMicros - interval * 1000)
          sum += acknowledged[i];
      ledger.same(`at most ${maxInInterval} in ${interval} ms`, sum <= maxInInterval, true);
    }
  }
  return ledger.differences;
}

export const isCoarse = ({ exactLog, options }: Scenario): boolean => !exactLog && options.mode !== 'uniform';

export const scenarios: readonly Scenario[] = load<{ scenarios: Scenario[] }>('risingstack').scenarios;

/** By whichever API: how an exact scenario runs, and what is acknowledged at each step of a coarse one. */
export function recordingBy(
  runExact: (scenario: Scenario, makeStore: MakeStore) => Promise<readonly string[]>,
  acknowledged: (scenario: Scenario, makeStore: MakeStore) => Promise<readonly number[]>,
): Recording {
  return sort(
    scenarios,
    ({ name }) => name,
    (scenario) => (scenario.exactLog || isCoarse(scenario) ? undefined : 'counts all on a coarse grid'),
    (scenario): Vector => {
      const { name, exactLog, steps } = scenario;
      if (exactLog)
        return agrees(`risingstack: ${name}`, steps.length, (makeStore) => runExact(scenario, makeStore));
      return {
        claim: `risingstack: ${name} acknowledges at most the limit in any interval, at all ${steps.length} steps`,
        steps: steps.length,
        run: async (makeStore) => tooMany(scenario, await acknowledged(scenario, makeStore)),
      };
    },
  );
}

export const risingstack: Recording = recordingBy(run, acknowledgedIn);
