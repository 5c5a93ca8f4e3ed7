/**
 * The answers that `onFailure` selects for hits that the store cannot decide. All of them have `source: 'fallback'`, except answers
 * to renewals of places that the store still counts.
 */
import type { Decision, Hit, MaybePromise } from '../../engine/contract.ts';
import { allOrNone, allOrNoneOf } from '../../engine/all-or-none.ts';
import { costAt, isHolding } from '../../engine/charge.ts';
import { fallbackDecision } from '../../engine/decision.ts';
import type { GivenClock } from '../../internal/clock.ts';
import { type StoreFault, StoreUnavailable, SluiceError } from '../../internal/errors.ts';
import type { AnyLimiter } from '../../limiter/api.ts';
import { chain } from '../../internal/maybe-promise.ts';
import { checkOptionNames, positive } from '../../internal/options.ts';
import { PROBE_EVERY } from './breaker.ts';
import { type Local, localDecisions } from './local.ts';

/** A limiter that decides instead of the store, such as one in memory with a fraction of the limit. */
export type Substitute = Pick<
  AnyLimiter,
  'take' | 'peek' | 'refund' | 'release' | 'block' | 'unblock' | 'reset'
> &
  Partial<Pick<AnyLimiter, 'renew' | 'settle'>>;

/**
 * Selects what decides when the store is unavailable. With `'local'`, each limiter's own policies decide, and each process counts
 * separately. With `{ local: 0.25 }`, these policies decide with a quarter of each limit, which suits four processes. With
 * `'throw'`, checks reject with a `StoreUnavailable`. With `'allow'` or `'deny'`, every check gets the same answer. If a limiter is
 * given, it decides for all limiters of the store. With `{ byName }`, a function selects `'local'`, `'throw'`, `'allow'` or
 * `'deny'` for each limiter's name.
 */
export type OnFailure =
  | 'local'
  | { readonly local: number }
  | 'throw'
  | 'allow'
  | 'deny'
  | Substitute
  | { readonly byName: (limiter: string) => 'local' | 'throw' | 'allow' | 'deny' };

type FailureAnswer = 'local' | 'throw' | 'allow' | 'deny';

export interface Fallback {
  /**
   * Answers instead of the store. If `isChargedByStore` is true, the hit refunds what the store charged, so the fallback refunds
   * nothing. Rejects with a StoreUnavailable if `onFailure` is 'throw'.
   */
  answer(hit: Hit, fault: StoreFault, cause?: unknown, isChargedByStore?: boolean): Promise<Decision>;
  /** Answers takes that the store would have decided in one step. All of them are charged, or none. */
  takeAll(hits: readonly Hit[], fault: StoreFault, cause?: unknown): MaybePromise<readonly Decision[]>;
  /** Refunds what the fallback charged. With 'allow', nothing was charged. */
  giveBack(hit: Hit): Promise<Decision>;
  /** Renews a place that was taken from the fallback. */
  renew(hit: Hit): Promise<Decision>;
  /** Whether charges that the store made after the deadline stay, because the caller was allowed anyway. */
  keepsCharges(hit: Hit): boolean;
  /** What the fallback does, as the end of a sentence that begins with "Until it does,". */
  readonly effect: string;
  /** Whether callers get an answer as if nothing had failed. */
  readonly hidesFailures: boolean;
  close(): MaybePromise<void>;
}

/** Creates the fallback. `clock` is the clock for 'local'. Default: the system clock. */
export function fallbackTo(onFailure: OnFailure, clock?: GivenClock): Fallback {
  const share = shareIn(onFailure);
  if (share !== undefined) return localFallback(localDecisions(share, clock));
  if (isSubstitute(onFailure)) return limiterFallback(onFailure);
  const byName = chooserIn(onFailure);
  if (byName !== undefined) return fallbackByName(byName, (answer) => fallbackTo(answer, clock));
  switch (onFailure) {
    case 'throw':
      return throwingFallback;
    case 'allow':
      return fixedFallback(true, 'everything is allowed');
    case 'deny':
      return fixedFallback(false, 'everything is denied');
    default:
      throw new SluiceError(
        'ERR_CHOICE',
        'onFailure',
        onFailure,
        "'local', { local: 0.25 }, 'throw', 'allow', 'deny', { byName: (name) => 'deny' } or a limiter",
      );
  }
}

function isSubstitute(given: unknown): given is Substitute {
  return typeof (given as Substitute | undefined)?.take === 'function';
}

/** The fraction of each limit that this process may use. Undefined unless 'local' was chosen. */
function shareIn(onFailure: OnFailure): number | undefined {
  if (onFailure === 'local') return 1;
  if (typeof onFailure !== 'object' || onFailure === null || !('local' in onFailure)) return undefined;
  const { local } = checkOptionNames('onFailure', onFailure, ['local']);
  if (positive('onFailure.local', local) > 1)
    throw new SluiceError(
      'ERR_NUMBER',
      'onFailure.local',
      local,
      'use 1 divided by the number of processes',
      'must be at most 1',
    );
  return local;
}

/** The function that selects an answer for each limiter. Undefined unless `{ byName }` was given. */
function chooserIn(onFailure: OnFailure): ((name: string) => FailureAnswer) | undefined {
  if (typeof onFailure !== 'object' || onFailure === null || !('byName' in onFailure)) return undefined;
  const { byName } = checkOptionNames('onFailure', onFailure, ['byName']);
  return typeof byName === 'function' ? byName : undefined;
}

function localFallback(local: Local): Fallback {
  return {
    async answer(hit, _fault, _cause, isChargedByStore = false) {
      if (hit.verb === 'renew') return stillHeld(hit);
      return local.apply(isChargedByStore ? { ...hit, verb: 'peek' } : hit);
    },
    takeAll: (hits) => allOrNoneOf(hits, (hit) => local.apply(hit)),
    giveBack: async (hit) => local.apply(hit),
    renew: async (hit) => local.apply(hit),
    keepsCharges: () => false,
    hidesFailures: true,
    effect: 'each limiter counts in this process alone',
    close: () => local.close(),
  };
}

function limiterFallback(limiter: Substitute): Fallback {
  /**
   * Maps the decision that the caller received to the original decision of the given limiter, which may itself come from a
   * fallback.
   */
  const originals = new WeakMap<object, Decision>();

  function asFallback(answer: Decision): Decision {
    const decision: Decision = { ...answer, source: 'fallback' };
    originals.set(decision, answer);
    return decision;
  }

  return {
    async answer(hit, _fault, _cause, isChargedByStore = false) {
      if (hit.verb === 'renew') return stillHeld(hit);
      return asFallback(
        await (isChargedByStore ? limiter.peek(hit.key, { cost: plainCost(hit) }) : askLimiter(limiter, hit)),
      );
    },
    takeAll: (hits) =>
      allOrNone(
        hits.map((hit) => {
          const cost = hit.verb === 'peek' ? 0 : plainCost(hit);
          return {
            peek: () => chain(limiter.peek(hit.key, { cost }), asFallback),
            take: () => chain(limiter.take(hit.key, { cost }), asFallback),
            refund: (of) => limiter.refund(hit.key, { cost, of: originals.get(of) }),
          };
        }),
      ),
    async renew(hit) {
      const of = hit.of && originals.get(hit.of);
      if (of === undefined || limiter.renew === undefined) return declaredDecision(hit, true);
      return asFallback(await limiter.renew(hit.key, { cost: plainCost(hit), of }));
    },
    async giveBack(hit) {
      const { verb, key } = hit;
      const of = hit.of && originals.get(hit.of);
      if (verb === 'settle') return asFallback(await settleWith(limiter, hit, of));
      const options = { cost: plainCost(hit), of };
      return asFallback(
        await (verb === 'refund' ? limiter.refund(key, options) : limiter.release(key, options)),
      );
    },
    keepsCharges: () => false,
    hidesFailures: true,
    effect: 'the limiter given as onFailure decides',
    close() {},
  };
}

/**
 * Selects a fallback for each limiter by its name. `choose` is called for each hit, so its answer for a name may change. `open` is
 * called once for each answer, and creates its fallback.
 */
function fallbackByName(
  choose: (name: string) => FailureAnswer,
  open: (answer: FailureAnswer) => Fallback,
): Fallback {
  const opened = new Map<FailureAnswer, Fallback>();

  function fallbackOf({ plan }: Hit): Fallback {
    const answer = choose(plan.name);
    const fallback = opened.get(answer) ?? open(answer);
    opened.set(answer, fallback);
    return fallback;
  }

  return {
    answer: async (hit, fault, cause, isChargedByStore) =>
      fallbackOf(hit).answer(hit, fault, cause, isChargedByStore),
    takeAll: (hits, fault, cause) =>
      allOrNoneOf(hits, (hit) =>
        hit.verb === 'refund' ? fallbackOf(hit).giveBack(hit) : fallbackOf(hit).answer(hit, fault, cause),
      ),
    giveBack: async (hit) => fallbackOf(hit).giveBack(hit),
    renew: async (hit) => fallbackOf(hit).renew(hit),
    keepsCharges: (hit) => fallbackOf(hit).keepsCharges(hit),
    hidesFailures: true,
    effect: 'onFailure.byName selects an answer for each limiter',
    async close() {
      for (const fallback of opened.values()) await fallback.close();
    },
  };
}

const throwingFallback: Fallback = {
  async answer(_hit, fault, cause) {
    throw unavailable(fault, cause);
  },
  takeAll(_hits, fault, cause) {
    throw unavailable(fault, cause);
  },
  giveBack: async (hit) => declaredDecision(hit, true),
  renew: async (hit) => declaredDecision(hit, true),
  keepsCharges: () => false,
  hidesFailures: false,
  effect: 'checks reject with a StoreUnavailable',
  close() {},
};

function unavailable(fault: StoreFault, cause: unknown): StoreUnavailable {
  return cause instanceof StoreUnavailable ? cause : new StoreUnavailable(fault, cause);
}

function fixedFallback(allowed: boolean, effect: string): Fallback {
  return {
    answer: async (hit) => (hit.verb === 'renew' ? stillHeld(hit) : declaredDecision(hit, allowed)),
    takeAll: (hits) => hits.map((hit) => declaredDecision(hit, allowed)),
    giveBack: async (hit) => declaredDecision(hit, allowed),
    renew: async (hit) => declaredDecision(hit, allowed),
    keepsCharges: () => allowed,
    hidesFailures: true,
    effect,
    close() {},
  };
}

/**
 * The answer to a renewal that the store did not confirm. The store counts the place until its lease ends, and `at` still
 * identifies the place.
 */
function stillHeld(hit: Hit): Decision {
  const { plan, cost } = hit;
  const places = plan.policies.map((policy, i) => (isHolding(policy) ? costAt(cost, i) : 0));
  return {
    ...fallbackDecision(plan.policies, true, places, 0),
    source: 'store',
    at: hit.of?.at,
    held: true,
  };
}

/**
 * A decision that no store made. If it allows the hit, it has the numbers of an unused key. Otherwise, it denies the hit until the
 * next probe.
 */
function declaredDecision({ plan, verb, cost }: Hit, allowed: boolean): Decision {
  const taken = allowed && (verb === 'take' || verb === 'reserve') ? cost : 0;
  return fallbackDecision(plan.policies, allowed, taken, allowed ? 0 : PROBE_EVERY);
}

/**
 * The cost for a limiter that decides instead of the store. If the hit has a separate cost for each policy, the limiter is
 * charged 1, because its policies may have other names.
 */
function plainCost({ cost }: Hit): number {
  return typeof cost === 'number' ? cost : 1;
}

/**
 * Settles a charge of the given limiter. `of` is the limiter's decision that made the charge. Calls `peek` instead if that decision
 * is not known, if the limiter has no `settle`, or if the hit has a separate cost for each policy.
 */
function settleWith(
  limiter: Substitute,
  { key, cost }: Hit,
  of: Decision | undefined,
): MaybePromise<Decision> {
  const { taken = 0 } = of ?? {};
  if (limiter.settle === undefined || typeof cost !== 'number' || of === undefined) return limiter.peek(key);
  return limiter.settle(key, { charged: taken, used: Math.max(0, taken + cost), of });
}

function askLimiter(limiter: Substitute, hit: Hit): MaybePromise<Decision> {
  const { verb, key, mode, span } = hit;
  const cost = plainCost(hit);
  switch (verb) {
    case 'take':
      return limiter.take(key, { cost, mode });
    case 'reserve':
      return limiter.take(key, { cost });
    case 'block':
      return span > 0 ? limiter.block(key, span) : limiter.unblock(key);
    case 'reset':
      return limiter.reset(key);
    case 'renew':
    case 'settle':
      return limiter.peek(key, { cost: verb === 'settle' ? 1 : cost });
    default:
      return limiter[verb](key, { cost });
  }
}
