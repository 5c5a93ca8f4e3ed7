/** Loads RisingStack's recordings, and checks what must hold for every API that runs them. */
import { agrees, Ledger, load, type Recording, sort, type Vector } from './vector.ts';
import type { MakeStore } from '../stores.ts';

interface Limit {
  /** Length of the interval, in milliseconds. */
  readonly interval: number;
  readonly maxInInterval: number;
  readonly minDifference?: number;
  readonly buckets?: number;
}

interface Answer {
  readonly acknowledged: number;
  readonly actionsRemaining: number;
  /** Wait in milliseconds. Null means that a retry never succeeds. */
  readonly wait: number | null;
}

/** A scenario of the recording. */
export interface Scenario {
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

export function limitsOf({ options }: Scenario): readonly Limit[] {
  return 'limits' in options ? Object.values(options.limits) : [options];
}

/** The steps after which more requests than the limit were acknowledged within an interval. */
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

/**
 * A recording to be run by one API. `runExact` runs an exact scenario. `acknowledged` runs a coarse scenario and returns the
 * number of requests acknowledged at each step.
 */
export function recordingBy(
  runExact: (scenario: Scenario, makeStore: MakeStore) => Promise<readonly string[]>,
  acknowledged: (scenario: Scenario, makeStore: MakeStore) => Promise<readonly number[]>,
): Recording {
  return sort(
    scenarios,
    ({ name }) => name,
    (scenario) =>
      scenario.exactLog || isCoarse(scenario)
        ? undefined
        : "not compared: mode 'uniform' counts every action, and the grid is coarse",
    (scenario): Vector => {
      const { name, exactLog, steps } = scenario;
      if (exactLog)
        return agrees(`risingstack: ${name}`, steps.length, (makeStore) => runExact(scenario, makeStore));
      return {
        claim: `risingstack: ${name}: never acknowledges more requests than the limit in any interval (${steps.length} steps)`,
        steps: steps.length,
        run: async (makeStore) => tooMany(scenario, await acknowledged(scenario, makeStore)),
      };
    },
  );
}
