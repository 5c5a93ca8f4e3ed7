/**
 * Publishes hits on node:diagnostics_channel. Without subscribers, nothing is published and no message is created.
 */
import { channel } from 'node:diagnostics_channel';
import type { Decision, Hit, Millis } from '../engine/contract.ts';
import type { StoreFault } from '../internal/errors.ts';
import type { Observer, Outcome } from '../wrappers/metered.ts';

/** The message on channel 'sluice:decision'. Its fields are the arguments of `Observer.decided`. */
export interface DecisionMessage {
  /** The hit that was sent to the store. */
  readonly hit: Hit;
  /** The decision that the caller received. */ readonly decision: Decision;
  /** Whether the request was allowed. Undefined for verbs that do not ask for permission, such as peek. */
  readonly outcome: Outcome;
  /** How long the store took, in milliseconds. Undefined if it answered synchronously. */
  readonly took: Millis | undefined;
}

/** The message on channel 'sluice:fault'. Its fields are the arguments of `Observer.failed`. */
export interface FaultMessage {
  /** The hit that was sent to the store. */
  readonly hit: Hit;
  /** The error that the caller received. */ readonly error: unknown;
  /** The kind of failure. */
  readonly fault: StoreFault;
  /** How long the store took to fail, in milliseconds. Undefined if it failed synchronously. */
  readonly took: Millis | undefined;
}

const decisions = channel('sluice:decision');
const faults = channel('sluice:fault');

/** An observer for `metered` that publishes every hit on `node:diagnostics_channel`. */
export const diagnostics: Required<Observer> = {
  decided(hit, decision, outcome, took) {
    if (decisions.hasSubscribers)
      decisions.publish({ hit, decision, outcome, took } satisfies DecisionMessage);
  },
  failed(hit, error, fault, took) {
    if (faults.hasSubscribers) faults.publish({ hit, error, fault, took } satisfies FaultMessage);
  },
};
