/**
 * Hits on the channels of node:diagnostics_channel. Without a subscriber nothing is published, and nothing is made to be.
 */
import { channel } from 'node:diagnostics_channel';
import type { Decision, Hit, Millis } from '../engine/contract.ts';
import type { StoreFault } from '../internal/errors.ts';
import type { Observer, Outcome } from '../wrappers/metered.ts';

/** On 'sluice:decision'. The words are those of `Observer`. */
export interface DecisionMessage {
  /** What was asked. */
  readonly hit: Hit;
  /** What the caller got. */
  readonly decision: Decision;
  /** Whether something passed. */
  readonly outcome: Outcome;
  /** How long the store took; undefined: it answered at once. */
  readonly took: Millis | undefined;
}

/** On 'sluice:fault'. */
export interface FaultMessage {
  /** What was asked. */
  readonly hit: Hit;
  /** What the caller got. */
  readonly error: unknown;
  /** What kind of failure it was. */
  readonly fault: StoreFault;
  /** How long it took to fail; undefined: it failed at once. */
  readonly took: Millis | undefined;
}

const decisions = channel('sluice:decision');
const faults = channel('sluice:fault');

/** For `metered`. */
export const diagnostics: Required<Observer> = {
  decided(hit, decision, outcome, took) {
    if (decisions.hasSubscribers)
      decisions.publish({ hit, decision, outcome, took } satisfies DecisionMessage);
  },
  failed(hit, error, fault, took) {
    if (faults.hasSubscribers) faults.publish({ hit, error, fault, took } satisfies FaultMessage);
  },
};
