/** What a person holds in hand: verbs over a key. The limiter turns them into hits; the store decides. */
import {
  type Answer,
  type Decision,
  leaseOf,
  type MaybePromise,
  type Millis,
  type Plan,
  type Store,
  type WithStore,
} from '../engine/contract.ts';
import { storeOf } from './default-store.ts';
import { type Duration, duration } from '../internal/duration.ts';
import { DeniedError, SluiceError } from '../internal/errors.ts';
import { INHERIT, type Inherit } from '../policy/inherit.ts';
import { keeper } from './renewal.ts';
import { type ManyDecision, type ManyItem, takeMany } from './take-many.ts';
import { chain, ignoreFailure } from '../internal/maybe-promise.ts';
import { bound, keyOf, checkOptionNames, oneOf, storeHint } from '../internal/options.ts';
import { openName } from './open-names.ts';
import type { Policies } from '../policy/named-policies.ts';
import { type PolicySource, plansOf } from './plans.ts';
import {
  type CostOptions,
  delayWithin,
  type HeldOptions,
  heldOptions,
  optionsOf,
  type Verbs,
  verbsOf,
} from './verbs.ts';
import { waitingRoom } from './waiting.ts';

export interface ReserveOptions extends CostOptions {
  /**
   * The longest delay that is accepted; a longer one books nothing. Default: one window, the longest of the policies'.
   * `Infinity`: any delay.
   */
  readonly maxDelay?: Duration | undefined;
}

/** A turn that is booked, or why it is not. */
export interface Reservation<R extends MaybePromise<Decision> = Decision> {
  /** `allowed`: booked and charged. */
  readonly decision: Decision;
  /** How long to wait before acting; Infinity: not booked, do not act. */
  readonly delay: Millis;
  /** Gives the turn back, once. */
  cancel(): R | undefined;
}

export interface AcquireOptions extends CostOptions {
  /** After this long the answer is a denial; 0: only if it passes at once. Default: wait as long as it takes. */
  readonly timeout?: Duration | undefined;
  /** Aborted, it ends the waiting; nothing is charged then. */
  readonly signal?: AbortSignal | undefined;
  /** Higher goes first; default 0. */
  readonly priority?: number | undefined;
}

/** Every verb, over a key. `R` says when the store answers: at once, or later. */
export interface Limiter<R extends MaybePromise<Decision> = Decision> extends Verbs<R> {
  /** Charges now, even for a turn in the future. */
  reserve(key: string, options?: number | ReserveOptions): Answer<R, Reservation<R>>;
  /** Waits for the turn: first come first served per key and priority. A timeout answers with a denial, an abort rejects. */
  acquire(key: string, options?: number | AcquireOptions): Promise<Decision>;
  /**
   * Renews a held place (concurrency) three times per lease, until all of it is given back by `release` or `refund` with the
   * same decision as `of`. A place whose decision has been garbage-collected ends with its lease.
   */
  keep(key: string, options: HeldOptions): void;
  /** acquire, call, release; what is held is kept meanwhile. Rejects with a DeniedError when the turn does not come. */
  run<T>(key: string, call: () => MaybePromise<T>, options?: number | AcquireOptions): Promise<T>;
  /** Several keys, of this or other limiters, all or nothing. */
  takeMany(items: readonly ManyItem<R>[]): Answer<R, ManyDecision>;
  /** Ends all waiting, frees the limiter's name, and closes the store if it is the limiter's own. */
  close(): MaybePromise<void>;
}

/** What a limiter may be told beside its policies; `WithStore` adds its store. */
export interface LimiterOptions {
  /**
   * Limiters with the same name share their keys in a store, and take over each other's state. Those that are open at the same
   * time must have the same kind of policies. Required for every store but `memory()`, where the default is derived from the
   * policies.
   */
  readonly name?: string | undefined;
  /**
   * How existing state is converted when this limiter's limits change, or when a key changes tier. What stays is what was used
   * ('additive'), what was left ('as-is'), the share of it ('proportional'), or nothing ('reset'). Default: 'additive' for
   * limiters with tiers or with a policy function. Other limiters read the state as it is.
   */
  readonly inherit?: Inherit | undefined;
  /**
   * Other policies for some keys: `take(key, { tier: 'pro' })`. A key has one count for all tiers: policies of the same name,
   * or with the same algorithm and window, share it.
   */
  readonly tiers?: { readonly [tier: string]: Policies } | undefined;
  /**
   * The most callers that may wait for one key; default 100,000. Over all keys, twice as many may wait. A caller beyond
   * that asks the store once and does not wait.
   */
  readonly maxWaiting?: number | undefined;
}

/** In memory: answers come at once. */
export function createLimiter(
  policies: PolicySource,
  options?: LimiterOptions & { readonly store?: undefined },
): Limiter;
/** With a store, answers come as that store gives them: at once, or as promises. */
export function createLimiter<R extends MaybePromise<Decision>>(
  policies: PolicySource,
  options: LimiterOptions & WithStore<R>,
): Limiter<R>;
export function createLimiter(
  policies: PolicySource,
  options: LimiterOptions & { readonly store?: Store | undefined } = {},
): Limiter<MaybePromise<Decision>> {
  const {
    name,
    inherit,
    tiers = {},
    maxWaiting = 100_000,
    store: given,
  } = checkOptionNames('createLimiter', limiterOptions(options), [
    'name',
    'inherit',
    'tiers',
    'maxWaiting',
    'store',
  ]);
  if (name !== undefined) keyOf(name, 'createLimiter.name');
  if (typeof tiers !== 'object' || tiers === null || Array.isArray(tiers))
    throw new SluiceError('ERR_OPTIONS', 'createLimiter.tiers', tiers);
  const isPlain = typeof policies !== 'function' && Object.keys(tiers).length === 0;
  if (inherit !== undefined) {
    oneOf('createLimiter.inherit', inherit, INHERIT);
    // Such a limiter inherits only from another one, and a name made from the numbers would change with them.
    if (name === undefined && isPlain)
      throw new SluiceError('ERR_MISSING_OPTION', 'createLimiter.name', name, 'for inherit');
  }
  bound('createLimiter.maxWaiting', maxWaiting);
  const store = storeOf(given, name, storeHint);
  const plans = plansOf(policies, name, tiers, inherit ?? (isPlain ? undefined : 'additive'));
  for (const plan of plans.fixed) store.accept?.(plan);
  const freeName = given === undefined || name === undefined ? () => {} : openName(given, name, plans.shape);
  /** Takes a turn, up to so long from now. */
  const book = (plan: Plan, key: string, cost: number, span: Millis) =>
    store.apply({ verb: 'reserve', plan, key, cost, mode: 'whole', span });
  let isWaitedFor = false;
  const places = keeper(store.clock);
  const verbs = verbsOf(
    store,
    plans,
    (key) => {
      if (isWaitedFor) room.givenBack(key);
    },
    (of, cost) => places.latest(of, cost),
  );
  const room = waitingRoom(
    {
      takeNow: (key, cost, tier) => book(plans.of(keyOf(key), tier), key, cost, 0),
      peek: (key, cost, tier) => verbs.peek(key, { cost, tier }),
      refund: (key, cost, tier, of) => verbs.refund(key, { cost, tier, of }),
      isHeld: (key, tier) => verbs.holds(key, tier),
      isShared: store.ephemeral !== true,
    },
    store.clock,
    maxWaiting,
  );

  async function acquire(key: string, options?: number | AcquireOptions): Promise<Decision> {
    const {
      cost,
      tier,
      timeout = Infinity,
      signal,
      priority = 0,
    } = optionsOf<AcquireOptions>(options, ACQUIRE);
    plans.of(keyOf(key), tier); // A key or a tier that is none is told at once.
    if (typeof priority !== 'number' || Number.isNaN(priority))
      throw new SluiceError('ERR_NUMBER', 'priority', priority);
    const patience = timeout === Infinity || timeout === 0 ? timeout : duration('timeout', timeout);
    isWaitedFor = true;
    return room.wait(key, { cost, tier, signal, priority, timeout: patience });
  }

  const limiter: Limiter<MaybePromise<Decision>> = {
    ...verbs,
    reserve(key, options) {
      const { cost, tier, maxDelay } = optionsOf<ReserveOptions>(options, RESERVE);
      const plan = plans.of(keyOf(key), tier);
      const longest = delayWithin(plan, maxDelay);
      return chain(
        cost === 0 ? verbs.peek(key, { cost, tier }) : book(plan, key, cost, longest),
        (decision) => {
          const booked = cost === 0 ? decision.allowed : decision.taken === cost;
          let cancelled = !booked;
          return {
            decision: booked ? { ...decision, allowed: true, retryAfter: 0 } : decision,
            delay: booked ? decision.retryAfter : Infinity,
            cancel() {
              if (cancelled) return undefined;
              cancelled = true;
              return verbs.refund(key, { cost, tier, of: decision });
            },
          };
        },
      );
    },
    acquire,
    keep(key, options) {
      const { cost, tier, of } = heldOptions(options);
      const lease = leaseOf(plans.of(keyOf(key), tier));
      if (lease > 0)
        places.keep(of, cost, lease, (left, latest) => verbs.renew(key, { cost: left, tier, of: latest }));
    },
    async run(key, call, options) {
      keyOf(key);
      if (typeof call !== 'function')
        throw new SluiceError(
          'ERR_OPTIONS',
          'call',
          call,
          "run('alice', () => work())",
          'must be a function',
        );
      const decision = await acquire(key, options);
      if (!decision.allowed) throw new DeniedError(key, decision);
      const { cost, tier } = optionsOf<AcquireOptions>(options, ACQUIRE);
      limiter.keep(key, { cost, tier, of: decision });
      try {
        return await call();
      } finally {
        // The call is done, whatever becomes of the lease: it ends by itself.
        ignoreFailure(() => verbs.release(key, { cost, tier, of: decision }));
      }
    },
    takeMany: (items) => takeMany<MaybePromise<Decision>>(limiter, items),
    close() {
      room.close();
      freeName();
      return given === undefined ? store.close() : undefined;
    },
  };
  return limiter;
}

const RESERVE = ['cost', 'tier', 'maxDelay'] as const;
const ACQUIRE = ['cost', 'tier', 'timeout', 'signal', 'priority'] as const;

/** The options of a limiter, and not what belongs into them. */
function limiterOptions<T>(options: T): T {
  if (typeof options === 'string')
    throw new SluiceError('ERR_OPTIONS', 'createLimiter', options, `such as { name: '${options}' }`);
  if (typeof (options as { apply?: unknown } | null)?.apply === 'function')
    throw new SluiceError('ERR_OPTIONS', 'createLimiter', options, 'put the store into it: { store }');
  return options;
}
