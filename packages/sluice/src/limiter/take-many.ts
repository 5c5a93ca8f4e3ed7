/**
 * Takes from several keys, so that all of them are charged or none. Each key may have its own limiter, such as one for addresses
 * and one for users.
 */
import { allOrNone, type Part } from '../engine/all-or-none.ts';
import { costAt } from '../engine/charge.ts';
import type { Answer, Cost, Decision, Hit, MaybePromise, Store } from '../engine/contract.ts';
import { limitingDecision, partOfDecision } from '../engine/decision.ts';
import { SluiceError } from '../internal/errors.ts';
import { cost as checkCost, checkOptionNames } from '../internal/options.ts';
import { chain } from '../internal/maybe-promise.ts';
import { processState } from '../internal/process-state.ts';
import type { CostOptions, Limiter, ManyDecision, ManyItem } from './api.ts';
import { isFree } from './cost.ts';
import { type Charge, hitOf } from './verbs.ts';

/** The methods of a limiter that `takeMany` uses. */
type Taker<R extends MaybePromise<Decision> = MaybePromise<Decision>> = Pick<
  Limiter<R>,
  'take' | 'peek' | 'refund'
>;

/** The store of a limiter that `createLimiter` made, and the function that turns the options of a call into a charge. */
interface Source {
  readonly store: Store;
  chargeOf(key: string, options: CostOptions): Charge;
}

/**
 * The sources of all limiters that `createLimiter` made. For any other object with the methods of a limiter, `takeMany` calls these
 * methods instead.
 */
const sources = /* @__PURE__ */ processState('limiter sources', () => new WeakMap<object, Source>());

/** Lets `takeMany` send hits of this limiter to its store, together with hits of other limiters. */
export function registerSource(limiter: Taker, source: Source): void {
  sources.set(limiter, source);
}

/** The charge for one key of one limiter, which is the sum of all items with this limiter, tier and key. */
interface Share {
  readonly limiter: Taker;
  readonly key: string;
  readonly tier: string | undefined;
  readonly keep: ManyItem['keep'];
  readonly class: string | undefined;
  /** Undefined if the limiter has no source. */
  readonly store: Store | undefined;
  cost: Cost | NonNullable<ManyItem['cost']>;
  hit: Hit | undefined;
}

/** The combined charge that an item belongs to, and the cost that the item contributes to it. */
interface Joined {
  readonly share: Share;
  readonly cost: Share['cost'];
}

/**
 * Takes from all keys in one step if the store supports that. Otherwise, peeks at all keys and then takes from them, and gives back
 * what was taken if one of the takes is denied.
 */
export function takeMany<R extends MaybePromise<Decision>>(
  self: Taker<R>,
  items: readonly ManyItem<R>[],
): Answer<R, ManyDecision> {
  if (!Array.isArray(items) || items.length === 0)
    throw new SluiceError('ERR_OPTIONS', 'items', items, '', 'must be a list of at least one item');
  const shares: Share[] = [];
  const joined = items.map((item) => join(shares, self, item));

  const answer = (decisions: readonly Decision[], atomic: boolean): ManyDecision =>
    combine(
      joined.map(({ share, cost }) => {
        const decision = decisions[shares.indexOf(share)];
        const isAlone = cost === share.cost;
        return isAlone || decision.taken === 0 ? decision : partOfDecision(decision, cost as Cost);
      }),
      atomic,
    );
  const inTwoSteps = (): MaybePromise<ManyDecision> =>
    chain(allOrNone(shares.map(partOf)), (decisions) => answer(decisions, false));

  // The store decides a single take in one step anyway.
  if (shares.length === 1)
    return chain(partOf(shares[0]).take(), (decision) => answer([decision], true)) as Answer<R, ManyDecision>;
  const takeAll = oneStep(shares);
  const result =
    takeAll === undefined
      ? inTwoSteps()
      : chain(takeAll(), (decisions) => (decisions === undefined ? inTwoSteps() : answer(decisions, true)));
  return result as Answer<R, ManyDecision>;
}

/** The function that decides on all shares in one step. Undefined if there is none. */
function oneStep(shares: readonly Share[]): ReturnType<NonNullable<Store['allTaker']>> {
  const [{ store }] = shares;
  const hits = shares.flatMap(({ hit }) => hit ?? []);
  if (store === undefined || !shares.every((share) => share.store === store)) return undefined;
  // Tiers of a key share its row, and so do limiters of the same name.
  const rows = new Set(hits.map(({ plan, key }) => JSON.stringify([plan.name, key])));
  return rows.size === hits.length ? store.allTaker?.(hits) : undefined;
}

/** How to take one share separately from the others. */
function partOf({ limiter, key, tier, keep, class: name, store, hit, cost }: Share): Part {
  if (store === undefined || hit === undefined) {
    const options = { cost: cost as number, tier, keep, class: name };
    return {
      peek: () => limiter.peek(key, options),
      take: () => limiter.take(key, options),
      refund: (of) => limiter.refund(key, { cost: options.cost, tier, of }),
    };
  }
  return {
    peek: () => store.apply({ ...hit, verb: 'peek' }),
    take: () => store.apply(hit),
    // Calls the limiter and not the store, because the limiter also lets its waiting callers try again.
    refund: (of) => limiter.refund(key, { tier, of }),
  };
}

const ITEM = ['limiter', 'key', 'cost', 'tier', 'keep', 'class'] as const;

/** Adds an item to the shares. Items with the same limiter, tier and key become one share with the sum of their costs. */
function join(shares: Share[], self: Taker, item: ManyItem): Joined {
  if (typeof item === 'string')
    throw new SluiceError(
      'ERR_OPTIONS',
      'takeMany',
      item,
      `{ key: '${item as string}' }`,
      'needs an object for each key',
    );
  const { limiter = self, ...options } = checkOptionNames('takeMany', item, ITEM);
  const { key, tier, cost: given = 1, keep, class: name } = options;
  if (typeof given !== 'object') checkCost(given);
  const source = sources.get(limiter);
  const charge = source?.chargeOf(key, options);
  const cost = charge?.cost ?? given;
  const same = shares.find((share) => share.limiter === limiter && share.key === key && share.tier === tier);
  if (same === undefined) {
    const hit = charge && takeOf(charge);
    const share: Share = { limiter, key, tier, keep, class: name, store: source?.store, cost, hit };
    shares.push(share);
    return { share, cost };
  }
  add(same, cost, charge);
  return { share: same, cost };
}

function takeOf(charge: Charge): Hit {
  return hitOf(charge, isFree(charge.cost) ? 'peek' : 'take');
}

/**
 * Adds the cost of another item to a share. The units that the share must keep free must still be free after all of its items have
 * been charged.
 */
function add(share: Share, cost: Share['cost'], charge: Charge | undefined): void {
  const { hit } = share;
  if (hit !== undefined && charge !== undefined) {
    const { policies } = hit.plan;
    const sum =
      typeof hit.cost === 'number' && typeof charge.cost === 'number'
        ? hit.cost + charge.cost
        : policies.map((_, i) => costAt(hit.cost, i) + costAt(charge.cost, i));
    const keep =
      hit.keep && charge.keep
        ? hit.keep.map((units, i) => Math.max(units, charge.keep?.[i] ?? 0))
        : (hit.keep ?? charge.keep);
    share.cost = sum;
    share.hit = takeOf({ ...hit, cost: sum, keep });
  } else if (typeof share.cost === 'number' && typeof cost === 'number') {
    share.cost += cost;
  } else {
    throw new SluiceError('ERR_COST', 'cost', cost, '', 'must be a number for a key that occurs twice');
  }
}

function combine(decisions: readonly Decision[], atomic: boolean): ManyDecision {
  const limiting = limitingDecision(decisions);
  const { allowed, limit, remaining, retryAfter, resetAfter, policy, policies, source, at } = limiting;
  const taken = allowed ? decisions.reduce((sum, decision) => sum + decision.taken, 0) : 0;
  // Lists the members, because an object that is spread and then gets more members takes microseconds to create.
  const many = {
    allowed,
    taken,
    limit,
    remaining,
    retryAfter,
    resetAfter,
    policy,
    policies,
    source,
    at,
    atomic,
    decisions,
  };
  return limiting.held ? { ...many, held: true } : many;
}
