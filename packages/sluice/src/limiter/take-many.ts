/** Takes from several keys, all or none, each with its own limiter, such as one per address and one per user. */
import type { Answer, Decision, MaybePromise } from '../engine/contract.ts';
import { limitingDecision, partOfDecision } from '../engine/decision.ts';
import { SluiceError } from '../internal/errors.ts';
import { cost as checkCost, checkOptionNames } from '../internal/options.ts';
import { all, chain, isPromise, ignoreFailure } from '../internal/maybe-promise.ts';
import type { Limiter, ManyDecision, ManyItem } from './api.ts';
import type { ByPolicy } from './cost.ts';

/** The methods of a limiter that `takeMany` uses. */
type Taker<R extends MaybePromise<Decision> = MaybePromise<Decision>> = Pick<
  Limiter<R>,
  'take' | 'peek' | 'refund'
>;

interface Share {
  readonly limiter: Taker;
  readonly key: string;
  readonly tier: string | undefined;
  readonly keep: ByPolicy | undefined;
  readonly class: string | undefined;
  cost: ByPolicy;
}

/**
 * Peeks at all keys first and takes from them only if all would be allowed, so that a denial charges nothing. Between the two
 * steps, another process may take the last unit of one key. In that case, the other keys are refunded.
 */
export function takeMany<R extends MaybePromise<Decision>>(
  self: Taker<R>,
  items: readonly ManyItem<R>[],
): Answer<R, ManyDecision> {
  if (!Array.isArray(items) || items.length === 0)
    throw new SluiceError('ERR_OPTIONS', 'items', items, '', 'must be a list of at least one item');
  const shares: Share[] = [];
  const shareOf = items.map((item) => join(shares, self, item));
  const answer = (decisions: Decision[]): ManyDecision =>
    combine(
      shareOf.map((share, i) => {
        const isAlone = shareOf.filter((other) => other === share).length === 1;
        const decision = decisions[share];
        // Items of the same key are charged together.
        return isAlone || decision.taken === 0
          ? decision
          : partOfDecision(decision, Number(items[i].cost ?? 1));
      }),
    );

  const result = chain(all(shares.map((share) => askOrFail(share, 'peek'))), (attempts) => {
    const peeked = attempts.map(decisionOrThrow);
    const refused = peeked.findIndex((decision) => !decision.allowed);
    if (refused >= 0) {
      // The denied key is actually taken, so that a penalty policy counts the denial.
      return chain(ask(shares[refused], 'take'), (denied) => {
        if (denied.allowed) giveBack(shares[refused], denied);
        return answer(peeked.with(refused, { ...denied, allowed: false, taken: 0 }));
      });
    }
    return chain(all(shares.map((share) => askOrFail(share, 'take'))), (taken) => {
      const passed = taken.every(({ allowed }) => allowed);
      if (!passed)
        for (const [i, attempt] of taken.entries()) if (attempt.allowed) giveBack(shares[i], attempt);
      const decisions = taken.map(decisionOrThrow);
      return answer(passed ? decisions : decisions.map((decision) => ({ ...decision, taken: 0 })));
    });
  });
  return result as Answer<R, ManyDecision>;
}

function ask({ limiter, key, ...options }: Share, verb: 'peek' | 'take'): MaybePromise<Decision> {
  return limiter[verb](key, options);
}

type Attempt = Decision | { readonly error: unknown; readonly allowed?: undefined };

/** Calls the store. Returns a failure as a value, so that it is thrown only after all other answers have arrived. */
function askOrFail(share: Share, verb: 'peek' | 'take'): MaybePromise<Attempt> {
  try {
    const decision = ask(share, verb);
    return isPromise(decision) ? decision.catch((error: unknown) => ({ error })) : decision;
  } catch (error) {
    return { error };
  }
}

function decisionOrThrow(attempt: Attempt): Decision {
  if ('error' in attempt) throw attempt.error;
  return attempt;
}

function giveBack({ limiter, key, cost, tier }: Share, of: Decision): void {
  ignoreFailure(() => limiter.refund(key, { cost, tier, of }));
}

const ITEM = ['limiter', 'key', 'cost', 'tier', 'keep', 'class'] as const;

/**
 * Adds an item to the shares. A key that occurs twice becomes one share with the sum of both costs. Returns the index of the
 * share.
 */
function join(shares: Share[], self: Taker, item: ManyItem): number {
  if (typeof item === 'string')
    throw new SluiceError(
      'ERR_OPTIONS',
      'takeMany',
      item,
      `{ key: '${item as string}' }`,
      'needs an object for each key',
    );
  const { limiter = self, key, cost = 1, tier, keep, class: name } = checkOptionNames('takeMany', item, ITEM);
  if (typeof cost !== 'object') checkCost(cost);
  const same = shares.findIndex(
    (share) =>
      share.limiter === limiter &&
      share.key === key &&
      share.tier === tier &&
      share.keep === keep &&
      share.class === name,
  );
  if (same < 0) return shares.push({ limiter, key, cost, tier, keep, class: name }) - 1;
  const share = shares[same];
  if (typeof share.cost !== 'number' || typeof cost !== 'number')
    throw new SluiceError('ERR_COST', 'cost', cost, '', 'must be a number for a key that occurs twice');
  share.cost += cost;
  return same;
}

function combine(decisions: readonly Decision[]): ManyDecision {
  const limiting = limitingDecision(decisions);
  const taken = limiting.allowed ? decisions.reduce((sum, decision) => sum + decision.taken, 0) : 0;
  return { ...limiting, taken, decisions };
}
