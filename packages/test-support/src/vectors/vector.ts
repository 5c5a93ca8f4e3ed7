/** Turns recordings of other limiters into claims that a test can check, and lists the differences. */
import { readFileSync } from 'node:fs';
import type { MakeStore } from '../stores.ts';

/** One recorded scenario, ready to run. */
export interface Vector {
  readonly claim: string;
  /** Steps that are run and compared. */
  readonly steps: number;
  /** Runs the scenario. Resolves with one line per difference, so the list is empty if Sluice decides as recorded. */
  readonly run: (makeStore: MakeStore) => Promise<readonly string[]>;
}

/** The scenarios of a file: those that run, and those that are skipped, by reason. */
export interface Recording {
  readonly vectors: readonly Vector[];
  readonly leftOut: Readonly<Record<string, readonly string[]>>;
}

export const MICROSECOND = 0.001;

const DATA = new URL('../../../sluice/test/vectors/data/', import.meta.url);

export function load<T>(origin: string): T {
  return JSON.parse(readFileSync(new URL(`${origin}.json`, DATA), 'utf8')) as T;
}

/** Separates scenarios that run from those that are skipped. `why` returns the reason to skip a scenario. */
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
  return { claim: `${name} agrees with the recording at all ${steps} steps`, steps, run };
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
    this.differences.push(`${what} is ${String(got)} instead of ${String(recorded)}, at ${this.step}`);
  }
}
