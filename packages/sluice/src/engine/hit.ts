/** The request that a limiter sends to a store. */
import type { Decision, Millis, Plan } from './contract.ts';

/**
 * How a cost is charged. 'whole' charges all of it or nothing, 'partial' charges as much as fits, and 'always' counts every
 * attempt, even a denied one.
 */
export type Mode = 'whole' | 'partial' | 'always';

/** The operations of a store. */
export type Verb =
  | 'take'
  | 'peek'
  | 'refund'
  | 'settle'
  | 'release'
  | 'renew'
  | 'reserve'
  | 'block'
  | 'reset';

/** The cost of a hit: one number for all policies, or a list with a number for each of the plan's policies. */
export type Cost = number | readonly number[];

/** A request from a limiter to a store. It is plain data, so that it can cross a socket. */
export interface Hit {
  /** The operation. */
  readonly verb: Verb;
  /** The policies that decide, and the limiter that they belong to. */
  readonly plan: Plan;
  /** The subject that is limited, such as a user. */
  readonly key: string;
  /**
   * The number of units. For settle, it is how much more was used than had been charged, and negative if less was used. In a list,
   * a cost of 0 means that the policy is ignored: it cannot deny the hit, and it is not charged.
   */
  readonly cost: Cost;
  /** For each of the plan's policies, how many units must still be available after the cost has been charged. Default 0. */
  readonly keep?: readonly number[] | undefined;
  /** What to charge if the whole cost is not allowed. */
  readonly mode: Mode;
  /**
   * A duration, whose meaning depends on the verb. For block, it is the duration of the block. For reserve, it is the longest
   * delay that is accepted. For take in mode 'always', it is the longest time that attempts beyond the limit may keep the key
   * denied. With `Infinity`, every attempt is charged in full.
   */
  readonly span: Millis;
  /**
   * For refund, settle, release and renew, the decision that made the charge, if the caller has it. `source` is where the charge
   * was made, and `at` is when it was made. `isGiven` is true if the caller passed only the time `at` instead of a decision. In
   * that case, the time must be validated.
   */
  readonly of?: (Pick<Decision, 'source' | 'at'> & { readonly isGiven?: true }) | undefined;
  /**
   * True for a take in mode 'partial' whose units are spent later, and for a refund of such units that were not spent. For such a
   * hit, a store that holds a lease itself, such as `leased`, passes on units of its own lease. Other stores ignore this property.
   */
  readonly isLease?: true | undefined;
}

/**
 * A hit that has the same cost for every policy and does not ask to keep units free. Wrappers answer only plain hits themselves.
 */
export interface PlainHit extends Hit {
  readonly cost: number;
  readonly keep?: undefined;
}

export function isPlain(hit: Hit): hit is PlainHit {
  return typeof hit.cost === 'number' && hit.keep === undefined;
}
