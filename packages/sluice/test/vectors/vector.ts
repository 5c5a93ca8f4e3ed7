/** What the runners share: a recording as a claim that can be checked, and the ledger of where an answer differs. */
import { readFileSync } from 'node:fs';
import type { MakeStore } from '../support/stores.ts';

/** One recorded scenario, ready to run. */
export interface Vector {
  readonly claim: string;
  /** Steps that are run and compared. */
  readonly steps: number;
  /** One line per difference: none, if Sluice answers as recorded. */
  readonly run: (makeStore: MakeStore) => Promise<readonly string[]>;
}

/** All of a file: what runs, and by reason what does not. */
export interface Recording {
  readonly vectors: readonly Vector[];
  readonly leftOut: Readonly<Record<string, readonly string[]>>;
}

export const MICROSECOND = 0.001;

export function load<T>(origin: string): T {
  return JSON.parse(readFileSync(new URL(`data/${origin}.json`, import.meta.url), 'utf8')) as T;
}

/** Sorts scenarios into those that run and, by reason, those that do not. `why` says undefined for what runs. */
export function sort<S>(
  scenarios: readonly S[],
  nameOf: (scenario: S) => string,
  why: (scenario: S) => string | undefined,
  vectorOf: (scenario: S) => Vector,
): Recording {
  const vectors: Vector[] = [];
  const leftOut: Record<string, string[]> = {};
  for (const scenario of scenarios) {
    const reason = why(scenario);
    if (reason === undefined) vectors.push(vectorOf(scenario));
    else leftOut[reason] = [...(leftOut[reason] ?? []), nameOf(scenario)];
  }
  return { vectors, leftOut };
}

export function agrees(name: string, steps: number, run: Vector['run']): Vector {
  return { claim: `${name} agrees at all ${steps} steps`, steps, run };
}

export class Ledger {
  readonly differences: string[] = [];
  private step = '';

  at(index: number, step: unknown): void {
    this.step = `step ${index} ${JSON.stringify(step).slice(0, 200)}`;
  }

  same(what: string, got: unknown, recorded: unknown): void {
    if (!Object.is(got, recorded)) this.note(what, got, recorded);
  }

  near(what: string, got: number, recorded: number, within: number): void {
    if (got === recorded || Math.abs(got - recorded) <= within) return;
    this.note(what, got, recorded);
  }

  private note(what: string, got: unknown, recorded: unknown): void {
    this.differences.push(`${what} is ${String(got)}, recorded ${String(recorded)}, at ${this.step}`);
  }
}
