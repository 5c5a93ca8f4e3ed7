/** Hits that wait for the answer of another process. The `ipc` and `remote` stores share this module. */
import type { Decision, Hit } from '../../engine/contract.ts';
import { futureInstant } from '../../engine/decide.ts';
import { StoreError } from '../../internal/errors.ts';
import { decisionFrom, isDecisionLine } from './wire.ts';

export interface Pending {
  readonly hit: Hit;
  /** The text of the hit's plan. */
  readonly plan: string;
  /** The hits that must be decided together with this one, in one step. */
  readonly group: readonly Hit[] | undefined;
  /** Called with undefined if the group could not be decided in one step. */
  readonly resolve: (decision: Decision | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** Creates the error for a hit whose answer was an error message instead of a decision. */
export type FailureOf = (message: string, hit: Hit) => Error;

/** The maximum number of hits in a line. */
const BATCH = 256;

/** Divides hits into lines. Each group of hits gets a separate line. */
export function batchesOf<P extends Pending>(hits: readonly P[]): P[][] {
  const batches: P[][] = [];
  for (const pending of hits) {
    const last = batches.at(-1);
    if (last === undefined || last[0].group !== pending.group || (last.length >= BATCH && !pending.group))
      batches.push([pending]);
    else last.push(pending);
  }
  return batches;
}

/** Resolves or rejects each hit of a line with its answer. */
export function settle(
  batch: readonly Pending[],
  answers: readonly unknown[],
  toError: FailureOf = failureOf,
): void {
  for (const [i, { hit, group, resolve, reject }] of batch.entries()) {
    const answer = answers[i];
    if (isDecisionLine(answer, hit)) resolve(decisionFrom(answer, hit));
    else if (group !== undefined && answers.length === 0) resolve(undefined);
    else reject(toError(typeof answer === 'string' ? answer : 'no answer', hit));
  }
}

/** Creates the error for a hit that the serving process answered with this error message. */
export function failureOf(message: string, { of }: Hit): Error {
  return message.endsWith('[ERR_INSTANT]') ? futureInstant(of?.at) : new StoreError(message);
}

export function refuse(batch: readonly Pending[], error: unknown): void {
  for (const { reject } of batch) reject(error);
}
