/**
 * The types that all parts of Sluice share: the state of a key, algorithms, policies, decisions and stores. The types of hits are
 * in hit.ts.
 */

import type { Hit } from './hit.ts';

export { type Cost, type Hit, isPlain, type Mode, type PlainHit, type Verb } from './hit.ts';

/** An instant or a duration, in milliseconds as a float64. An instant is the time since 1970. */
export type Millis = number;

/** The cells of a table of rows. Each row starts at an offset. A row of zeros belongs to a fresh key. */
export type Cells = Float64Array;

/** A value, or a promise of it. Synchronous stores return values, and asynchronous stores return promises. */
export type MaybePromise<T> = T | Promise<T>;

/** The type `T` if the store answers synchronously, or `Promise<T>` if it answers with promises. */
export type Answer<R, T> = R extends Promise<unknown> ? Promise<T> : T;

/** The parameters of a policy, in the form that its algorithm reads. They are plain data, so that a hit can be sent over a socket. */
export type Params = Readonly<Record<string, number | string | boolean | undefined>>;

/**
 * The float error that comparisons of instants tolerate, which is half a microsecond. A float64 holds the milliseconds since 1970
 * to a precision of a quarter of a microsecond.
 */
export const TIME_EPSILON: Millis = 0.0005;

/** The maximum difference between two reasonably accurate clocks. */
export const SKEW: Millis = 10_000;

/**
 * Whether the time at which a row was written is so far in the future that the clock must have been wrong. This is the case if that
 * time is more than one window ahead and also more than `SKEW` ahead, because two reasonably accurate clocks never differ by more
 * than `SKEW`. Such a row is treated as fresh.
 */
export function isFarAhead(written: Millis, now: Millis, window: Millis): boolean {
  const ahead = written - now;
  return ahead > SKEW && ahead > window;
}

/** The value of `Decision.policy` for a key that is denied by a manual block. No policy can have this name. */
export const MANUAL_BLOCK = 'block';

/**
 * The arithmetic of one kind of limit. Its functions work on one policy's part of a row. The required members are all that most
 * algorithms need. Each optional member is a capability that only some algorithms have.
 */
export interface Algorithm<P extends Params = Params> {
  /** The name that a policy's text uses, such as 'gcra' or 'fixed-window'. */
  readonly name: string;
  /** The number of float64 cells in a fresh row. */
  width(params: P): number;
  /** Number of units that can be taken now. Negative if the row is overdrawn, and Infinity if any cost is allowed. */
  available(params: P, row: Cells, at: number, now: Millis): number;
  /** How long until this cost is allowed. 0 if it is allowed now, and Infinity if it can never be allowed. */
  waitFor(params: P, row: Cells, at: number, now: Millis, cost: number): Millis;
  /** Charges the cost unconditionally, even if that overdraws the row. */
  take(params: P, row: Cells, at: number, now: Millis, cost: number): void;
  /**
   * Gives units back, at most until the key is fully replenished. If `takenAt` is given, gives back only units of the charge that
   * was made at that instant, and none if those units no longer count. An algorithm whose row does not show when its units were
   * charged may ignore `takenAt`.
   */
  give(params: P, row: Cells, at: number, now: Millis, cost: number, takenAt?: Millis): void;
  /** How long until the row is fully replenished and may be dropped. */
  clearIn(params: P, row: Cells, at: number, now: Millis): Millis;

  /**
   * Makes a plain check in one call, for speed: `waitFor`, then `take` if the wait is 0, then `available` and `clearIn`. Returns
   * the wait, and writes the results of `available` and `clearIn` to `out[0]` and `out[1]`. All results must be exactly what the
   * four functions would return.
   */
  attempt?(params: P, row: Cells, at: number, now: Millis, cost: number, out: Cells): Millis;

  /**
   * How units come back (see `Refill`), if they come back in the same way in every row. If undefined, the engine computes the time
   * until the next unit by calling `waitFor` for each row. `limit` and `window` are the values that decisions show, which may be
   * larger than those that `params` enforces.
   */
  refill?(params: P, limit: number, window: Millis): 'even' | 'whole' | undefined;

  /** True if the algorithm is charged once for each denial by another policy, and never for a cost that is allowed. */
  readonly countsDenials?: boolean;

  /** Present if the algorithm keeps an overdraft until it is paid off, so that `reserve` can charge a future turn now. */
  readonly booking?: {
    /** The largest part of `cost` that can be charged without making the key wait longer than `span` for its next unit. */
    overdraft(params: P, row: Cells, at: number, now: Millis, cost: number, span: Millis): number;
  };

  /** Present if the algorithm's units are held until `release` gives them back or their lease ends. */
  readonly hold?: {
    /** The instant that the row recorded for the last take. With this instant as `takenAt`, `give` frees exactly that place. */
    takenAt(params: P, row: Cells, at: number): Millis;
  };

  /**
   * Present if the algorithm's state can be converted when a limit changes. Describes the cells that record what was spent. `take`
   * with a cost of 0 must update these cells to the current time.
   */
  readonly inherit?: {
    /** Offsets of the cells within the algorithm's part of the row. */
    readonly cells: readonly number[];
    /** The value of the cells when everything is spent. */
    full(params: P): number;
    /** The amount that one unit adds to the cells. Default 1. */
    unit?(params: P): number;
  };

  /**
   * Present if a process can debit units in the store now and spend them by itself until a lease of duration `span` ends, without
   * admitting more than the limit in any window. docs/decisions/0020-strict-leases.md has the proof.
   */
  readonly lease?:
    | {
        /** The longest lease while the limit is exhausted, as a fraction of the policy's window. Default 1/10. */
        readonly shortPart?: number;
        /**
         * The policy that the store applies and announces, to make up for the delay between debit and use. Default: the original
         * policy.
         */
        reduced?(
          params: P,
          span: Millis,
          short: Millis,
        ): Pick<Policy, 'params'> & Partial<Pick<Policy, 'limit' | 'window'>>;
        /**
         * Number of units that come back by themselves during a lease of this duration. Default 0. The holder of a lease does not
         * give these units back, because the store already has them again.
         */
        leak?(params: P, span: Millis): number;
        /**
         * How long the units of a debit may be spent. `resetAfter` is the time from the debit until the row is fully replenished.
         * Default: the whole duration of the lease.
         */
        lasts?(params: P, resetAfter: Millis): Millis;
        /** Params with which `take` records a debit at a later instant, at most `span` from now. Default: the same params. */
        dated?(params: P, span: Millis): P;
      }
    | undefined;

  /**
   * Present if the algorithm uses variable-length rows, whose size grows with what they record. Such a row is a separate array, at
   * offset 0. The table keeps a pointer to it in a single cell.
   */
  readonly variableLength?: {
    /** Returns the row itself if it has room for one more take, and otherwise a larger copy. */
    grow(params: P, row: Cells, now: Millis): Cells;
    /** The maximum number of cells of such a row, for stores with a fixed amount of memory. */
    maxWidth(params: P): number;
  };

  /** Present if the algorithm's Redis script needs arguments that differ from the list of its params' values. */
  readonly redis?: {
    args(params: P, now: Millis): readonly number[];
  };
}

/** An algorithm with its numbers, and the limit and window that headers announce. */
export interface Policy {
  /** The arithmetic that decides. */
  readonly algorithm: Algorithm;
  /** The algorithm's numbers, in the form that it expects. */
  readonly params: Params;
  /** The maximum number of units that are allowed simultaneously. */
  readonly limit: number;
  /** The duration in which the whole limit comes back. */
  readonly window: Millis;
  /**
   * The duration that the rate refers to, if it differs from `window`. For example, the rate of '100/min burst 10' refers to a
   * minute, but its window is 6 seconds, in which the burst comes back.
   */
  readonly per?: Millis | undefined;
}

/** A policy of a plan, with its name and the offset of its part of the row. */
export interface PlacedPolicy extends Policy {
  /** The name of the policy within its limiter. */
  readonly name: string;
  /** Offset at which the policy's part of the row starts. */
  readonly offset: number;
  /** True if the policy's part of the row is a single cell that points to a variable-length row. */
  readonly grows: boolean;
  /** The result of `Algorithm.refill` for this policy. */
  readonly refill?: 'even' | 'whole' | undefined;
}

/** The policies that share one row, and the limiter they belong to. */
export interface Plan {
  /** The limiter's name, which separates its keys from those of other limiters in the same store. */
  readonly name: string;
  /** The policies that decide, in the order in which they were given. */
  readonly policies: readonly PlacedPolicy[];
  /**
   * Every policy that has cells in the row, by offset. The tiers of a limiter share one row, so these include policies of other
   * tiers, whose cells this plan keeps but never reads.
   */
  readonly slots: readonly PlacedPolicy[];
  /** The number of cells in a row. */
  readonly width: number;
  /** The policies with all their numbers, as one string. */
  readonly id: string;
  /** Plans with the same name and signature share a key's row. Plans with different signatures count separately. */
  readonly signature: string;
  /** How rows that were written under different limits are converted. If undefined, such rows are read unchanged. */
  readonly inherit?: Inheritance | undefined;
}

/** The shortest lease of the plan's concurrency policies. 0 if the plan has no such policy. */
export function leaseOf({ policies }: Plan): Millis {
  let shortest = 0;
  for (let i = 0; i < policies.length; i++) {
    const { algorithm, window } = policies[i];
    if (algorithm.hold !== undefined && (shortest === 0 || window < shortest)) shortest = window;
  }
  return shortest;
}

/** Keeps variable-length rows outside the table, where a single cell points to each of them. Pointer 0 is a row of zeros. */
export interface VariableRows {
  /** The row that a cell points to. */
  get(pointer: number): Cells;
  /** Replaces a row with another one and returns the pointer to the new row. */
  put(pointer: number, row: Cells): number;
}

/** How a plan converts rows that were written under different limits. */
export interface Inheritance {
  /** Keeps the used units ('additive'), the remaining units ('as-is'), or the used fraction of the limit ('proportional'). */
  readonly keeps: 'additive' | 'as-is' | 'proportional';
  /**
   * Offset in the row at which the signatures start. The signature of a slot holds the numbers of the policy that wrote the slot:
   * for 'additive' the result of `Algorithm.inherit.unit`, for 'proportional' the results of `full` and `unit`, and for 'as-is'
   * these two and the instant until which they are valid. Zeros mean that the slot is not signed yet.
   */
  readonly offset: number;
  /** Offset in the row at which each of the plan's policies is signed, or −1 if the policy is not signed. */
  readonly signedAt: readonly number[];
  /**
   * Whether a row contains signatures for policies with this algorithm. For 'additive', cells that count units need no signature,
   * because they mean the same under all limits.
   */
  isSigned(algorithm: Algorithm): boolean;
  /** A converted copy of the row that starts at an offset. Undefined if the row was written under this plan's limits. */
  convert(plan: Plan, cells: Cells, at: number, now: Millis): Cells | undefined;
  /** Signs a row that was converted to this plan's limits, after a hit has changed the row. */
  sign(hit: Hit, cells: Cells, at: number, now: Millis, decision: Decision): void;
  /** How much longer the row must be kept for any of the plans that wrote it. */
  keptFor(plan: Plan, cells: Cells, at: number, now: Millis): Millis;
}

/**
 * When a policy's next unit comes back. With `'even'`, units come back one by one, each after `window / limit`. With `'whole'`,
 * all of them come back after `resetAfter`. A number is the time in milliseconds until one more unit is available, and `Infinity`
 * means never.
 */
export type Refill = 'even' | 'whole' | Millis;

/** The state of one policy after a hit. */
export interface PolicyState {
  /** The name of the policy within its limiter. */
  readonly name: string;
  /** The maximum number of units that are allowed simultaneously. */
  readonly limit: number;
  /** The duration in which the whole limit comes back. */
  readonly window: Millis;
  /** Number of whole units that the policy still allows now. */
  readonly remaining: number;
  /** Milliseconds until the policy allows this cost. 0 if it allowed the cost, and Infinity if it can never allow it. */
  readonly retryAfter: Millis;
  /** Milliseconds until the policy is fully replenished. */
  readonly resetAfter: Millis;
  /** Number of units that the policy was charged. */
  readonly taken: number;
  /**
   * When the next unit comes back. `moreAfter` of `sluice/http` converts it to milliseconds. Undefined is the same as `'whole'`.
   */
  readonly refill?: Refill | undefined;
}

/** The outcome of a hit. */
export interface Decision {
  /** Whether the hit is allowed. */
  readonly allowed: boolean;
  /**
   * Number of units that were charged. It is the cost or 0 or, in modes 'partial' and 'always', possibly a number between the two.
   * If the call gave each policy its own cost, it is the largest amount that a policy was charged, and `policies` shows the amount
   * for each policy.
   */
  readonly taken: number;
  /** The limit of the limiting policy, which is the policy that denied or else the one closest to denying. */
  readonly limit: number;
  /** Number of whole units that the limiting policy still allows now. */
  readonly remaining: number;
  /** Milliseconds until this cost is allowed. 0 if it was allowed, and Infinity if it can never be allowed. */
  readonly retryAfter: Millis;
  /** Milliseconds until the limiting policy is fully replenished. */
  readonly resetAfter: Millis;
  /** The name of the limiting policy, or `'block'` if the key is denied by a manual block. */
  readonly policy: string;
  /** The numbers of every policy, in order. */
  readonly policies: readonly PolicyState[];
  /** Where the decision was made: in the store, or in a wrapper in front of it. */
  readonly source: 'store' | 'deny-cache' | 'lease' | 'fallback';
  /**
   * The instant of the charge, according to the store's clock. With `{ of: decision }` or `{ at }`, `refund` and `settle` give
   * back units of exactly this charge, and `release` and `renew` act on the place that it took. Undefined if nothing was charged.
   */
  readonly at?: Millis | undefined;
  /** True if the charge holds a place until it is released (concurrency). */
  readonly held?: true | undefined;
  /**
   * Milliseconds after which units of a lease must no longer be spent. Set only if a `leased` store passes on units of its own
   * lease to another `leased` store. In that case, `at` is the instant at which that lease ends.
   */
  readonly expiresAfter?: Millis | undefined;
}

/** Provides the time and runs timers. */
export interface Clock {
  /** The current time in milliseconds since 1970, or since any other fixed instant. Never below 0. */
  now(): Millis;
  /**
   * Calls `wake` once, `delay` from now, unless the returned function is called first. If `isQuiet` is true, the timer does not
   * keep the process alive.
   */
  after(delay: Millis, wake: () => void, isQuiet?: boolean): () => void;
}

/** Options that include a store. */
export interface WithStore<R extends MaybePromise<Decision> = MaybePromise<Decision>> {
  /** The store that keeps the state of keys, such as `redis(client)`. Default: a store in memory, which answers synchronously. */
  readonly store: Store<R>;
}

/**
 * Decides on several takes in one step. Returns a decision for each of them, in order, or undefined if they cannot be decided in
 * one step.
 */
export type AllTaker = () => MaybePromise<readonly Decision[] | undefined>;

/**
 * Keeps the state of keys, and is responsible for atomicity, expiry and the clock. `R` is `Decision` if the store answers
 * synchronously, and `Promise<Decision>` otherwise.
 */
export interface Store<R extends MaybePromise<Decision> = MaybePromise<Decision>> {
  /** The timers with which callers wait until an instant that the store announced. */
  readonly clock: Pick<Clock, 'after'>;
  /**
   * True if the state lives only in this process, as in `memory()`. Limiters without a `name` are accepted only on such a
   * store. A wrapper passes on the value of the store that it wraps.
   */
  readonly ephemeral?: boolean | undefined;
  /** Called with each plan when a limiter is created. Throws if the store has no room for the plan's rows. */
  accept?(plan: Plan): void;
  /**
   * The object that keeps the state, such as the client that the store was given. Default: the store itself. Stores with the same
   * backend share their keys. A wrapper passes on the backend of the store that it wraps or, if that store has no backend, the
   * store itself.
   */
  readonly backend?: object | undefined;
  /** Decides on a hit and stores the result, atomically. */
  apply(hit: Hit): R;
  /**
   * Returns a function that makes exactly the decisions of `apply` for a `take` of this plan in mode 'whole', but in less time.
   * Undefined if the store has no fast path for the plan. Wrappers do not implement `taker`, so that they see every hit.
   */
  taker?(plan: Plan): ((key: string, cost: number) => MaybePromise<Decision>) | undefined;
  /**
   * Returns a function that decides on takes of several rows in one step, so that all of them are charged or none. Undefined if the
   * store cannot do that for these hits. Each hit has its own row, and is a take in mode 'whole', or a peek if it costs nothing. If
   * several hits are denied, a penalty policy counts only the first denial. The function returns undefined if it turns out that the
   * hits cannot be decided in one step. In that case, nothing was charged.
   */
  allTaker?(hits: readonly Hit[]): AllTaker | undefined;
  /** Stops the store's timers and closes its own connections. A client that was passed to the store stays open. */
  close(): MaybePromise<void>;
}
