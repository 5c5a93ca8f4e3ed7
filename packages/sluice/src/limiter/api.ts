/** The interface of a limiter: its verbs, what they accept and what they return. */
import type { Answer, Decision, MaybePromise, Millis, Mode } from '../engine/contract.ts';
import type { Duration } from '../internal/duration.ts';
import type { Inherit } from '../policy/inherit.ts';
import type { Policies } from '../policy/named-policies.ts';
import type { ByPolicy } from './cost.ts';

export type { ByPolicy } from './cost.ts';

/** Options of verbs that have a cost. A caller may also pass just a number, which is the cost. */
export interface CostOptions<Tier extends string = string, Name extends string = string> {
  /**
   * Number of units that the call uses. Default 1. A cost of 0 checks without charging. With an object, each policy has its own
   * cost, as in `{ requests: 1, tokens: 4200 }`. A policy that the object does not name costs 1. A policy whose cost is 0 is
   * ignored.
   */
  readonly cost?: ByPolicy<Name> | undefined;
  /** The tier whose policies apply to this call. Default: the policies that `createLimiter` was given. */
  readonly tier?: Tier | undefined;
  /**
   * How much of each policy must still be free after the call. Use it for less important calls, so that they cannot use up the
   * whole limit. A number below 1 is a fraction of the limit, and any other number is a number of units. Default 0. An object has
   * one number per policy name.
   */
  readonly keep?: ByPolicy<Name> | undefined;
  /** The name of one of the limiter's `classes`, whose `keep` applies to this call. */
  readonly class?: string | undefined;
}

/** Options of `take`. */
export interface TakeOptions<Tier extends string = string, Name extends string = string>
  extends CostOptions<Tier, Name> {
  /**
   * What to charge if the whole cost is not allowed: nothing ('whole', the default), as many units as are allowed ('partial', only
   * with a cost that is a number), or everything ('always').
   */
  readonly mode?: Mode | undefined;
  /**
   * The longest time for which attempts beyond the limit may keep the key denied. Allowed only with mode 'always'. Default: the
   * longest window of the policies. `Infinity` charges every attempt in full.
   */
  readonly maxDelay?: Duration | undefined;
}

/** Options of `refund`, `release`, `renew` and `keep`. */
export interface GiveBackOptions<Tier extends string = string, Name extends string = string> {
  /**
   * Number of units. Default: what the decision `of` charged, or 1 without `of`. With an object, a policy that the object does not
   * name gets nothing back.
   */
  readonly cost?: ByPolicy<Name> | undefined;
  /** The tier that was charged. */
  readonly tier?: Tier | undefined;
  /**
   * The decision whose charge is given back. If given, only units of this charge are given back, and only the concurrency place
   * that it took is freed. Units that no longer count and places whose lease has ended are not given back. A charge that the
   * fallback (`onFailure`) made is given back to the fallback and not to the store.
   */
  readonly of?: Decision | undefined;
  /** The decision's `at`, for callers that no longer have the decision itself, such as another process. */
  readonly at?: Millis | undefined;
}

/** Options of `settle`. */
export interface SettleOptions<Tier extends string = string, Name extends string = string>
  extends Pick<GiveBackOptions<Tier, Name>, 'tier' | 'of' | 'at'> {
  /**
   * The cost that was charged. With an object, a policy that the object does not name was charged 1. Default: the charge of the
   * decision passed as `of`.
   */
  readonly charged?: ByPolicy<Name> | undefined;
  /** The cost that was used. With an object, a policy that the object does not name has used exactly its charge. */
  readonly used: ByPolicy<Name>;
}

/** Options of `reserve`. */
export interface ReserveOptions<Tier extends string = string, Name extends string = string>
  extends CostOptions<Tier, Name> {
  /**
   * The longest acceptable delay. A turn that is further away is not booked, and nothing is charged. Default: the longest
   * window of the policies. `Infinity` accepts any delay.
   */
  readonly maxDelay?: Duration | undefined;
}

/** Options of `acquire`. */
export interface AcquireOptions<Tier extends string = string, Name extends string = string>
  extends CostOptions<Tier, Name> {
  /** How long to wait before the call is denied. With 0, the call does not wait. Default: no timeout. */
  readonly timeout?: Duration | undefined;
  /** A signal that ends the wait when it is aborted. The promise then rejects, and nothing is charged. */
  readonly signal?: AbortSignal | undefined;
  /** Callers with a higher priority are served first. Default 0. */
  readonly priority?: number | undefined;
}

/** Options of `run`. `T` is what the call returns. */
export interface RunOptions<T = unknown, Tier extends string = string, Name extends string = string>
  extends AcquireOptions<Tier, Name> {
  /**
   * Returns how much the call used. The difference from its cost is then charged or given back. The function is called with the
   * call's result or, if the call failed, with undefined and the error. If it returns undefined, a call that succeeded counts as
   * having used its cost, and a call that failed counts as having used nothing. Without `settle`, every call is charged its cost,
   * even if it fails.
   */
  readonly settle?: ((result: T | undefined, error?: unknown) => ByPolicy<Name> | undefined) | undefined;
}

/** A booked turn, or the reason why none was booked. */
export interface Reservation<R extends MaybePromise<Decision> = Decision> {
  /** `decision.allowed` is true if the turn is booked and charged. */
  readonly decision: Decision;
  /** Milliseconds to wait before acting. `Infinity` means that nothing was booked. */
  readonly delay: Millis;
  /** Gives the turn back. Only the first call has an effect. Returns `undefined` if no turn was booked. */
  cancel(): R | undefined;
}

/** One of the keys from which `takeMany` takes. */
export interface ManyItem<R extends MaybePromise<Decision> = MaybePromise<Decision>> {
  /** The limiter that decides on this key. Default: the limiter whose `takeMany` is called. */
  readonly limiter?: Pick<Limiter<R>, 'take' | 'peek' | 'refund'> | undefined;
  /** The key to charge. */
  readonly key: string;
  /** How many units the key is charged: one number for all policies, or a number per policy. Default 1. */
  readonly cost?: ByPolicy | undefined;
  /** A tier of this item's limiter. Default: the policies that `createLimiter` was given. */
  readonly tier?: string | undefined;
  /** How much of each of the item's policies must still be free afterwards, as in `take`. Default 0. */
  readonly keep?: ByPolicy | undefined;
  /** The name of one of the `classes` of the item's limiter. The `keep` of that class applies to the item. */
  readonly class?: string | undefined;
}

/**
 * The decision about several keys. Its numbers are those of the item that was denied, or of the item closest to its limit. `taken`
 * is the sum of what the items were charged.
 */
export interface ManyDecision extends Decision {
  /**
   * True if all items were decided in one step, so that no other call was decided between two of them. Otherwise, the items were
   * charged one by one, and the charges were given back if an item was denied. In that case, a concurrent call may have been denied
   * because of a charge that was later given back.
   */
  readonly atomic: boolean;
  /** The decision about each item, in the order of the items. */
  readonly decisions: readonly Decision[];
}

/**
 * Decides whether keys may act, under the policies it was created with. `R` is the type that its verbs return, which is `Decision`
 * on stores that answer synchronously and `Promise<Decision>` otherwise. `Tier` is the union of its tier names, and `Name` is the
 * union of its policy names.
 */
export interface Limiter<
  R extends MaybePromise<Decision> = Decision,
  Tier extends string = string,
  Name extends string = string,
> {
  /** Charges the key if every policy allows it, and returns the decision. */
  take(key: string, options?: number | TakeOptions<Tier, Name>): R;
  /** Returns the decision that `take` would return, and charges nothing. */
  peek(key: string, options?: number | CostOptions<Tier, Name>): R;
  /**
   * Gives units back. The key never ends up with more than its limit. Pass the decision that made the charge as `of`, so that
   * exactly its units are given back.
   */
  refund(key: string, options?: number | GiveBackOptions<Tier, Name>): R;
  /**
   * Corrects a charge once it is known how much was used. If more was used than charged, charges the difference, even if that
   * overdraws the key and the next caller has to wait. If less was used, gives the difference back.
   */
  settle(key: string, options: SettleOptions<Tier, Name>): R;
  /** Frees held places (concurrency). Units that were charged to other policies are not given back. */
  release(key: string, options?: number | GiveBackOptions<Tier, Name>): R;
  /**
   * Restarts the lease of a held place (concurrency). Pass the returned decision to the next `renew` or `release`, because
   * it identifies the place from then on. A place whose lease had already ended is taken again, even beyond the limit,
   * because its holder is still running. `allowed` is false if that exceeded the limit.
   */
  renew(key: string, options: GiveBackOptions<Tier, Name> & { readonly of: Decision }): R;
  /** Charges the key now for a turn that may be in the future, and says how long to wait for it. */
  reserve(key: string, options?: number | ReserveOptions<Tier, Name>): Answer<R, Reservation<R>>;
  /**
   * Waits until the key may act, then charges it. Callers with the same key and priority are served in the order in which they
   * called. After a timeout, the promise resolves with a denial. If the signal is aborted, the promise rejects.
   */
  acquire(key: string, options?: number | AcquireOptions<Tier, Name>): Promise<Decision>;
  /**
   * Renews a held place (concurrency) three times per lease until `release` or `refund` frees the place. Pass the same decision
   * to those calls as `of`. A place whose decision has been garbage-collected is freed when its lease ends.
   */
  keep(key: string, options: GiveBackOptions<Tier, Name> & { readonly of: Decision }): void;
  /**
   * Acquires a turn, calls the function, settles what it used, and releases held places. Rejects with a `DeniedError` if the
   * turn does not come in time.
   */
  run<T>(key: string, call: () => MaybePromise<T>, options?: number | RunOptions<T, Tier, Name>): Promise<T>;
  /** Blocks the key manually, so that it is denied for this duration even if the policies would allow it. */
  block(key: string, duration: Duration): R;
  /** Ends a manual block. The units that the key has used still count. */
  unblock(key: string): R;
  /** Clears the key's state, including the units that it has used and a manual block. */
  reset(key: string): R;
  /**
   * Takes from several keys, of this or other limiters. All of them are charged, or none. If an item is denied, only its own
   * penalty policies count the denial. Items with the same limiter, tier and key are charged together.
   *
   * All items are decided in one step if their limiters are on the same store, and that store is in memory, in shared memory,
   * behind an ipc socket, on a Redis or Valkey server, or in Postgres. On a Redis Cluster, keys must be in the same slot, which is
   * the case if all items have the same `key`. In all other cases, the items are charged one by one, and the charges are given back
   * if an item is denied. These cases are items on different stores or on another kind of store, items whose units are leased, and
   * items with the same key in different tiers. The decision's `atomic` says whether all items were decided in one step.
   */
  takeMany(items: readonly ManyItem<R>[]): Answer<R, ManyDecision>;
  /** Rejects all waiting callers, frees the limiter's name, and closes the store if the limiter created it. */
  close(): MaybePromise<void>;
}

/** A limiter on any store. Its verbs return a decision or a promise of one, so `await` them. */
export type AnyLimiter<Tier extends string = string, Name extends string = string> = Limiter<
  MaybePromise<Decision>,
  Tier,
  Name
>;

/** A limiter whose verbs return promises, as on Redis or Postgres. */
export type AsyncLimiter<Tier extends string = string, Name extends string = string> = Limiter<
  Promise<Decision>,
  Tier,
  Name
>;

/** Options of `createLimiter`, besides `store`. */
export interface LimiterOptions<Tier extends string = string> {
  /**
   * Limiters with the same name share their keys in a store and take over each other's state. Limiters that are open at
   * the same time must have the same kinds of policies. Required for every store except `memory()`, where the default is
   * derived from the policies.
   */
  readonly name?: string | undefined;
  /**
   * How existing state is converted when this limiter's limits change, or when a key changes tier. The key keeps the units it has
   * used ('additive'), the units it has left ('as-is'), the fraction of the limit that it has left ('proportional'), or nothing
   * ('reset'). Default: 'additive' for limiters with tiers or a policy function. Other limiters read the state unchanged.
   */
  readonly inherit?: Inherit | undefined;
  /**
   * Policies by tier. A call chooses a tier by its name, as in `take(key, { tier: 'pro' })`. All tiers of a key share its counts;
   * policies with the same name, or with the same algorithm and window, use the same count.
   */
  readonly tiers?: { readonly [T in Tier]: Policies } | undefined;
  /**
   * The maximum number of callers that may wait for one key. For all keys together, twice that number may wait. Any further
   * caller gets the store's answer without waiting. Default 100,000.
   */
  readonly maxWaiting?: number | undefined;
  /**
   * Classes of calls that must keep a part of each limit free, by name. A call chooses its class by name, as in
   * `take(key, { class: 'batch' })` with `classes: { batch: { keep: 0.3 } }`.
   */
  readonly classes?: { readonly [name: string]: { readonly keep: ByPolicy } } | undefined;
}
