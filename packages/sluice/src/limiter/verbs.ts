/** The verbs that call the store once. Verbs that book a turn, wait, or take from several keys are built on these in limiter.ts. */
import {
  type Cost,
  type Decision,
  type Hit,
  leaseOf,
  type MaybePromise,
  type Millis,
  type Plan,
  type Store,
} from '../engine/contract.ts';
import { type Duration, duration } from '../internal/duration.ts';
import { SluiceError } from '../internal/errors.ts';
import { all, chain } from '../internal/maybe-promise.ts';
import { cost as checkCost, keyOf, checkOptionNames, oneOf } from '../internal/options.ts';
import type { AnyLimiter, CostOptions, GiveBackOptions, TakeOptions } from './api.ts';
import { type ByPolicy, chargedBy, costOn, differenceOn, isFree, keepOn, placesOf } from './cost.ts';

export type Verbs = Pick<
  AnyLimiter,
  'take' | 'peek' | 'refund' | 'settle' | 'release' | 'renew' | 'block' | 'unblock' | 'reset'
>;

/** The plans of a limiter. */
export interface Plans {
  /** The plan of every call without a tier. Undefined if a policy function chooses the plan. */
  readonly base: Plan | undefined;
  of(key: string, tier: string | undefined): Plan;
  /** Plans that together cover all rows of the key. `reset` returns the decision for the first plan. */
  all(key: string): readonly Plan[];
}

/** How much of each limit the calls of a class must leave free, by the name of the class. */
export type Classes = Readonly<Record<string, { readonly keep: ByPolicy }>>;

/** The properties of a hit that every verb with a cost sets in the same way. */
export type Charge = Pick<Hit, 'plan' | 'key' | 'cost' | 'keep'>;

/** Lists the members, because an object that is spread and then gets more members takes microseconds to create. */
export function hitOf(
  { plan, key, cost, keep }: Charge,
  verb: Hit['verb'],
  mode: Hit['mode'] = 'whole',
  span: Millis = 0,
): Hit {
  return { plan, key, cost, keep, verb, mode, span };
}

/** Validates the classes of a limiter, so that an invalid class is reported when the limiter is created. */
export function checkClasses(classes: Classes, plans: readonly Plan[]): Classes {
  if (typeof classes !== 'object' || classes === null || Array.isArray(classes))
    throw new SluiceError('ERR_OPTIONS', 'createLimiter.classes', classes);
  for (const [name, options] of Object.entries(classes)) {
    const what = `createLimiter.classes.${name}`;
    const { keep } = checkOptionNames(what, options, ['keep']);
    if (keep === undefined) throw new SluiceError('ERR_MISSING_OPTION', `${what}.keep`, keep);
    for (const plan of plans) keepOn(plan, keep, `${what}.keep`);
  }
  return classes;
}

/** Returns the function that turns the options of a call into the hit's plan, its cost and the units that it must keep free. */
export function chargesOf(plans: Plans, classes: Classes): (key: string, options: CostOptions) => Charge {
  return (key, { cost = 1, tier, keep, class: name }) => {
    const plan = plans.of(keyOf(key), tier);
    if (name === undefined) return { plan, key, cost: costOn(plan, cost, 1), keep: keepOn(plan, keep) };
    if (keep !== undefined)
      throw new SluiceError('ERR_UNKNOWN_OPTION', 'keep', keep, 'the class already says what to keep free');
    if (!Object.hasOwn(classes, name))
      throw new SluiceError('ERR_CHOICE', 'class', name, Object.keys(classes).join(', '));
    return { plan, key, cost: costOn(plan, cost, 1), keep: keepOn(plan, classes[name].keep) };
  };
}

/**
 * Creates the verbs. `onRoom` is called when more units of the key may have become available, so that waiters try again. `latest`
 * is called with a decision and the number of its places that are about to be given back. It returns the decision that identifies
 * these places now.
 */
export function verbsOf(
  store: Store,
  plans: Plans,
  chargeOf: (key: string, options: CostOptions) => Charge,
  onRoom: (key: string) => void,
  latest: (of: Decision, places: number) => MaybePromise<Decision>,
): Verbs {
  const planOf = (key: string, tier?: string): Plan => plans.of(keyOf(key), tier);
  const takeBase = plans.base === undefined ? undefined : takerFor(store, plans.base);

  function giveBack(
    verb: 'refund' | 'release' | 'settle',
    plan: Plan,
    key: string,
    cost: Cost,
    meant: Hit['of'],
  ): MaybePromise<Decision> {
    const places = verb === 'settle' ? 0 : placesOf(plan, cost);
    const current = places > 0 && isDecision(meant) ? latest(meant, places) : meant;
    return chain(current, (of) => {
      const answer = store.apply({ verb, plan, key, cost, mode: 'whole', span: 0, of });
      onRoom(key);
      return answer;
    });
  }

  function refundOrRelease(verb: 'refund' | 'release', key: string, options?: number | GiveBackOptions) {
    const { cost, tier, of, at } = optionsOf<GiveBackOptions>(options, GIVE_BACK);
    const plan = planOf(key, tier);
    return giveBack(verb, plan, key, costBack(plan, cost, of), chargeMeant(of, at));
  }

  return {
    take(key, options) {
      // The most frequent calls, take(key) and take(key, 3), have no options to validate. If the store has a fast path, they create
      // no hit either.
      if (takeBase !== undefined && typeof key === 'string') {
        if (options === undefined) return takeBase(key, 1);
        if (typeof options === 'number' && options > 0) return takeBase(key, checkCost(options));
      }
      const given = optionsOf<TakeOptions>(options, TAKE);
      const { mode = 'whole', maxDelay } = given;
      oneOf('mode', mode, MODES);
      if (maxDelay !== undefined && mode !== 'always')
        throw new SluiceError('ERR_UNKNOWN_OPTION', 'maxDelay', maxDelay, "allowed only with mode: 'always'");
      const charge = chargeOf(key, given);
      if (mode === 'partial' && typeof charge.cost !== 'number')
        throw new SluiceError('ERR_COST', 'cost', given.cost, '', "must be a number with mode: 'partial'");
      const span = mode === 'always' ? delayWithin(charge.plan, maxDelay) : 0;
      return store.apply(hitOf(charge, isFree(charge.cost) ? 'peek' : 'take', mode, span));
    },
    peek(key, options) {
      const charge = chargeOf(key, optionsOf<CostOptions>(options, COST));
      return store.apply(hitOf(charge, 'peek'));
    },
    refund: (key, options) => refundOrRelease('refund', key, options),
    release: (key, options) => refundOrRelease('release', key, options),
    settle(key, options) {
      const { charged, used, tier, of, at } = checkOptionNames('settle', options, SETTLE);
      const plan = planOf(key, tier);
      if (charged === undefined && of === undefined)
        throw new SluiceError(
          'ERR_MISSING_OPTION',
          'settle.charged',
          charged,
          'or pass the decision: { of }',
        );
      const before =
        charged === undefined ? chargedBy(plan, of as Decision) : costOn(plan, charged, 1, 'charged');
      return giveBack('settle', plan, key, differenceOn(plan, before, used), chargeMeant(of, at));
    },
    renew(key, options) {
      const { cost, tier, of } = heldOptions(options);
      const plan = planOf(key, tier);
      const verb = of.at === undefined || leaseOf(plan) === 0 ? 'peek' : 'renew';
      return store.apply({ verb, plan, key, cost: costBack(plan, cost, of), mode: 'whole', span: 0, of });
    },
    /** A manual block belongs to the limiter's name, so one hit blocks the key in all tiers, whatever their policies are. */
    block: (key, span) =>
      store.apply({
        verb: 'block',
        plan: planOf(key),
        key,
        cost: 0,
        mode: 'whole',
        span: duration('block', span),
      }),
    /** Ends a manual block, by setting a block that ends now. */
    unblock(key) {
      const answer = store.apply({ verb: 'block', plan: planOf(key), key, cost: 0, mode: 'whole', span: 0 });
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

/** Returns a function that takes from this plan in mode 'whole'. */
function takerFor(store: Store, plan: Plan): (key: string, cost: number) => MaybePromise<Decision> {
  return (
    store.taker?.(plan) ??
    ((key, cost) => store.apply({ plan, key, cost, keep: undefined, verb: 'take', mode: 'whole', span: 0 }))
  );
}

const MODES = ['whole', 'partial', 'always'] as const;
export const COST = ['cost', 'tier', 'keep', 'class'] as const;
const GIVE_BACK = ['cost', 'tier', 'of', 'at'] as const;
const SETTLE = ['charged', 'used', 'tier', 'of', 'at'] as const;
const TAKE = [...COST, 'mode', 'maxDelay'] as const;

/** The cost of a call that gives something back. By default, it is what the decision charged. */
export function costBack(plan: Plan, cost: ByPolicy | undefined, of: Decision | undefined): Cost {
  if (cost !== undefined) return costOn(plan, cost, 0);
  return of === undefined ? 1 : chargedBy(plan, of);
}

/** Identifies the charge that a call gives back. Undefined if the caller did not say which charge it was. */
function chargeMeant(of: Decision | undefined, at: Millis | undefined): Hit['of'] {
  if (at === undefined) return of;
  if (of !== undefined)
    throw new SluiceError(
      'ERR_UNKNOWN_OPTION',
      'at',
      at,
      'omit it; the decision passed as `of` already contains the instant',
    );
  if (typeof at !== 'number' || !(at >= 0) || at === Infinity) throw new SluiceError('ERR_INSTANT', 'at', at);
  return { source: 'store', at, isGiven: true };
}

function isDecision(of: Hit['of']): of is Decision {
  return of !== undefined && 'allowed' in of;
}

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
export function heldOptions<T extends GiveBackOptions>(options: T): T & { readonly of: Decision } {
  const given = optionsOf<GiveBackOptions>(options, GIVE_BACK);
  if (typeof given.of === 'object' && given.of !== null) return given as T & { readonly of: Decision };
  throw new SluiceError(
    'ERR_OPTIONS',
    'options.of',
    given.of,
    '{ of: decision }',
    'must be the decision that was returned when the place was taken',
  );
}

/** Validates the names of a verb's options. If a number was passed instead of the options, it is the cost. */
export function optionsOf<T extends { readonly cost?: ByPolicy | undefined }>(
  options: number | T | undefined,
  names: readonly (keyof T & string)[],
): T {
  if (options === undefined) return {} as T;
  // A string also gets here. `checkCost` rejects the string, because the caller probably meant a number.
  if (typeof options !== 'object') return { cost: checkCost(options) } as unknown as T;
  return checkOptionNames('options', options, names);
}
