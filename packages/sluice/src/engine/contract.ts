/** The types that every part of Sluice shares: the state of a key, an algorithm, a policy, a hit, a decision, a store. */

/** An instant or a duration, in float64 milliseconds. Instants count from 1970. */
export type Millis = number;

/** A table of rows. A row starts at an offset; a row of zeros is a fresh key. */
export type Cells = Float64Array;

/** A value or a promise of it, as returned by a store that may or may not be synchronous. */
export type MaybePromise<T> = T | Promise<T>;

/** `T` if the store answers synchronously, `Promise<T>` if it answers with promises. */
export type Answer<R, T> = R extends Promise<unknown> ? Promise<T> : T;

/** An algorithm's numbers. Plain data, so that a hit can cross a socket. */
export type Params = Readonly<Record<string, number | string | boolean | undefined>>;

/**
 * The float error that comparisons of instants tolerate: half a microsecond. A float64 holds the milliseconds since 1970
 * to a precision of a quarter of a microsecond.
 */
export const TIME_EPSILON: Millis = 0.0005;

/** The most by which two reasonably accurate clocks differ. */
const SKEW: Millis = 10_000;

/**
 * Whether a row was written so far in the future that the clock must have been wrong at that time: more than one window
 * ahead, and more than two reasonably accurate clocks differ. Such a row counts as fresh.
 */
export function isFarAhead(written: Millis, now: Millis, window: Millis): boolean {
  const ahead = written - now;
  return ahead > SKEW && ahead > window;
}

/** `Decision.policy` of a key that is denied by a manual block. No policy can have this name. */
export const MANUAL_BLOCK = 'block';

/**
 * The arithmetic of one kind of limit, over one policy's part of a row. The required members are all that most algorithms
 * need. Each optional member is a capability that only some algorithms have.
 */
export interface Algorithm<P extends Params = Params> {
  /** The name that a policy's text uses, such as 'gcra' or 'fixed-window'. */
  readonly name: string;
  /** The number of float64 cells in a fresh row. */
  width(params: P): number;
  /** How much can be taken now; negative when overdrawn, Infinity when any cost is allowed. */
  available(params: P, row: Cells, at: number, now: Millis): number;
  /** How long until this cost is allowed. 0: it is allowed now. Infinity: it can never be allowed. */
  waitFor(params: P, row: Cells, at: number, now: Millis, cost: number): Millis;
  /** Charges the cost unconditionally, even if that overdraws the row. */
  take(params: P, row: Cells, at: number, now: Millis, cost: number): void;
  /**
   * Gives units back, at most until the key is fully replenished. `takenAt`, only with the `hold` capability: gives back
   * only what was taken at that instant, and nothing if that has expired or was given back before.
   */
  give(params: P, row: Cells, at: number, now: Millis, cost: number, takenAt?: Millis): void;
  /** How long until the row is fully replenished and may be dropped. */
  clearIn(params: P, row: Cells, at: number, now: Millis): Millis;

  /**
   * The whole of a plain check in one call, for speed: `waitFor`, then `take` if that is 0, then `available` and `clearIn`.
   * Returns the wait, writes the other two to `out[0]` and `out[1]`, and computes exactly what the four functions do.
   */
  attempt?(params: P, row: Cells, at: number, now: Millis, cost: number, out: Cells): Millis;

  /**
   * How units come back, if that is the same for every row; if undefined, the engine calls `waitFor` for each row. `limit`
   * and `window` are the values that the policy announces, which may be larger than what its params admit.
   */
  refill?(params: P, limit: number, window: Millis): 'even' | 'whole' | undefined;

  /** True if the algorithm is charged once for each denial by another policy, and never for a cost that is allowed. */
  readonly countsDenials?: boolean;

  /** For algorithms whose overdraft lasts until it is paid off, so that a future turn can be booked by taking it now. */
  readonly booking?: {
    /** How much of a cost that does not fit may be charged so that one unit is allowed again within `span`. */
    overdraft(params: P, row: Cells, at: number, now: Millis, cost: number, span: Millis): number;
  };

  /** For algorithms whose units are held until they are given back by `release`, or until their lease ends. */
  readonly hold?: {
    /** The instant under which the last take was recorded; `give` accepts it as `takenAt`. */
    takenAt(params: P, row: Cells, at: number): Millis;
  };

  /**
   * For algorithms whose state can be converted when a limit changes: the cells that hold what was spent. `take` with a cost
   * of 0 must bring these cells up to now.
   */
  readonly inherit?: {
    /** Offsets within the algorithm's part of the row. */
    readonly cells: readonly number[];
    /** What the cells hold when everything is spent. */
    full(params: P): number;
    /** What one unit adds to the cells; default 1. */
    unit?(params: P): number;
  };

  /**
   * For algorithms whose available units are a count: they can be debited now and spent elsewhere, up to `span` later,
   * without admitting more in any window. docs/decisions/0020-strict-leases.md has the proof.
   */
  readonly lease?:
    | {
        /** The longest span while the limit is exhausted, as a part of the policy's window; default 1/10. */
        readonly shortPart?: number;
        /** The policy that the store runs, and announces, to make up for the delay; default: the same policy. */
        reduced?(
          params: P,
          span: Millis,
          short: Millis,
        ): Pick<Policy, 'params'> & Partial<Pick<Policy, 'limit' | 'window'>>;
        /** Units that come back by themselves within the span; default 0. Leases do not return them a second time. */
        leak?(params: P, span: Millis): number;
        /** How long the units of a debit may be spent, given the row's `resetAfter` after the debit; default: the whole span. */
        lasts?(params: P, resetAfter: Millis): Millis;
        /** Params that record a debit as of a later instant, at most a span from now; default: the same params. */
        dated?(params: P, span: Millis): P;
      }
    | undefined;

  /**
   * For variable-length rows, whose size grows with what they record. Such a row is an array of its own, at offset 0; the
   * table keeps a pointer to it in a single cell.
   */
  readonly variableLength?: {
    /** The row itself, or a copy with room for one more take. */
    grow(params: P, row: Cells, now: Millis): Cells;
    /** The most cells that such a row ever has, for stores with fixed space. */
    maxWidth(params: P): number;
  };

  /** For algorithms whose Redis script needs numbers other than the values of their params, in order. */
  readonly redis?: {
    args(params: P, now: Millis): readonly number[];
  };
}

/** An algorithm with its numbers, and the two numbers that headers announce. */
export interface Policy {
  /** The arithmetic that decides. */
  readonly algorithm: Algorithm;
  /** The algorithm's numbers, in the form that it expects. */
  readonly params: Params;
  /** The most that is allowed simultaneously. */
  readonly limit: number;
  /** The duration in which the whole limit comes back. */
  readonly window: Millis;
  /** The duration of the rate, if it is not `window`: a burst smaller than the rate comes back sooner. */
  readonly per?: Millis | undefined;
}

/** A policy of a plan: with its name, and where its part of the row starts. */
export interface PlacedPolicy extends Policy {
  /** The name that the limiter's policies were given. */
  readonly name: string;
  /** Where its part of the row starts. */
  readonly offset: number;
  /** True if its part of the row is a single cell that points to a variable-length row. */
  readonly grows: boolean;
  /** What `Algorithm.refill` returned for it. */
  readonly refill?: 'even' | 'whole' | undefined;
}

/** The policies that share one row, and the limiter they belong to. */
export interface Plan {
  /** The limiter's name, which separates its keys from those of other limiters in the same store. */
  readonly name: string;
  /** The policies that decide, in the order in which they were given. */
  readonly policies: readonly PlacedPolicy[];
  /**
   * Every policy that has cells in the row, by offset. The tiers of a limiter share one row, so these include policies of
   * other tiers, whose cells this plan keeps and never reads.
   */
  readonly slots: readonly PlacedPolicy[];
  /** The number of cells in a row. */
  readonly width: number;
  /** The policies with all their numbers, as one string. */
  readonly id: string;
  /** Plans with the same name and signature share a key's row; plans with different signatures count separately. */
  readonly signature: string;
  /** How rows that were written under other limits are converted. Undefined: they are read as they are. */
  readonly inherit?: Inheritance | undefined;
}

/** The shortest lease of the plan's policies that hold what they charge; 0 if none of them holds anything. */
export function leaseOf({ policies }: Plan): Millis {
  let shortest = 0;
  for (let i = 0; i < policies.length; i++) {
    const { algorithm, window } = policies[i];
    if (algorithm.hold !== undefined && (shortest === 0 || window < shortest)) shortest = window;
  }
  return shortest;
}

/** Variable-length rows are kept outside the table, where a single cell points to each of them. Pointer 0 is a row of zeros. */
export interface VariableRows {
  /** The row that a cell points to. */
  get(pointer: number): Cells;
  /** Replaces a row by another one and returns the pointer to that. */
  put(pointer: number, row: Cells): number;
}

/** How a plan converts rows that were written under other limits. */
export interface Inheritance {
  /** Keeps the used units ('additive'), the remaining units ('as-is'), or the used share of the limit ('proportional'). */
  readonly keeps: 'additive' | 'as-is' | 'proportional';
  /**
   * Where the signatures start in a row. A signature holds the numbers under which a slot was written: for 'additive' its
   * unit; otherwise its full and its unit, and for 'as-is' also until when they matter. Zeros: not signed yet.
   */
  readonly offset: number;
  /** Where in the row each of the plan's policies is signed; −1 if it is not. */
  readonly signedAt: readonly number[];
  /** Whether rows are signed for this algorithm. Cells that count units mean the same under all limits. */
  isSigned(algorithm: Algorithm): boolean;
  /** A converted copy of the row that starts at an offset; undefined if it was written under this plan's limits. */
  convert(plan: Plan, cells: Cells, at: number, now: Millis): Cells | undefined;
  /** Signs a row that a hit has changed, and that this plan could have written. */
  sign(hit: Hit, cells: Cells, at: number, now: Millis, decision: Decision): void;
  /** How much longer any plan that wrote the row needs it. */
  keptFor(plan: Plan, cells: Cells, at: number, now: Millis): Millis;
}

/** 'whole': all or nothing. 'partial': as much as fits. 'always': every attempt counts, even a denied one. */
export type Mode = 'whole' | 'partial' | 'always';

/** The operations of a store. */
export type Verb = 'take' | 'peek' | 'refund' | 'release' | 'renew' | 'reserve' | 'block' | 'reset';

/** What a limiter asks of a store: plain data, so that it can cross a socket. */
export interface Hit {
  /** The operation. */
  readonly verb: Verb;
  /** The policies that decide, and the limiter that they belong to. */
  readonly plan: Plan;
  /** The subject that is limited, such as a user. */
  readonly key: string;
  /** The number of units. */
  readonly cost: number;
  /** What to do if the whole cost does not fit. */
  readonly mode: Mode;
  /**
   * A duration. block: how long. reserve: the longest delay that is accepted. take in mode 'always': the longest time that
   * attempts beyond the limit may keep the key denied; `Infinity` charges all of them in full.
   */
  readonly span: Millis;
  /**
   * refund, release, renew: the decision that made the charge, if the caller has it. `source` is where the charge was
   * made; `at` identifies one of the places that a key holds.
   */
  readonly of?: Pick<Decision, 'source' | 'at'> | undefined;
}

/**
 * When a policy's next unit comes back. `'even'`: units come back one by one, each after `window / limit`. `'whole'`: all of
 * them after `resetAfter`. A number: milliseconds until one more unit is available; `Infinity`: never.
 */
export type Refill = 'even' | 'whole' | Millis;

/** Milliseconds until a policy has at least one unit more than `remaining`; `Infinity` if it is fully replenished. */
export function moreAfter({ limit, window, remaining, resetAfter, refill }: PolicyState): Millis {
  if (!(remaining + 1 <= limit)) return Infinity;
  if (typeof refill === 'number') return refill;
  return refill === 'even'
    ? Math.max(0, resetAfter - window + (window * (remaining + 1)) / limit)
    : resetAfter;
}

/** One policy's own numbers. */
export interface PolicyState {
  /** The name that the limiter's policies were given. */
  readonly name: string;
  /** The most that is allowed simultaneously. */
  readonly limit: number;
  /** The duration in which the whole limit comes back. */
  readonly window: Millis;
  /** Whole units that it still allows now. */
  readonly remaining: number;
  /** Milliseconds until it allows this cost. 0: it allowed it. Infinity: it can never allow it. */
  readonly retryAfter: Millis;
  /** Milliseconds until the policy is fully replenished. */
  readonly resetAfter: Millis;
  /** When the next unit comes back; `moreAfter` of `sluice/http` turns it into milliseconds. Missing: same as `'whole'`. */
  readonly refill?: Refill | undefined;
}

/** The outcome of a hit. */
export interface Decision {
  /** Whether the hit is allowed. */
  readonly allowed: boolean;
  /** Units that were charged: the cost or 0; in modes 'partial' and 'always' possibly between the two. */
  readonly taken: number;
  /** The limit of the limiting policy: the one that denied, or else the one closest to denying. */
  readonly limit: number;
  /** Whole units that the limiting policy still allows now. */
  readonly remaining: number;
  /** Milliseconds until this cost is allowed. 0: it was allowed. Infinity: it can never be allowed. */
  readonly retryAfter: Millis;
  /** Milliseconds until the limiting policy is fully replenished. */
  readonly resetAfter: Millis;
  /** The name of the limiting policy; `'block'` if the key is denied by a manual block. */
  readonly policy: string;
  /** Every policy's own numbers, in order. */
  readonly policies: readonly PolicyState[];
  /** What decided: the store, or a wrapper in front of it. */
  readonly source: 'store' | 'deny-cache' | 'lease' | 'fallback';
  /**
   * Only if what was taken is held until `release` (concurrency): the instant, by the store's clock. It identifies the place
   * that `release` and `renew` with `{ of: decision }` act on.
   */
  readonly at?: Millis | undefined;
}

/** Provides the time and runs timers. */
export interface Clock {
  /** Milliseconds since 1970, or since any other fixed instant; never below 0. */
  now(): Millis;
  /**
   * Calls `wake` once, `delay` from now, unless the returned function is called first. `isQuiet`: this timer does not keep
   * the process alive.
   */
  after(delay: Millis, wake: () => void, isQuiet?: boolean): () => void;
}

/** Options that include a store. */
export interface WithStore<R extends MaybePromise<Decision> = MaybePromise<Decision>> {
  /** Where the state of keys lives, such as `redis(client)`. Default: in memory, with synchronous answers. */
  readonly store: Store<R>;
}

/** Owns atomicity, expiry and the clock. `R`: `Decision` if it answers synchronously, else `Promise<Decision>`. */
export interface Store<R extends MaybePromise<Decision> = MaybePromise<Decision>> {
  /** The timers with which callers wait until an instant that the store announced. */
  readonly clock: Pick<Clock, 'after'>;
  /**
   * True if the state lives only in this process, as in `memory()`. Limiters without a `name` are accepted only on such a
   * store. A wrapper passes on the value of the store that it wraps.
   */
  readonly ephemeral?: boolean | undefined;
  /** Called with each plan when a limiter is created; throws if the store has no room for its rows. */
  accept?(plan: Plan): void;
  /**
   * The object that keeps the state, such as the client that the store was given; default: the store itself. Stores with
   * the same backend share their keys. A wrapper passes on the backend of the store that it wraps, or else that store.
   */
  readonly backend?: object | undefined;
  /** Decides on a hit and stores the result, atomically. */
  apply(hit: Hit): R;
  /**
   * Returns a function that decides exactly as `apply` does on a `take` of this plan in mode 'whole', in less time; undefined
   * if there is no shorter way. A wrapper leaves this out, so that it sees every hit.
   */
  taker?(plan: Plan): ((key: string, cost: number) => MaybePromise<Decision>) | undefined;
  /** Ends the store's timers and its own connections. A client that it was given stays open. */
  close(): MaybePromise<void>;
}
