/** What a person holds in hand: verbs over a key. The limiter turns them into hits; the store decides. */
import type { Answer, Decision, Hit, MaybePromise, Millis, Mode, Plan, Store, Verb } from './contract.ts';
import { type Duration, duration } from './duration.ts';
import { DeniedError, SluiceError } from './errors.ts';
import { type ManyDecision, type ManyItem, takeMany } from './many.ts';
import { all, chain, unheard } from './maybe.ts';
import { bound, cost as checkCost, known, oneOf } from './options.ts';
import { type Inherit, type Policies, planOf } from './plan.ts';
import { memory } from './stores/memory/memory.ts';
import { waitingRoom } from './waiting.ts';

export interface CostOptions {
  /** Default 1; 0 peeks. */
  readonly cost?: number | undefined;
  readonly tier?: string | undefined;
}

export interface TakeOptions extends CostOptions {
  /** Default 'whole'. */
  readonly mode?: Mode | undefined;
}

export interface ReserveOptions extends CostOptions {
  /** The longest delay that is welcome; a longer one books nothing. Default: no bound. */
  readonly maxDelay?: Duration | undefined;
}

export interface AcquireOptions extends CostOptions {
  /** After this long the answer is a denial; 0: only if it passes at once. Default: wait as long as it takes. */
  readonly timeout?: Duration | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Higher goes first; default 0. */
  readonly priority?: number | undefined;
}

export interface Reservation<R extends MaybePromise<Decision> = Decision> {
  /** `allowed`: booked and charged. */
  readonly decision: Decision;
  /** How long to wait before acting; Infinity: not booked, do not act. */
  readonly delay: Millis;
  /** Gives the turn back, once. */
  cancel(): R | undefined;
}

export interface Limiter<R extends MaybePromise<Decision> = Decision> {
  /** Charges if every policy allows. */
  take(key: string, options?: number | TakeOptions): R;
  /** The same answer, nothing written. */
  peek(key: string, options?: number | CostOptions): R;
  /** Gives back; never above full. */
  refund(key: string, options?: number | CostOptions): R;
  /** Gives back only what is held: concurrency. */
  release(key: string, options?: number | CostOptions): R;
  /** Charges now, even for a turn in the future. */
  reserve(key: string, options?: number | ReserveOptions): Answer<R, Reservation<R>>;
  /** Waits for the turn: first come first served per key and priority. A timeout answers with a denial, an abort rejects. */
  acquire(key: string, options?: number | AcquireOptions): Promise<Decision>;
  /** acquire, call, release. Rejects with a DeniedError when the turn does not come. */
  run<T>(key: string, call: () => MaybePromise<T>, options?: number | AcquireOptions): Promise<T>;
  /** Whether what a key takes is held until `release`. */
  holds(key: string, tier?: string): boolean;
  /** Denies the key for a while, whatever it has left. */
  block(key: string, span: Duration): R;
  /** As if the key had never been seen. */
  reset(key: string): R;
  /** Several keys, of this or other limiters, all or nothing. */
  takeMany(items: readonly ManyItem<R>[]): Answer<R, ManyDecision>;
  /** Ends all waiting, and the store if it is the limiter's own. */
  close(): MaybePromise<void>;
}

export interface LimiterOptions {
  /** Keeps this limiter's keys apart; limiters with the same name share them, and take over each other's state. */
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

/** In memory, answers come at once; with another store, as that store answers. */
export function createLimiter(
  policies: PolicySource,
  options?: LimiterOptions & { readonly store?: undefined },
): Limiter;
export function createLimiter<R extends MaybePromise<Decision>>(
  policies: PolicySource,
  options: LimiterOptions & { readonly store: Store<R> },
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
  } = known('createLimiter', options, ['name', 'inherit', 'tiers', 'maxWaiting', 'store']);
  if (inherit !== undefined) {
    oneOf('createLimiter.inherit', inherit, INHERIT);
    // A name made from the numbers would change with them.
    if (name === undefined)
      throw new SluiceError('ERR_MISSING_OPTION', 'createLimiter.name', name, 'for inherit');
  }
  bound('createLimiter.maxWaiting', maxWaiting);
  if (given !== undefined && typeof given?.apply !== 'function')
    throw new SluiceError('ERR_OPTIONS', 'createLimiter.store', given, 'a store');
  const store: Store = given ?? memory();
  const base = typeof policies === 'function' ? undefined : planOf(policies, name, undefined, inherit);
  const planForKey =
    typeof policies === 'function' ? plansByKey(policies, name ?? 'sluice', inherit) : undefined;
  const tierPlans = new Map(
    Object.entries(tiers).map(([tier, own]) => [
      tier,
      planOf(own, name ?? base?.name ?? 'sluice', base, inherit),
    ]),
  );

  function planFor(key: string, tier: string | undefined): Plan {
    if (typeof key !== 'string') throw new SluiceError('ERR_KEY', 'key', key);
    if (tier === undefined) return base ?? (planForKey as (key: string) => Plan)(key);
    const plan = tierPlans.get(tier);
    if (plan === undefined)
      throw new SluiceError('ERR_TIER', 'tier', tier, `tiers: ${[...tierPlans.keys()].join(', ')}`);
    return plan;
  }

  function hit(verb: Verb, key: string, cost: number, tier?: string, mode: Mode = 'whole', span = 0): Hit {
    return { verb, plan: planFor(key, tier), key, cost, mode, span };
  }

  const peek = (key: string, cost: number, tier?: string) => store.apply(hit('peek', key, cost, tier));

  function take(key: string, cost: number, tier?: string, mode: Mode = 'whole'): MaybePromise<Decision> {
    return cost === 0 ? peek(key, 0, tier) : store.apply(hit('take', key, cost, tier, mode));
  }

  function giveBack(verb: 'refund' | 'release' | 'reset', key: string, cost: number, tier?: string) {
    const answer = store.apply(hit(verb, key, cost, tier));
    if (isWaitedFor) room.nudge(key);
    return answer;
  }

  /** Tiers of other algorithms have rows of their own, and all have after a 'reset'. The answer is that of the limiter's own policies. */
  function everywhere(key: string, act: (tier?: string) => MaybePromise<Decision>): MaybePromise<Decision> {
    const own = planFor(key, undefined);
    const others = [...tierPlans]
      .filter(([, { name, variant }]) => name !== own.name || variant !== own.variant)
      .map(([tier]) => act(tier));
    return chain(all([act(), ...others]), ([own]) => own);
  }

  const holds = (key: string, tier?: string): boolean =>
    planFor(key, tier).policies.some(({ algorithm }) => algorithm.holds);

  let isWaitedFor = false;
  const room = waitingRoom(
    {
      takeNow: (key, cost, tier) => store.apply(hit('reserve', key, cost, tier)),
      peek,
      refund: (key, cost, tier) => giveBack('refund', key, cost, tier),
      isHeld: holds,
    },
    store.clock,
    maxWaiting,
  );

  async function acquire(key: string, options?: number | AcquireOptions): Promise<Decision> {
    const { cost, tier, timeout, signal, priority = 0 } = optionsOf<AcquireOptions>(options, ACQUIRE);
    planFor(key, tier);
    if (typeof priority !== 'number' || Number.isNaN(priority))
      throw new SluiceError('ERR_NUMBER', 'priority', priority);
    const patience =
      timeout === undefined || timeout === Infinity
        ? Infinity
        : timeout === 0
          ? 0
          : duration('timeout', timeout);
    isWaitedFor = true;
    return room.wait(key, { cost, tier, signal, priority, timeout: patience });
  }

  const limiter: Limiter<MaybePromise<Decision>> = {
    take(key, options) {
      if (options === undefined)
        return store.apply({
          verb: 'take',
          plan: planFor(key, undefined),
          key,
          cost: 1,
          mode: 'whole',
          span: 0,
        });
      if (typeof options === 'number') return take(key, checkCost(options));
      const { cost, tier, mode = 'whole' } = optionsOf<TakeOptions>(options, TAKE);
      return take(key, cost, tier, oneOf('mode', mode, MODES));
    },
    peek(key, options) {
      const { cost, tier } = optionsOf<CostOptions>(options, COST);
      return peek(key, cost, tier);
    },
    refund(key, options) {
      const { cost, tier } = optionsOf<CostOptions>(options, COST);
      return giveBack('refund', key, cost, tier);
    },
    release(key, options) {
      const { cost, tier } = optionsOf<CostOptions>(options, COST);
      return giveBack('release', key, cost, tier);
    },
    reserve(key, options) {
      const { cost, tier, maxDelay } = optionsOf<ReserveOptions>(options, RESERVE);
      const longest =
        maxDelay === undefined || maxDelay === Infinity ? Infinity : duration('maxDelay', maxDelay);
      const answer =
        cost === 0 ? peek(key, 0, tier) : store.apply(hit('reserve', key, cost, tier, 'whole', longest));
      return chain(answer, (decision) => {
        const booked = cost === 0 ? decision.allowed : decision.taken === cost;
        let cancelled = !booked;
        return {
          decision: booked ? { ...decision, allowed: true, retryAfter: 0 } : decision,
          delay: booked ? decision.retryAfter : Infinity,
          cancel() {
            if (cancelled) return undefined;
            cancelled = true;
            return giveBack('refund', key, cost, tier);
          },
        };
      });
    },
    acquire,
    async run(key, call, options) {
      const decision = await acquire(key, options);
      if (!decision.allowed) throw new DeniedError(key, decision);
      const { cost, tier } = optionsOf<AcquireOptions>(options, ACQUIRE);
      try {
        return await call();
      } finally {
        // The call is done, whatever becomes of the lease: it ends by itself.
        unheard(() => giveBack('release', key, cost, tier));
      }
    },
    holds,
    block(key, span) {
      const length = duration('block', span);
      return everywhere(key, (tier) => store.apply(hit('block', key, 0, tier, 'whole', length)));
    },
    reset: (key) => everywhere(key, (tier) => giveBack('reset', key, 0, tier)),
    takeMany: (items) => takeMany<MaybePromise<Decision>>(limiter, items),
    close() {
      room.close();
      return given === undefined ? store.close() : undefined;
    },
  };
  return limiter;
}

const INHERIT = ['as-is', 'proportional', 'additive', 'reset'] as const;
const MODES = ['whole', 'partial', 'always'] as const;
const COST = ['cost', 'tier'] as const;
const TAKE = ['cost', 'tier', 'mode'] as const;
const RESERVE = ['cost', 'tier', 'maxDelay'] as const;
const ACQUIRE = ['cost', 'tier', 'timeout', 'signal', 'priority'] as const;

function optionsOf<T extends CostOptions>(
  options: number | T | undefined,
  names: readonly (keyof T & string)[],
): T & { cost: number } {
  if (options === undefined) return { cost: 1 } as T & { cost: number };
  if (typeof options === 'number') return { cost: checkCost(options) } as T & { cost: number };
  const { cost = 1 } = known('options', options, names);
  return { ...options, cost: checkCost(cost) };
}

/** Plans for what the function returns, each made once. Texts are remembered up to a bound, objects while they live. */
function plansByKey(
  policiesOf: (key: string) => Policies,
  name: string,
  inherit: Inherit | undefined,
): (key: string) => Plan {
  const byText = new Map<string, Plan>();
  const byObject = new WeakMap<object, Plan>();
  return (key) => {
    const policies = policiesOf(key);
    const known = typeof policies === 'string' ? byText.get(policies) : byObject.get(policies);
    if (known !== undefined) return known;
    const plan = planOf(policies, name, undefined, inherit);
    if (typeof policies !== 'string') byObject.set(policies, plan);
    else if (byText.size < 1000) byText.set(policies, plan);
    return plan;
  };
}
