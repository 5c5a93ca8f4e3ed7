/** What a person holds in hand: verbs over a key. The limiter turns them into hits; the store decides. */
import type { Answer, Decision, MaybePromise, Millis, Plan, Store, WithStore } from './contract.ts';
import { storeOf } from './default-store.ts';
import { type Duration, duration } from './duration.ts';
import { DeniedError, SluiceError } from './errors.ts';
import { INHERIT, type Inherit } from './inherit.ts';
import { kept } from './kept.ts';
import { type ManyDecision, type ManyItem, takeMany } from './many.ts';
import { chain, isPromise, unheard } from './maybe.ts';
import { bound, keyOf, known, oneOf, storeHint } from './options.ts';
import { type Policies, planOf } from './plan.ts';
import { type CostOptions, optionsOf, type Plans, type Verbs, verbsOf } from './verbs.ts';
import { waitingRoom } from './waiting.ts';

export interface ReserveOptions extends CostOptions {
  /** The longest delay that is welcome; a longer one books nothing. Default: no bound. */
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
  /** acquire, call, release. Rejects with a DeniedError when the turn does not come. */
  run<T>(key: string, call: () => MaybePromise<T>, options?: number | AcquireOptions): Promise<T>;
  /** Several keys, of this or other limiters, all or nothing. */
  takeMany(items: readonly ManyItem<R>[]): Answer<R, ManyDecision>;
  /** Ends all waiting, and the store if it is the limiter's own. */
  close(): MaybePromise<void>;
}

/** What a limiter may be told beside its policies; `WithStore` adds its store. */
export interface LimiterOptions {
  /**
   * Limiters with the same name share their keys in a store, and take over each other's state. Required for every store but
   * `memory()`, where the default is derived from the policies.
   */
  readonly name?: string | undefined;
  /**
   * What of a key's state stays when a limiter of this name, or a tier, has other numbers: what was used ('additive'), what
   * was left ('as-is'), the share of it ('proportional'), or nothing ('reset'). Without it the state is read as it is.
   */
  readonly inherit?: Inherit | undefined;
  /** Other policies for some keys: `take(key, { tier: 'pro' })`. */
  readonly tiers?: { readonly [tier: string]: Policies } | undefined;
  /** Callers that may wait at once; one more is denied. Default 100,000. */
  readonly maxWaiting?: number | undefined;
}

/** Policies, or a function that says which ones a key has. */
export type PolicySource = Policies | ((key: string) => Policies);

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
  } = known('createLimiter', limiterOptions(options), ['name', 'inherit', 'tiers', 'maxWaiting', 'store']);
  if (name !== undefined) keyOf(name, 'createLimiter.name');
  if (inherit !== undefined) {
    oneOf('createLimiter.inherit', inherit, INHERIT);
    // A name made from the numbers would change with them.
    if (name === undefined)
      throw new SluiceError('ERR_MISSING_OPTION', 'createLimiter.name', name, 'for inherit');
  }
  bound('createLimiter.maxWaiting', maxWaiting);
  const store = storeOf(given, name, storeHint);
  const plans = plansOf(policies, name, tiers, inherit);
  /** Takes a turn, up to so long from now. */
  const book = (key: string, cost: number, tier: string | undefined, span: Millis) =>
    store.apply({ verb: 'reserve', plan: plans.of(keyOf(key), tier), key, cost, mode: 'whole', span });
  let isWaitedFor = false;
  const verbs = verbsOf(store, plans, (key) => {
    if (isWaitedFor) room.nudge(key);
  });
  const room = waitingRoom(
    {
      takeNow: (key, cost, tier) => book(key, cost, tier, 0),
      peek: (key, cost, tier) => verbs.peek(key, { cost, tier }),
      refund: (key, cost, tier, of) => verbs.refund(key, { cost, tier, of }),
      isHeld: (key, tier) => verbs.holds(key, tier),
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
      const { cost, tier, maxDelay = Infinity } = optionsOf<ReserveOptions>(options, RESERVE);
      const longest = maxDelay === Infinity ? Infinity : duration('maxDelay', maxDelay);
      return chain(
        cost === 0 ? verbs.peek(key, { cost, tier }) : book(key, cost, tier, longest),
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
      try {
        return await call();
      } finally {
        // The call is done, whatever becomes of the lease: it ends by itself.
        unheard(() => verbs.release(key, { cost, tier, of: decision }));
      }
    },
    takeMany: (items) => takeMany<MaybePromise<Decision>>(limiter, items),
    close() {
      room.close();
      return given === undefined ? store.close() : undefined;
    },
  };
  return limiter;
}

const RESERVE = ['cost', 'tier', 'maxDelay'] as const;
const ACQUIRE = ['cost', 'tier', 'timeout', 'signal', 'priority'] as const;

/** Limiters so far whose policies depend on the key and that have no name: each gets one of its own. */
let unnamed = 0;

function plansOf(
  policies: PolicySource,
  name: string | undefined,
  tiers: { readonly [tier: string]: Policies },
  inherit: Inherit | undefined,
): Plans {
  if (typeof policies === 'function') name ??= `by key ${++unnamed}`;
  const ofKey = typeof policies === 'function' ? plansByKey(policies, name as string, inherit) : undefined;
  const base = ofKey === undefined ? planOf(policies as Policies, name, inherit) : undefined;
  const own = ofKey ?? (() => base as Plan);
  if (typeof tiers !== 'object' || tiers === null || Array.isArray(tiers))
    throw new SluiceError('ERR_OPTIONS', 'createLimiter.tiers', tiers);
  const byTier = new Map(
    Object.entries(tiers).map(([tier, policies]) => [tier, planOf(policies, name ?? base?.name, inherit)]),
  );
  return {
    of(key, tier) {
      if (tier === undefined) return base ?? own(key);
      const plan = byTier.get(tier);
      if (plan !== undefined) return plan;
      throw new SluiceError('ERR_TIER', 'tier', tier, `tiers: ${[...byTier.keys()].join(', ') || 'none'}`);
    },
    /** Tiers with another signature have rows of their own. */
    all(key) {
      const first = own(key);
      const apart = ({ signature }: Plan) => signature !== first.signature;
      return [first, ...[...byTier.values()].filter(apart)];
    },
  };
}

/** The options of a limiter, and not what belongs into them. */
function limiterOptions<T>(options: T): T {
  if (typeof options === 'string')
    throw new SluiceError('ERR_OPTIONS', 'createLimiter', options, `such as { name: '${options}' }`);
  if (typeof (options as { apply?: unknown } | null)?.apply === 'function')
    throw new SluiceError('ERR_OPTIONS', 'createLimiter', options, 'put the store into it: { store }');
  return options;
}

const ANSWER =
  'a policy function must return one synchronously; load limits before, or choose a tier per call';

/** Plans kept ready for texts that a policy function returns. A plan that was dropped is made again. */
const READY = 1000;

/** Plans for what the function returns, made once for each object, and for each text while it is used. */
function plansByKey(
  policiesOf: (key: string) => Policies,
  name: string,
  inherit: Inherit | undefined,
): (key: string) => Plan {
  const byText = kept<Plan>(READY);
  const byObject = new WeakMap<object, Plan>();
  return (key) => {
    const policies = policiesOf(key);
    if (policies === undefined || policies === null || isPromise(policies))
      throw new SluiceError('ERR_POLICY', 'policies', policies, ANSWER);
    const known = typeof policies === 'string' ? byText.get(policies) : byObject.get(policies);
    if (known !== undefined) return known;
    const plan = planOf(policies, name, inherit);
    if (typeof policies === 'string') byText.set(policies, plan);
    else byObject.set(policies, plan);
    return plan;
  };
}
