/**
 * What was recorded from RisingStack's rate-limiter 1.0.4 and from classdojo's rolling-rate-limiter 0.4.2, through the
 * drop-in API. At a step with `readme` the original broke what its readme promises: the promised answer counts.
 */
import { rateLimiterFactory, InMemoryRateLimiter } from '../../src/compat/rolling-window.ts';
import { manualClock } from '../../src/testing/index.ts';
import type { MakeStore } from '../stores.ts';
import { agrees, Ledger, load, type Recording, sort, type Vector } from '../vectors/vector.ts';

interface Limit {
  readonly interval: number;
  readonly maxInInterval: number;
  readonly minDifference?: number;
  readonly buckets?: number;
}

interface Answer {
  readonly acknowledged: number;
  readonly actionsRemaining: number;
  /** Milliseconds, where the API has microseconds; null: never. */
  readonly wait: number | null;
}

export interface RisingStackScenario {
  readonly name: string;
  readonly exactLog: boolean;
  readonly options: { readonly mode: 'binary' | 'nary' | 'uniform' } & (
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

interface Acknowledged {
  readonly id: string;
  readonly atMicros: number;
  readonly n: number;
}

/** What we acknowledged, and how much the original did. */
export async function acknowledgedIn(
  scenario: RisingStackScenario,
  makeStore: MakeStore,
): Promise<{ readonly ours: readonly Acknowledged[]; readonly theirs: number }> {
  const clock = manualClock();
  const limiter = rateLimiterFactory({ ...scenario.options, store: makeStore(clock) });
  const ours: Acknowledged[] = [];
  let theirs = 0;
  for (const { id, n, atMicros, expected } of scenario.steps) {
    clock.set(atMicros / 1000);
    ours.push({ id, atMicros, n: (await limiter(id, n)).acknowledged });
    theirs += expected.acknowledged;
  }
  return { ours, theirs };
}

async function runCoarse(scenario: RisingStackScenario, makeStore: MakeStore): Promise<readonly string[]> {
  const { options, steps } = scenario;
  const { ours } = await acknowledgedIn(scenario, makeStore);
  const ledger = new Ledger();
  for (const [index, { id, atMicros }] of ours.entries()) {
    ledger.at(index, steps[index]);
    for (const { interval, maxInInterval } of 'limits' in options
      ? Object.values(options.limits)
      : [options]) {
      const sum = ours
        .slice(0, index + 1)
        .filter((one) => one.id === id && one.atMicros > atMicros - interval * 1000)
        .reduce((total, one) => total + one.n, 0);
      ledger.same(`at most ${maxInInterval} in ${interval} ms`, sum <= maxInInterval, true);
    }
  }
  return ledger.differences;
}

export const risingstackScenarios: readonly RisingStackScenario[] = load<{
  scenarios: RisingStackScenario[];
}>('risingstack').scenarios;

export const isCoarse = ({ exactLog, options }: RisingStackScenario): boolean =>
  !exactLog && options.mode !== 'uniform';

export const risingstack: Recording = sort(
  risingstackScenarios,
  ({ name }) => name,
  (scenario) => (scenario.exactLog || isCoarse(scenario) ? undefined : 'counts all on a coarse grid'),
  (scenario): Vector => {
    const { name, exactLog, steps } = scenario;
    if (exactLog)
      return agrees(`risingstack: ${name}`, steps.length, (makeStore) => runExact(scenario, makeStore));
    return {
      claim: `risingstack: ${name} acknowledges at most the limit in any interval, at all ${steps.length} steps`,
      steps: steps.length,
      run: (makeStore) => runCoarse(scenario, makeStore),
    };
  },
);

interface ClassdojoScenario {
  readonly name: string;
  readonly implementation: string;
  readonly api: 'legacy' | 'modern';
  readonly options: Limit;
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
