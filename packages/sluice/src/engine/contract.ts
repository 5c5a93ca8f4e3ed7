/**
 * The words that every part of Sluice shares: the state of a key, an algorithm, a policy, a hit, a decision, a store.
 * Nothing here runs but a few constants and two formulas.
 */

/** An instant or a span, in float64 milliseconds. Instants count from 1970. */
export type Millis = number;

/** A table of rows. A row starts at an offset; a row of zeros is a fresh key. */
export type Cells = Float64Array;

/** At once, or later. */
export type MaybePromise<T> = T | Promise<T>;

/** `T` when the store answers at once, `Promise<T>` when it answers later. */
export type Answer<R, T> = R extends Promise<unknown> ? Promise<T> : T;

/** An algorithm's numbers. Plain data, so that a hit can cross a socket. */
export type Params = Readonly<Record<string, number | string | boolean | undefined>>;

/**
 * Float error forgiven when an instant is compared: half a microsecond.
 * An epoch millisecond in a float64 is exact to a quarter of one.
 */
export const TIME_EPSILON: Millis = 0.0005;

/** Clocks that are about right differ by at most this much. */
const SKEW: Millis = 10_000;

/**
 * Whether a row was written at an instant so far ahead of now that the clock must have been wrong then: by more than one
 * window, and by more than clocks that are about right differ. Such a row counts as fresh.
 */
export function isFarAhead(written: Millis, now: Millis, window: Millis): boolean {
  const ahead = written - now;
  return ahead > SKEW && ahead > window;
}

/** `Decision.policy` of a key that is denied by a manual block. No policy can have this name. */
export const MANUAL_BLOCK = 'block';

/** Five questions about one policy's part of a row. All of Sluice is built from these. */
export interface Algorithm<P extends Params = Params> {
  /** As in a policy's text: 'gcra', 'fixed-window'. */
  readonly name: string;
  /** Float64 cells of a fresh row. */
  width(params: P): number;
  /** How much could be taken now; negative when overdrawn, Infinity when any cost passes. */
  available(params: P, row: Cells, at: number, now: Millis): number;
  /** 0: passes now. Infinity: this cost can never pass. */
  waitFor(params: P, row: Cells, at: number, now: Millis, cost: number): Millis;
  /** Charges without asking: may overdraw. */
  take(params: P, row: Cells, at: number, now: Millis, cost: number): void;
  /**
   * Only where an overdraft lasts until it is paid off: how much of a cost that does not fit may be charged, so that one
   * unit passes at most `span` from now. Missing: the whole cost.
   */
  overdraft?(params: P, row: Cells, at: number, now: Millis, cost: number, span: Millis): number;
  /**
   * Gives back. Never mints: at most until the key is fully replenished. `takenAt`, where the algorithm has such a
   * function: only what was taken at that instant is given back, and nothing if that has expired or was given back before.
   */
  give(params: P, row: Cells, at: number, now: Millis, cost: number, takenAt?: Millis): void;
  /** Until the row is as good as new and may be forgotten. */
  clearIn(params: P, row: Cells, at: number, now: Millis): Millis;

  /**
   * Only where numbers can be changed and the state converted: the cells that hold what is spent and, in their own unit,
   * how much of it is all there is, and what one unit costs. To take 0 must bring these cells up to now.
   */
  readonly inherit?: {
    /** Offsets within its part of the row. */
    readonly cells: readonly number[];
    /** All there is, in the unit of the cells. */
    full(params: P): number;
    /** What one unit costs, in the unit of the cells. Default: the cells count units. */
    unit?(params: P): number;
  };

  /**
   * Only where what is left is a number of units that may pass: they can be debited now and spent elsewhere, up to a span
   * later, without more passing in any window. docs/decisions/0020-strict-leases.md has the proof.
   */
  readonly lease?:
    | {
        /** The longest span while the limit binds, as a part of the policy's window; default 1/10. */
        readonly shortPart?: number;
        /** What the store runs, and announces, to make up for the delay; default: the policy as it is. */
        reduced?(
          params: P,
          span: Millis,
          short: Millis,
        ): Pick<Policy, 'params'> & Partial<Pick<Policy, 'limit' | 'window'>>;
        /** Units that come back by themselves within the span; default none. Returned with a lease, they would come back twice. */
        leak?(params: P, span: Millis): number;
        /** For how long after a debit that left the row so its units may be spent; default for the whole span. */
        lasts?(params: P, resetAfter: Millis): Millis;
        /** What records a debit as of a later instant, at most a span from now; default: the policy as it is. */
        dated?(params: P, span: Millis): P;
      }
    | undefined;

  /**
   * How units come back, where that is the same for every row, so that the engine need not ask `waitFor`; default: it asks.
   * `limit` and `window` are the policy's, which may announce more than its params admit.
   */
  refill?(params: P, limit: number, window: Millis): 'even' | 'whole' | undefined;

  /** How the Redis script runs this algorithm. */
  readonly redis?: {
    /** The numbers that the script receives; default: the values of the params, in order. */
    args(params: P, now: Millis): readonly number[];
  };

  /** An overdraft lasts until it is paid off, so a turn in the future can be booked by taking it now. */
  readonly bookable?: boolean;
  /** Charged once per denial by another policy, never by what passes. */
  readonly countsDenials?: boolean;
  /** What was taken is held only for a while, and given back by `release`. */
  readonly holds?: boolean;
  /** Only where `give` can tell places apart: the instant under which the last take was recorded. */
  takenAt?(params: P, row: Cells, at: number): Millis;
  /**
   * Only for variable-length rows, whose size grows with what they record. Such a row is an array of its own, at offset 0;
   * the table keeps a pointer to it in a single cell.
   */
  readonly variableLength?: {
    /** The row itself, or a copy with room for one more take. */
    grow(params: P, row: Cells, now: Millis): Cells;
    /** The most cells that such a row ever has, for stores with fixed space. */
    maxWidth(params: P): number;
  };
}

/** An algorithm with its numbers, and the two that headers announce. */
export interface Policy {
  /** By which rules. */
  readonly algorithm: Algorithm;
  /** With which numbers. */
  readonly params: Params;
  /** The most that passes at once. */
  readonly limit: number;
  /** The span in which the limit comes back whole. */
  readonly window: Millis;
  /** The duration that the rate was given for, where it is not `window`: a burst smaller than the rate comes back sooner. */
  readonly per?: Millis | undefined;
}

/** A policy in its place: with its name and where its part of the row starts. */
export interface PlacedPolicy extends Policy {
  /** As the limiter's owner called it. */
  readonly name: string;
  /** Where its part of the row starts. */
  readonly offset: number;
  /** Its part of the row is a single cell that points to a row of its own. */
  readonly grows: boolean;
  /** What `Algorithm.refill` says of it. */
  readonly refill?: 'even' | 'whole' | undefined;
}

/** The policies that share one row, and the limiter they belong to. */
export interface Plan {
  /** The limiter's name: keeps its keys apart from other limiters' in the same store. */
  readonly name: string;
  /** Those that decide, in the order in which they were given. */
  readonly policies: readonly PlacedPolicy[];
  /**
   * Every policy that has cells in the row, by offset. Tiers of a limiter share one row, so these include policies that only
   * other tiers have: this plan keeps their cells and never asks them.
   */
  readonly slots: readonly PlacedPolicy[];
  /** Cells of a row. */
  readonly width: number;
  /** The policies with all their numbers, in one word. */
  readonly id: string;
  /** Plans of one name with the same signature share a key's row. Plans with other signatures count apart from them. */
  readonly signature: string;
  /** How it takes over a row that other numbers wrote. Undefined: the row is read as it is. */
  readonly inherit?: Inheritance | undefined;
}

/** The shortest lease of the plan's policies that hold what they charge; 0 if none of them does. */
export function leaseOf({ policies }: Plan): Millis {
  let shortest = 0;
  for (let i = 0; i < policies.length; i++) {
    const { algorithm, window } = policies[i];
    if (algorithm.holds && (shortest === 0 || window < shortest)) shortest = window;
  }
  return shortest;
}

/** Rows that grow live outside the table; their one cell in it points here. 0 points to a row of zeros. */
export interface GrownRows {
  /** The row that a cell points to. */
  get(pointer: number): Cells;
  /** Puts a row in the place of another and returns where it is now. */
  put(pointer: number, row: Cells): number;
}

/** Applies a hit to the key's row, which starts at an offset. `blockedUntil`: the end of a block by hand. */
export type Decide = (
  hit: Hit,
  cells: Cells,
  at: number,
  now: Millis,
  blockedUntil: Millis,
  grown: GrownRows,
) => Decision;

/** How a plan takes over rows that other numbers wrote. */
export interface Inheritance {
  /** What stays: the units that were used, those that were left, or the share of them. */
  readonly keeps: 'additive' | 'as-is' | 'proportional';
  /**
   * From here on a row says under which numbers it was written. For each slot that is signed these are: for 'additive' its
   * unit; otherwise its full and its unit, and for 'as-is' also until when they matter. Zeros: under none yet.
   */
  readonly offset: number;
  /** Where in the row each of the plan's policies is signed; −1 if it is not. */
  readonly signedAt: readonly number[];
  /** Whether rows say under which numbers this algorithm wrote. Units that are counted are the same under all numbers. */
  isSigned(algorithm: Algorithm): boolean;
  /** Decides on the row made one that this plan could have written, and notes under which numbers it is now. */
  decide(inner: Decide, ...about: Parameters<Decide>): Decision;
  /** How much longer the row is needed by any plan that wrote it. */
  keptFor(plan: Plan, cells: Cells, start: number, now: Millis): Millis;
}

/** 'whole': all or nothing. 'partial': as much as fits. 'always': every attempt counts, denied ones too. */
export type Mode = 'whole' | 'partial' | 'always';

/** What can be asked of a store. */
export type Verb = 'take' | 'peek' | 'refund' | 'release' | 'renew' | 'reserve' | 'block' | 'reset';

/** What a limiter asks of a store: data. */
export interface Hit {
  /** What is asked. */
  readonly verb: Verb;
  /** By which policies, of which limiter. */
  readonly plan: Plan;
  /** Whom it counts for. */
  readonly key: string;
  /** How much. */
  readonly cost: number;
  /** What happens when the whole cost does not fit. */
  readonly mode: Mode;
  /**
   * block: how long. reserve: the longest delay that is accepted. take in mode 'always': the longest for which attempts
   * beyond the limit may keep the key denied; `Infinity` charges all of them in full.
   */
  readonly span: Millis;
  /**
   * refund, release, renew: the decision whose charge is meant, if the caller knows it. It says where the charge was
   * made and, by its `at`, which of the places that a key holds.
   */
  readonly of?: Pick<Decision, 'source' | 'at'> | undefined;
}

/**
 * When a policy has more than `remaining`. `'even'`: units come back one by one, each after `window / limit`.
 * `'whole'`: all of them after `resetAfter`. A number: milliseconds until there is one unit more; `Infinity`: never.
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
  /** As the limiter's owner called it. */
  readonly name: string;
  /** The most that passes at once. */
  readonly limit: number;
  /** The span in which the limit comes back whole. */
  readonly window: Millis;
  /** Whole units that it would still let pass now. */
  readonly remaining: number;
  /** 0 when it allowed; Infinity: this cost can never pass. */
  readonly retryAfter: Millis;
  /** Milliseconds until the policy is fully replenished. */
  readonly resetAfter: Millis;
  /** When there is more than `remaining`: `moreAfter` of `sluice/http` tells the milliseconds. Missing: as `'whole'`. */
  readonly refill?: Refill | undefined;
}

/** What became of a hit. */
export interface Decision {
  /** Whether it passed. */
  readonly allowed: boolean;
  /** Charged: the cost, 0, or between the two in modes 'partial' and 'always'. */
  readonly taken: number;
  /** This and the next three: of the policy that binds, the one that denied or is nearest to it. */
  readonly limit: number;
  /** Whole units that would still pass now. */
  readonly remaining: number;
  /** 0 when allowed; Infinity: this cost can never pass. */
  readonly retryAfter: Millis;
  /** Until the key is as good as new. */
  readonly resetAfter: Millis;
  /** Its name; `'block'` if the key is denied by a manual block. */
  readonly policy: string;
  /** Every policy's own numbers, in order. */
  readonly policies: readonly PolicyState[];
  /** Who decided: the store, or what stands before it. */
  readonly source: 'store' | 'deny-cache' | 'lease' | 'fallback';
  /**
   * Only where something was taken that is held until `release` (concurrency): when, by the store's clock. It identifies
   * the place: `release` and `renew` with `{ of: decision }` mean this one.
   */
  readonly at?: Millis | undefined;
}

/** Tells the time, and wakes those who wait for it. */
export interface Clock {
  /** Milliseconds since 1970, or since any other fixed instant; never below 0. */
  now(): Millis;
  /**
   * Calls `wake` once, `delay` from now, unless the returned function is called first. `isQuiet`: a clock that uses timers
   * does not keep the process alive for this one.
   */
  after(delay: Millis, wake: () => void, isQuiet?: boolean): () => void;
}

/** The part of options that names a store. */
export interface WithStore<R extends MaybePromise<Decision> = MaybePromise<Decision>> {
  /** Where the state of keys lives, such as `redis(client)`: the limiter answers when it answers. Default: in memory, at once. */
  readonly store: Store<R>;
}

/** Owns atomicity, expiry and the clock. `R` says when the answer comes: `Decision`, or `Promise<Decision>`. */
export interface Store<R extends MaybePromise<Decision> = MaybePromise<Decision>> {
  /** By which one waits for what the store announced. */
  readonly clock: Pick<Clock, 'after'>;
  /**
   * True if the state lives in this process alone and ends with it, as in `memory()`. Limiters without a `name` are
   * accepted only on such a store. A store around another one passes on what that one says.
   */
  readonly ephemeral?: boolean | undefined;
  /** Called with each plan when a limiter is created; throws if the store has no room for its rows. Default: it has. */
  accept?(plan: Plan): void;
  /**
   * What keeps the state, such as the client that the store was given; default: the store itself. Stores with the same
   * backend share their keys. A store around another one passes on what that one says, or else names that store.
   */
  readonly backend?: object | undefined;
  /** Decides on a hit, atomically, and keeps what comes of it. */
  apply(hit: Hit): R;
  /** Ends its timers and connections. A client that it was given stays open. */
  close(): MaybePromise<void>;
}
