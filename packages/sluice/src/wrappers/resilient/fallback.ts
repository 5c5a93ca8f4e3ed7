/** The answers that `onFailure` declares for a store that could not be asked. All of them have `source: 'fallback'`. */
import type { Decision, Hit, MaybePromise, Millis, Mode } from '../../engine/contract.ts';
import { fallbackDecision } from '../../engine/decision.ts';
import type { GivenClock } from '../../internal/clock.ts';
import { type StoreFault, StoreUnavailable, SluiceError } from '../../internal/errors.ts';
import { checkOptionNames, positive } from '../../internal/options.ts';
import { PROBE_EVERY } from './breaker.ts';
import { type Local, localTo } from './local.ts';

/** Asked in the store's place, such as a local limiter with a share of the limit. */
export interface Substitute {
  /** Same as `Limiter.take`. */
  take(key: string, options: { cost: number; mode?: Mode }): MaybePromise<Decision>;
  /** Same as `Limiter.peek`. */
  peek(key: string, options: { cost: number }): MaybePromise<Decision>;
  /** Same as `Limiter.refund`. */
  refund(key: string, options: { cost: number; of?: Decision | undefined }): MaybePromise<Decision>;
  /** Same as `Limiter.release`. */
  release(key: string, options: { cost: number; of?: Decision | undefined }): MaybePromise<Decision>;
  /** Same as `Limiter.renew`. */
  renew?(key: string, options: { cost: number; of: Decision }): MaybePromise<Decision>;
  /** Same as `Limiter.block`. */
  block(key: string, span: Millis): MaybePromise<Decision>;
  /** Same as `Limiter.reset`. */
  reset(key: string): MaybePromise<Decision>;
}

/**
 * Who answers when the store cannot be asked. `'local'`: each limiter's own policies, counted in this process alone.
 * `{ local: 0.25 }`: the same with a quarter of each limit, for four processes. `'throw'`: a `StoreUnavailable`.
 * `'allow'` and `'deny'`: always the same answer. A limiter: that limiter, for all limiters of the store.
 */
export type OnFailure = 'local' | { readonly local: number } | 'throw' | 'allow' | 'deny' | Substitute;

export interface Fallback {
  /**
   * In the store's place. `isStores`: what is given back was charged by the store, which alone can give it back.
   * Rejects with a StoreUnavailable where that is declared.
   */
  answer(hit: Hit, fault: StoreFault, cause?: unknown, isStores?: boolean): Promise<Decision>;
  /** Gives back what the fallback itself charged; what 'allow' let pass was charged nowhere. */
  giveBack(hit: Hit): Promise<Decision>;
  /** Renews a place that the fallback itself gave. */
  renew(hit: Hit): Promise<Decision>;
  /** What it does, as the end of a sentence that begins with "Until then". */
  readonly does: string;
  close(): MaybePromise<void>;
}

/** `clock`: by which 'local' decides; default the system's. */
export function fallbackTo(onFailure: OnFailure, clock?: GivenClock): Fallback {
  const share = shareIn(onFailure);
  if (share !== undefined) return locally(localTo(share, clock));
  if (isSubstitute(onFailure)) return byLimiter(onFailure);
  switch (onFailure) {
    case 'throw':
      return throwing;
    case 'allow':
      return always(true, 'everything is allowed');
    case 'deny':
      return always(false, 'everything is denied');
    default:
      throw new SluiceError(
        'ERR_CHOICE',
        'onFailure',
        onFailure,
        "'local', { local: 0.25 }, 'throw', 'allow', 'deny' or a limiter",
      );
  }
}

function isSubstitute(given: unknown): given is Substitute {
  return typeof (given as Substitute | undefined)?.take === 'function';
}

/** The part of the limits that this process may use, if it is to decide by itself. */
function shareIn(onFailure: OnFailure): number | undefined {
  if (onFailure === 'local') return 1;
  if (typeof onFailure !== 'object' || onFailure === null || !('local' in onFailure)) return undefined;
  const { local } = checkOptionNames('onFailure', onFailure, ['local']);
  if (positive('onFailure.local', local) > 1)
    throw new SluiceError(
      'ERR_NUMBER',
      'onFailure.local',
      local,
      'a share of 1 / processes',
      'must be at most 1',
    );
  return local;
}

function locally(local: Local): Fallback {
  return {
    async answer(hit, _fault, _cause, isStores = false) {
      if (hit.verb === 'renew') return stillHeld(hit);
      return local.apply(isStores ? { ...hit, verb: 'peek' } : hit);
    },
    giveBack: async (hit) => local.apply(hit),
    renew: async (hit) => local.apply(hit),
    does: 'each limiter counts in this process alone',
    close: () => local.close(),
  };
}

function byLimiter(limiter: Substitute): Fallback {
  /** The limiter's own decision, by the one that the caller was given: that limiter may have a fallback, too. */
  const own = new WeakMap<object, Decision>();

  function told(answer: Decision): Decision {
    const decision: Decision = { ...answer, source: 'fallback' };
    own.set(decision, answer);
    return decision;
  }

  return {
    async answer(hit, _fault, _cause, isStores = false) {
      if (hit.verb === 'renew') return stillHeld(hit);
      return told(await (isStores ? limiter.peek(hit.key, { cost: hit.cost }) : asked(limiter, hit)));
    },
    async renew(hit) {
      const of = hit.of && own.get(hit.of);
      if (of === undefined || limiter.renew === undefined) return declared(hit, true);
      return told(await limiter.renew(hit.key, { cost: hit.cost, of }));
    },
    async giveBack({ verb, key, cost, of }) {
      const options = { cost, of: of && own.get(of) };
      return told(await (verb === 'refund' ? limiter.refund(key, options) : limiter.release(key, options)));
    },
    does: 'the limiter given as onFailure decides',
    close() {},
  };
}

const throwing: Fallback = {
  async answer(_hit, fault, cause) {
    throw cause instanceof StoreUnavailable ? cause : new StoreUnavailable(fault, cause);
  },
  giveBack: async (hit) => declared(hit, true),
  renew: async (hit) => declared(hit, true),
  does: 'checks reject with a StoreUnavailable',
  close() {},
};

function always(allowed: boolean, does: string): Fallback {
  return {
    answer: async (hit) => (hit.verb === 'renew' ? stillHeld(hit) : declared(hit, allowed)),
    giveBack: async (hit) => declared(hit, allowed),
    renew: async (hit) => declared(hit, allowed),
    does,
    close() {},
  };
}

/** A place that the store could not renew is still held there until its lease ends, and known by the same instant. */
function stillHeld(hit: Hit): Decision {
  return { ...declared(hit, true), source: 'store', at: hit.of?.at };
}

/** An answer without a store: a new key's numbers, or a denial until the next probe. */
function declared({ plan, verb, cost }: Hit, allowed: boolean): Decision {
  const taken = allowed && (verb === 'take' || verb === 'reserve') ? cost : 0;
  return fallbackDecision(plan.policies, allowed, taken, allowed ? 0 : PROBE_EVERY);
}

function asked(limiter: Substitute, { verb, key, cost, mode, span }: Hit): MaybePromise<Decision> {
  switch (verb) {
    case 'take':
      return limiter.take(key, { cost, mode });
    case 'reserve':
      return limiter.take(key, { cost });
    case 'block':
      return limiter.block(key, span);
    case 'reset':
      return limiter.reset(key);
    case 'renew':
      return limiter.peek(key, { cost });
    default:
      return limiter[verb](key, { cost });
  }
}
