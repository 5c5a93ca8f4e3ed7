/** The types of the registry's entries. */
import type { Algorithm, Millis, Policy } from '../engine/contract.ts';

/** An entry of the registry `algorithms`: the factory of an algorithm, and its text form. */
export interface AlgorithmEntry {
  /** Makes a policy from options, which it validates. */
  readonly factory: (options: never) => Policy;
  /** The algorithms that its policies can have: usually one, but `fixedWindow` has another one for calendar units. */
  readonly algorithms: readonly Algorithm[];
  /** How its policies are written as text. Missing if a rate does not describe them completely. */
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
  /** Calendar units that are accepted in place of a duration. */
  readonly calendarUnits?: readonly string[] | undefined;
  /** Creates the policy of a rate. */
  policy(rate: Rate): Policy;
}

/** The parts of `'100/min burst 20'`. */
export interface Rate {
  /** The number before the slash. */
  readonly limit: number;
  /** As written: a duration, or one of the calendar units. */
  readonly per: string;
  /** The duration in milliseconds; NaN for a calendar unit. */
  readonly millis: Millis;
  /** The number after `burst`, if it is given. */
  readonly burst: number | undefined;
}
