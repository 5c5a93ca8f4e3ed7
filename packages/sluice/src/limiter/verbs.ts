/** The verbs that call the store once. Verbs that book a turn, wait, or take from several keys are built on these in limiter.ts. */
import {
  type Decision,
  type Hit,
  leaseOf,
  type MaybePromise,
  type Millis,
  type Plan,
  type Store,
  type Verb,
} from '../engine/contract.ts';
import { type Duration, duration } from '../internal/duration.ts';
import { SluiceError } from '../internal/errors.ts';
import { all, chain } from '../internal/maybe-promise.ts';
import { cost as checkCost, keyOf, checkOptionNames, oneOf } from '../internal/options.ts';
import type { AnyLimiter, CostOptions, GiveBackOptions, HeldOptions, TakeOptions } from './api.ts';

export type Verbs = Pick<
  AnyLimiter,
  'take' | 'peek' | 'refund' | 'release' | 'renew' | 'block' | 'unblock' | 'reset'
>;

/** The plans of a limiter. */
export interface Plans {
  /** The plan of every call without a tier. Undefined if a policy function chooses the plan. */
  readonly base: Plan | undefined;
  of(key: string, tier: string | undefined): Plan;
  /** Every plan that has its own row. `reset` returns the decision of the first one. */
  all(key: string): readonly Plan[];
}

/**
 * Creates the verbs. `onRoom` is called after the key may have got more units, so that waiters try again. `latest` returns the
 * decision that identifies a held place now, before `cost` units of it are given back.
 */
export function verbsOf(
  store: Store,
  plans: Plans,
  onRoom: (key: string) => void,
  latest: (of: Decision, cost: number) => MaybePromise<Decision>,
): Verbs {
  function ask(verb: Verb, key: string, cost: number, tier?: string, span = 0) {
    return store.apply({ verb, plan: planOf(key, tier), key, cost, mode: 'whole', span });
  }

  const planOf = (key: string, tier?: string): Plan => plans.of(keyOf(key), tier);
  const takeBase = plans.base === undefined ? undefined : store.taker?.(plans.base);

  function giveBack(verb: 'refund' | 'release', key: string, options?: number | GiveBackOptions) {
    const { cost, tier, of: meant } = optionsOf<GiveBackOptions>(options, GIVE_BACK);
    const plan = planOf(key, tier);
    const current = meant?.at === undefined ? meant : latest(meant, cost);
    return chain(current, (of) => {
      const answer = store.apply({ verb, plan, key, cost, mode: 'whole', span: 0, of });
      onRoom(key);
      return answer;
    });
  }

  return {
    take(key, options) {
      // The most frequent calls, take(key) and take(key, 3), create no hit if the store has a fast path.
      if (takeBase !== undefined && typeof key === 'string') {
        if (options === undefined) return takeBase(key, 1);
        if (typeof options === 'number' && options > 0) return takeBase(key, checkCost(options));
      }
      const { cost, tier, mode = 'whole', maxDelay } = optionsOf<TakeOptions>(options, TAKE);
      oneOf('mode', mode, MODES);
      if (maxDelay !== undefined && mode !== 'always')
        throw new SluiceError('ERR_UNKNOWN_OPTION', 'maxDelay', maxDelay, "allowed only with mode: 'always'");
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
    /** A manual block belongs to the limiter's name, so one hit reaches every tier and version. */
    block: (key, span) => ask('block', key, 0, undefined, duration('block', span)),
    /** Ends a manual block, by setting a block that ends now. */
    unblock(key) {
      const answer = ask('block', key, 0);
      onRoom(key);
      return answer;
    },
    reset(key) {
      const hits = plans
        .all(keyOf(key))
        .map((plan): Hit => ({ verb: 'reset', plan, key, cost: 0, mode: 'whole', span: 0 }));
      const answer = chain(all(hits.map((hit) => store.apply(hit))), ([own]) => own);
      onRoom(key);
      return answer;
    },
  };
}

const MODES = ['whole', 'partial', 'always'] as const;
const COST = ['cost', 'tier'] as const;
const GIVE_BACK = ['cost', 'tier', 'of'] as const;
const TAKE = ['cost', 'tier', 'mode', 'maxDelay'] as const;

/**
 * How far into the future a plan may be charged. Default: the longest window of the policies that can be overdrawn, or the
 * duration that their rate refers to, if that is longer.
 */
export function delayWithin({ policies }: Plan, maxDelay: Duration | undefined): Millis {
  if (maxDelay === Infinity) return Infinity;
  if (maxDelay !== undefined) return duration('maxDelay', maxDelay);
  let longest = 0;
  for (const { algorithm, window, per = window } of policies)
    if (algorithm.booking !== undefined) longest = Math.max(longest, window, per);
  return longest > 0 ? longest : Infinity;
}

/** Validates the options of `renew` and `keep`, where `of` is required. */
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

/** Validates the options of a verb. A number that is passed instead of them is the cost. */
export function optionsOf<T extends CostOptions>(
  options: number | T | undefined,
  names: readonly (keyof T & string)[],
): T & { cost: number } {
  if (options === undefined) return { cost: 1 } as T & { cost: number };
  // Strings also get here. They are rejected as a cost, because the caller meant a number.
  if (typeof options !== 'object') return { cost: checkCost(options) } as T & { cost: number };
  const { cost = 1 } = checkOptionNames('options', options, names);
  return { ...options, cost: checkCost(cost) };
}
