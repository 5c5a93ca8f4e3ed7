/** The verbs that ask about now. What books a turn, waits for one, or spans several keys is built on them: limiter.ts. */
import {
  type Decision,
  type Hit,
  leaseOf,
  type MaybePromise,
  type Millis,
  type Mode,
  type Plan,
  type Store,
  type Verb,
} from '../engine/contract.ts';
import { type Duration, duration } from '../internal/duration.ts';
import { SluiceError } from '../internal/errors.ts';
import { all, chain } from '../internal/maybe-promise.ts';
import { cost as checkCost, keyOf, checkOptionNames, oneOf } from '../internal/options.ts';

/** In place of a cost alone. */
export interface CostOptions {
  /** Default 1; 0 peeks. */
  readonly cost?: number | undefined;
  /** One of the limiter's tiers; default its own policies. */
  readonly tier?: string | undefined;
}

/** In place of a cost alone. */
export interface TakeOptions extends CostOptions {
  /** Default 'whole'. */
  readonly mode?: Mode | undefined;
  /**
   * Only in mode 'always': the longest for which attempts beyond the limit may keep the key denied. Default: one window,
   * the longest of the policies'. `Infinity` charges every attempt in full.
   */
  readonly maxDelay?: Duration | undefined;
}

/** In place of a cost alone. */
export interface GiveBackOptions extends CostOptions {
  /**
   * The decision whose charge is given back. With it, a place that is held (concurrency) is freed only if it is this
   * decision's own: nothing happens if its lease has ended. A charge made by the fallback (`onFailure`) is given back there
   * and not in the store, which never made it.
   */
  readonly of?: Decision | undefined;
}

/** Which place is meant. */
export interface HeldOptions extends CostOptions {
  /** The decision that took the place, or that last renewed it. */
  readonly of: Decision;
}

/** What asks the store once. `R` says when it answers. */
export interface Verbs<R extends MaybePromise<Decision> = Decision> {
  /** Charges if every policy allows. */
  take(key: string, options?: number | TakeOptions): R;
  /** The same answer, nothing written. */
  peek(key: string, options?: number | CostOptions): R;
  /** Gives back; never above full. */
  refund(key: string, options?: number | GiveBackOptions): R;
  /** Gives back only what is held: concurrency. */
  release(key: string, options?: number | GiveBackOptions): R;
  /**
   * Begins the lease of a held place (concurrency) again. The answer identifies the place from then on: pass it to the next
   * `renew` or `release`. A place whose lease had ended is taken again, even beyond the limit, because its holder runs on;
   * then `allowed` is false if there was no room.
   */
  renew(key: string, options: HeldOptions): R;
  /** Whether what a key takes is held until `release`. */
  holds(key: string, tier?: string): boolean;
  /** Denies the key for a while, whatever it has left. */
  block(key: string, span: Duration): R;
  /** As if the key had never been seen. */
  reset(key: string): R;
}

/** Which plans a limiter has. */
export interface Plans {
  of(key: string, tier: string | undefined): Plan;
  /** Those whose rows a reset must reach; the first one's answer counts. */
  all(key: string): readonly Plan[];
}

/**
 * `given`: called after something was given back.
 * `latest`: the decision that identifies a place now, of which the cost is about to be given back.
 */
export function verbsOf(
  store: Store,
  plans: Plans,
  given: (key: string) => void,
  latest: (of: Decision, cost: number) => MaybePromise<Decision> = (of) => of,
): Verbs<MaybePromise<Decision>> {
  function ask(verb: Verb, key: string, cost: number, tier?: string, span = 0) {
    return store.apply({ verb, plan: planOf(key, tier), key, cost, mode: 'whole', span });
  }

  const planOf = (key: string, tier?: string): Plan => plans.of(keyOf(key), tier);

  function giveBack(verb: 'refund' | 'release', key: string, options?: number | GiveBackOptions) {
    const { cost, tier, of: meant } = optionsOf<GiveBackOptions>(options, GIVE_BACK);
    const plan = planOf(key, tier);
    const current = meant?.at === undefined ? meant : latest(meant, cost);
    return chain(current, (of) => {
      const answer = store.apply({ verb, plan, key, cost, mode: 'whole', span: 0, of });
      given(key);
      return answer;
    });
  }

  return {
    take(key, options) {
      if (options === undefined)
        return store.apply({ verb: 'take', plan: planOf(key), key, cost: 1, mode: 'whole', span: 0 });
      const { cost, tier, mode = 'whole', maxDelay } = optionsOf<TakeOptions>(options, TAKE);
      oneOf('mode', mode, MODES);
      if (maxDelay !== undefined && mode !== 'always')
        throw new SluiceError('ERR_UNKNOWN_OPTION', 'maxDelay', maxDelay, "only with mode: 'always'");
      const plan = planOf(key, tier);
      const span = mode === 'always' ? delayWithin(plan, maxDelay) : 0;
      return store.apply({ verb: cost === 0 ? 'peek' : 'take', plan, key, cost, mode, span });
    },
    peek(key, options) {
      const { cost, tier } = optionsOf<CostOptions>(options, COST);
      return ask('peek', key, cost, tier);
    },
    refund: (key, options) => giveBack('refund', key, options),
    release: (key, options) => giveBack('release', key, options),
    renew(key, options) {
      const { cost, tier, of } = heldOptions(options);
      const plan = planOf(key, tier);
      const verb = of.at === undefined || leaseOf(plan) === 0 ? 'peek' : 'renew';
      return store.apply({ verb, plan, key, cost, mode: 'whole', span: 0, of });
    },
    holds: (key, tier) => leaseOf(planOf(key, tier)) > 0,
    /** A manual block belongs to the limiter's name, so one hit reaches every tier and version. */
    block: (key, span) => ask('block', key, 0, undefined, duration('block', span)),
    reset(key) {
      const hits = plans
        .all(keyOf(key))
        .map((plan): Hit => ({ verb: 'reset', plan, key, cost: 0, mode: 'whole', span: 0 }));
      const answer = chain(all(hits.map((hit) => store.apply(hit))), ([own]) => own);
      given(key);
      return answer;
    },
  };
}

const MODES = ['whole', 'partial', 'always'] as const;
const COST = ['cost', 'tier'] as const;
const GIVE_BACK = ['cost', 'tier', 'of'] as const;
const TAKE = ['cost', 'tier', 'mode', 'maxDelay'] as const;

/**
 * How far into the future a plan may be charged. Default: one window, the longest of the policies that can be overdrawn; the
 * time of their rate where that is longer.
 */
export function delayWithin({ policies }: Plan, maxDelay: Duration | undefined): Millis {
  if (maxDelay === Infinity) return Infinity;
  if (maxDelay !== undefined) return duration('maxDelay', maxDelay);
  let longest = 0;
  for (const { algorithm, window, per = window } of policies)
    if (algorithm.booking !== undefined) longest = Math.max(longest, window, per);
  return longest > 0 ? longest : Infinity;
}

/** Options of `renew` and `keep`, whose decision is required. */
export function heldOptions(options: HeldOptions): HeldOptions & { cost: number } {
  const given = optionsOf<HeldOptions>(options, GIVE_BACK);
  if (typeof given.of !== 'object' || given.of === null)
    throw new SluiceError(
      'ERR_OPTIONS',
      'of',
      given.of,
      '{ of: decision }',
      'must be the decision that took the place',
    );
  return given;
}

/** A bare number is the cost. */
export function optionsOf<T extends CostOptions>(
  options: number | T | undefined,
  names: readonly (keyof T & string)[],
): T & { cost: number } {
  if (options === undefined) return { cost: 1 } as T & { cost: number };
  // Also text, which is refused as a cost: the caller meant a number.
  if (typeof options !== 'object') return { cost: checkCost(options) } as T & { cost: number };
  const { cost = 1 } = checkOptionNames('options', options, names);
  return { ...options, cost: checkCost(cost) };
}
