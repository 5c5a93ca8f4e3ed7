/** Types of the entries in the registry of algorithms. */
import type { Algorithm, Millis, Policy } from '../engine/contract.ts';

/** An entry of the registry `algorithms`, with the factory of an algorithm and its text form. */
export interface AlgorithmEntry {
  /** Validates the options and creates a policy. */
  readonly factory: (options: never) => Policy;
  /**
   * The algorithms that the factory's policies use. Most factories use only one. `fixedWindow` uses two: one for windows of a fixed
   * length, and one for calendar windows such as days and months.
   */
  readonly algorithms: readonly Algorithm[];
  /** The text form of the policies. Undefined if a rate such as `'100/min'` is not enough to describe a policy. */
  readonly text?: TextForm | undefined;
}

/** An algorithm whose policies can be written as text. */
export interface RatedEntry extends AlgorithmEntry {
  readonly text: TextForm;
}

/** How the policies of an algorithm are written as text, such as `'100/min sliding-log'`. */
export interface TextForm {
  /** Whether `burst` may follow the rate. */
  readonly burst: boolean;
  /** Calendar units, such as 'month', that are accepted after the slash in place of a duration. */
  readonly calendarUnits?: readonly string[] | undefined;
  /** Creates the policy that a rate describes. */
  policy(rate: Rate): Policy;
}

/** The parts of a rate such as `'100/min burst 20'`. */
export interface Rate {
  /** The number before the slash. */
  readonly limit: number;
  /** The duration or calendar unit after the slash, as written. */
  readonly per: string;
  /** The duration in milliseconds, or NaN for a calendar unit. */
  readonly millis: Millis;
  /** The number after `burst`, if it is given. */
  readonly burst: number | undefined;
}
