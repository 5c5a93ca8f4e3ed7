/** Several keys, all or nothing: each by its own limiter, such as per address and per user. */
import type { Answer, Decision, MaybePromise } from '../engine/contract.ts';
import { limitingDecision } from '../engine/decision.ts';
import { SluiceError } from '../internal/errors.ts';
import { cost as checkCost, checkOptionNames } from '../internal/options.ts';
import { all, chain, isPromise, ignoreFailure } from '../internal/maybe-promise.ts';

/** What takeMany needs of a limiter. */
export interface Taker<R extends MaybePromise<Decision> = MaybePromise<Decision>> {
  /** As a limiter's. */
  take(key: string, options: TakerOptions): R;
  /** As a limiter's. */
  peek(key: string, options: TakerOptions): R;
  /** Same as `Limiter.refund`. */
  refund(key: string, options: TakerOptions & { readonly of?: Decision | undefined }): R;
}

/** What an item costs, and by which tier. */
export interface TakerOptions {
  /** Of the item. */
  readonly cost: number;
  /** Of the item. */
  readonly tier?: string | undefined;
}

/** One of the keys that are taken together. */
export interface ManyItem<R extends MaybePromise<Decision> = MaybePromise<Decision>> {
  /** Default: the limiter that was asked. */
  readonly limiter?: Taker<R> | undefined;
  /** Whom it counts for. */
  readonly key: string;
  /** Default 1. */
  readonly cost?: number | undefined;
  /** Of its limiter; default none. */
  readonly tier?: string | undefined;
}

/** The numbers of the item that binds, and every item's own decision, in order. */
export interface ManyDecision extends Decision {
  /** Of every item, in order. */
  readonly decisions: readonly Decision[];
}

interface Share {
  readonly limiter: Taker;
  readonly key: string;
  readonly tier: string | undefined;
  cost: number;
}

/**
 * Asks all first, then takes all: what is refused has charged nothing. Between the two, another process may have taken
 * the last of one; then the rest is given back.
 */
export function takeMany<R extends MaybePromise<Decision>>(
  self: Taker<R>,
  items: readonly ManyItem<R>[],
): Answer<R, ManyDecision> {
  if (!Array.isArray(items) || items.length === 0)
    throw new SluiceError('ERR_OPTIONS', 'items', items, '', 'must be a list of at least one');
  const shares: Share[] = [];
  const shareOf = items.map((item) => join(shares, self, item));
  const answer = (decisions: Decision[]): ManyDecision => combine(shareOf.map((share) => decisions[share]));

  const result = chain(all(shares.map((share) => askOrFail(share, 'peek'))), (outcomes) => {
    const peeked = outcomes.map(decisionOrThrow);
    const refused = peeked.findIndex((decision) => !decision.allowed);
    if (refused >= 0) {
      // Taken in earnest, so that a denial counts where denials are counted.
      return chain(ask(shares[refused], 'take'), (denied) => {
        if (denied.allowed) giveBack(shares[refused], denied);
        return answer(peeked.with(refused, { ...denied, allowed: false, taken: 0 }));
      });
    }
    return chain(all(shares.map((share) => askOrFail(share, 'take'))), (taken) => {
      const passed = taken.every(({ allowed }) => allowed);
      if (!passed)
        for (const [i, outcome] of taken.entries()) if (outcome.allowed) giveBack(shares[i], outcome);
      const decisions = taken.map(decisionOrThrow);
      return answer(passed ? decisions : decisions.map((decision) => ({ ...decision, taken: 0 })));
    });
  });
  return result as Answer<R, ManyDecision>;
}

function ask({ limiter, key, cost, tier }: Share, verb: 'peek' | 'take'): MaybePromise<Decision> {
  return limiter[verb](key, { cost, tier });
}

type Outcome = Decision | { readonly error: unknown; readonly allowed?: undefined };

/** A fault as a value, so that the others' answers are heard before it is thrown. */
function askOrFail(share: Share, verb: 'peek' | 'take'): MaybePromise<Outcome> {
  try {
    const decision = ask(share, verb);
    return isPromise(decision) ? decision.catch((error: unknown) => ({ error })) : decision;
  } catch (error) {
    return { error };
  }
}

function decisionOrThrow(outcome: Outcome): Decision {
  if ('error' in outcome) throw outcome.error;
  return outcome;
}

function giveBack({ limiter, key, cost, tier }: Share, of: Decision): void {
  ignoreFailure(() => limiter.refund(key, { cost, tier, of }));
}

const ITEM = ['limiter', 'key', 'cost', 'tier'] as const;

/** The same key named twice is one share with both costs. Returns the share's number. */
function join(shares: Share[], self: Taker, item: ManyItem): number {
  if (typeof item === 'string')
    throw new SluiceError(
      'ERR_OPTIONS',
      'takeMany',
      item,
      `{ key: '${item as string}' }`,
      'needs an object for each key',
    );
  const { limiter = self, key, cost = 1, tier } = checkOptionNames('takeMany', item, ITEM);
  checkCost(cost);
  const same = shares.findIndex(
    (share) => share.limiter === limiter && share.key === key && share.tier === tier,
  );
  if (same < 0) return shares.push({ limiter, key, cost, tier }) - 1;
  shares[same].cost += cost;
  return same;
}

function combine(decisions: readonly Decision[]): ManyDecision {
  const limiting = limitingDecision(decisions);
  const taken = limiting.allowed ? decisions.reduce((sum, decision) => sum + decision.taken, 0) : 0;
  return { ...limiting, taken, decisions };
}
