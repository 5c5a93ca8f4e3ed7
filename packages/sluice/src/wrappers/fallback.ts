/** The answers that `onFailure` declares for a store that could not be asked. All of them have `source: 'fallback'`. */
import type { Decision, Hit, MaybePromise, Millis, Mode } from '../contract.ts';
import { type StoreFault, StoreUnavailable, SluiceError } from '../errors.ts';

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
  /** Same as `Limiter.block`. */
  block(key: string, span: Millis): MaybePromise<Decision>;
  /** Same as `Limiter.reset`. */
  reset(key: string): MaybePromise<Decision>;
}

/** What a check answers when its store cannot be asked: an error, a fixed answer, or the answer of another limiter. */
export type OnFailure = 'throw' | 'allow' | 'deny' | Substitute;

/** What a denial by 'deny' announces. */
export const RETRY_AFTER: Millis = 100;

export interface Fallback {
  /**
   * In the store's place. `isStores`: what is given back was charged by the store, which alone can give it back.
   * Rejects with a StoreUnavailable where that is declared.
   */
  answer(hit: Hit, fault: StoreFault, cause?: unknown, isStores?: boolean): Promise<Decision>;
  /** Gives back what the fallback itself charged; what 'allow' let pass was charged nowhere. */
  giveBack(hit: Hit): Promise<Decision>;
}

export function fallbackTo(onFailure: OnFailure): Fallback {
  if (
    !['throw', 'allow', 'deny'].includes(onFailure as string) &&
    typeof (onFailure as Substitute)?.take !== 'function'
  ) {
    throw new SluiceError('ERR_CHOICE', 'onFailure', onFailure, "'throw', 'allow', 'deny' or a limiter");
  }
  /** The limiter's own decision, by the one that the caller was given: that limiter may have a fallback, too. */
  const own = new WeakMap<Decision, Decision>();

  function told(answer: Decision): Decision {
    const decision: Decision = { ...answer, source: 'fallback' };
    own.set(decision, answer);
    return decision;
  }

  return {
    async answer(hit, fault, cause, isStores = false) {
      if (onFailure === 'throw')
        throw cause instanceof StoreUnavailable ? cause : new StoreUnavailable(fault, cause);
      if (typeof onFailure === 'string') return declared(hit, onFailure === 'allow');
      return told(await (isStores ? onFailure.peek(hit.key, { cost: hit.cost }) : asked(onFailure, hit)));
    },
    async giveBack(hit) {
      if (typeof onFailure === 'string') return declared(hit, onFailure !== 'deny');
      const { verb, key, cost, of } = hit;
      const options = { cost, of: of && own.get(of) };
      return told(
        await (verb === 'refund' ? onFailure.refund(key, options) : onFailure.release(key, options)),
      );
    },
  };
}

/** An answer without a store: a new key's numbers, or a denial until the next probe. */
function declared({ plan, verb, cost }: Hit, allowed: boolean): Decision {
  const retryAfter = allowed ? 0 : RETRY_AFTER;
  const policies = plan.policies.map(({ name, limit, window }) => ({
    name,
    limit,
    window,
    remaining: allowed ? limit : 0,
    retryAfter,
    resetAfter: retryAfter,
    refill: 'whole' as const,
  }));
  const [first] = policies;
  const taken = allowed && (verb === 'take' || verb === 'reserve') ? cost : 0;
  return {
    allowed,
    taken,
    limit: first.limit,
    remaining: first.remaining,
    retryAfter,
    resetAfter: retryAfter,
    policy: first.name,
    policies,
    source: 'fallback',
  };
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
    default:
      return limiter[verb](key, { cost });
  }
}
