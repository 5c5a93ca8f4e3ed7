/**
 * A store that may fail, made one that always answers in time: a deadline for each hit, a bound on hits in flight, and
 * a breaker that stops asking a store that does not answer. What is said then, the caller declares.
 *
 * A hit is never sent twice: nobody can tell whether the first one was counted.
 */
import type { Decision, Hit, MaybePromise, Millis, Mode, Store } from '../contract.ts';
import { type Duration, duration } from '../duration.ts';
import { faultIn, type StoreFault, StoreUnavailable, SluiceError } from '../errors.ts';
import { bound, known } from '../options.ts';
import { deadlines } from './deadlines.ts';

/** Asked in the store's place, such as a local limiter with a share of the limit. */
export interface Substitute {
  /** As a limiter's. */
  take(key: string, options: { cost: number; mode?: Mode }): MaybePromise<Decision>;
  /** As a limiter's. */
  peek(key: string, options: { cost: number }): MaybePromise<Decision>;
  /** As a limiter's. */
  refund(key: string, options: { cost: number }): MaybePromise<Decision>;
  /** As a limiter's. */
  release(key: string, options: { cost: number }): MaybePromise<Decision>;
  /** As a limiter's. */
  block(key: string, span: Millis): MaybePromise<Decision>;
  /** As a limiter's. */
  reset(key: string): MaybePromise<Decision>;
}

/** An error, a word, or another limiter that is asked. */
export type OnFailure = 'throw' | 'allow' | 'deny' | Substitute;

/** The store is not asked for a while, or again. `openFor`: how long it was not. */
export type BreakerEvent =
  | { readonly type: 'open'; readonly fault: StoreFault; readonly error: unknown }
  | { readonly type: 'close'; readonly openFor: Millis };

/** What becomes of a hit when the store is slow or gone. */
export interface ResilientOptions {
  /** How long a hit may take; default 200 ms. */
  readonly deadline?: Duration | undefined;
  /** What is said when the store cannot be asked; default 'throw', a StoreUnavailable. */
  readonly onFailure?: OnFailure | undefined;
  /** Hits on their way at once; more fail at once. Default 10,000. */
  readonly maxInFlight?: number | undefined;
  /** Called when the breaker opens and when it closes. */
  readonly onEvent?: ((event: BreakerEvent) => void) | undefined;
}

/** How long a hit may take unless told otherwise. */
export const DEADLINE: Millis = 200;
/** Failures in a row that open the breaker. */
const FAILURES = 5;
/** How often an open breaker tries whether the store is back. */
const PROBE_EVERY = 100;
/** A row beside the key's own, in the same slot of a cluster. */
const PROBE = ':~probe';
/** Faults of one key or one hit, which say nothing of the store's health. */
const LOCAL_FAULTS: ReadonlySet<StoreFault> = new Set(['wrong-type', 'overloaded', 'script']);

export function resilient(
  store: Store<Promise<Decision>>,
  options: ResilientOptions = {},
): Store<Promise<Decision>> {
  const {
    deadline = DEADLINE,
    onFailure = 'throw',
    maxInFlight = 10_000,
    onEvent,
  } = known('resilient', options, ['deadline', 'onFailure', 'maxInFlight', 'onEvent']);
  const span = duration('deadline', deadline);
  bound('maxInFlight', maxInFlight);
  if (
    !['throw', 'allow', 'deny'].includes(onFailure as string) &&
    typeof (onFailure as Substitute)?.take !== 'function'
  ) {
    throw new SluiceError('ERR_CHOICE', 'onFailure', onFailure, "'throw', 'allow', 'deny' or a limiter");
  }
  const limits = deadlines(span);
  let inFlight = 0;
  let failures = 0;
  /** When the breaker opened; 0: it is closed. */
  let openedAt = 0;
  let nextProbe = 0;

  function apply(hit: Hit): Promise<Decision> {
    if (openedAt > 0) {
      if (performance.now() >= nextProbe) probe(hit);
      return substitute(hit, 'circuit-open');
    }
    if (inFlight >= maxInFlight) return substitute(hit, 'overloaded');
    return ask(hit).catch((error: unknown) => {
      // A mistake in the policies is nobody's outage.
      if (error instanceof SluiceError) throw error;
      return substitute(hit, faultIn(error), error);
    });
  }

  /** The store's answer, or a rejection at the deadline. Its later answer is then nobody's. */
  function ask(hit: Hit): Promise<Decision> {
    return new Promise((resolve, reject) => {
      inFlight++;
      let open = true;
      const met = limits.set(() => finish(() => reject(failed(new StoreUnavailable('deadline')))));
      function finish(settle: () => void): void {
        if (!open) return;
        open = false;
        inFlight--;
        met();
        settle();
      }
      store.apply(hit).then(
        (decision) => {
          finish(() => {
            succeeded();
            resolve(decision);
          });
        },
        (error: unknown) => {
          finish(() => reject(failed(error)));
        },
      );
    });
  }

  function succeeded(): void {
    failures = 0;
    if (openedAt === 0) return;
    const openFor = performance.now() - openedAt;
    openedAt = 0;
    tell({ type: 'close', openFor });
  }

  function failed(error: unknown): unknown {
    const fault = error instanceof SluiceError ? 'script' : faultIn(error);
    if (LOCAL_FAULTS.has(fault) || openedAt > 0 || ++failures < FAILURES) return error;
    openedAt = performance.now();
    nextProbe = openedAt + PROBE_EVERY;
    tell({ type: 'open', fault, error });
    return error;
  }

  /** A listener's fault must not become the caller's. */
  function tell(event: BreakerEvent): void {
    try {
      onEvent?.(event);
    } catch {}
  }

  /** Asks whether the store is back. With a write, which a read-only or full store refuses, to a row that nobody reads. */
  function probe(hit: Hit): void {
    nextProbe = performance.now() + PROBE_EVERY;
    if (inFlight >= maxInFlight) return;
    const plan = { ...hit.plan, name: hit.plan.name + PROBE };
    ask({ ...hit, plan, verb: 'block', cost: 0, span: 1 }).catch(() => {});
  }

  async function substitute(hit: Hit, fault: StoreFault, cause?: unknown): Promise<Decision> {
    if (onFailure === 'throw')
      throw cause instanceof StoreUnavailable ? cause : new StoreUnavailable(fault, cause);
    if (onFailure === 'allow' || onFailure === 'deny') return declared(hit, onFailure === 'allow');
    return { ...(await askSubstitute(onFailure, hit)), source: 'fallback' };
  }

  return { clock: store.clock, apply, close: () => store.close() };
}

/** An answer without a store: a new key's numbers, or a denial until the next probe. */
function declared({ plan, verb, cost }: Hit, allowed: boolean): Decision {
  const retryAfter = allowed ? 0 : PROBE_EVERY;
  const policies = plan.policies.map(({ name, limit, window }) => ({
    name,
    limit,
    window,
    remaining: allowed ? limit : 0,
    retryAfter,
    resetAfter: retryAfter,
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

function askSubstitute(limiter: Substitute, { verb, key, cost, mode, span }: Hit): MaybePromise<Decision> {
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
