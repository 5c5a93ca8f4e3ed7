/** Creates limiters. Each verb becomes a hit, which is plain data, and the store decides on it. */
import {
  type Decision,
  leaseOf,
  type MaybePromise,
  type Millis,
  type Store,
  type WithStore,
} from '../engine/contract.ts';
import { duration } from '../internal/duration.ts';
import { DeniedError, SluiceError } from '../internal/errors.ts';
import { HAS_POLICY, type Named } from '../internal/policy-names.ts';
import { chain, ignoreFailure } from '../internal/maybe-promise.ts';
import { bound, keyOf, checkOptionNames, oneOf } from '../internal/options.ts';
import { INHERIT } from '../policy/inherit.ts';
import type {
  AcquireOptions,
  AnyLimiter,
  Limiter,
  LimiterOptions,
  ReserveOptions,
  RunOptions,
} from './api.ts';
import { type ByPolicy, isFree, placesOf } from './cost.ts';
import { storeOf } from './default-store.ts';
import { openName } from './open-names.ts';
import { type NamesIn, type PolicySource, plansOf } from './plans.ts';
import { keeper } from './renewal.ts';
import { registerSource, takeMany } from './take-many.ts';
import {
  type Charge,
  chargesOf,
  checkClasses,
  COST,
  costBack,
  delayWithin,
  heldOptions,
  hitOf,
  optionsOf,
  verbsOf,
} from './verbs.ts';
import { waitingRoom } from './waiting.ts';

/** Creates a limiter in the memory of this process. Its verbs return decisions synchronously. */
export function createLimiter<Tier extends string = string, const P extends PolicySource = PolicySource>(
  policies: P,
  options?: LimiterOptions<Tier> & { readonly store?: undefined },
): Limiter<Decision, Tier, NamesIn<P>>;
/** Creates a limiter on a store. Its verbs return what the store returns, which is decisions or promises of them. */
export function createLimiter<
  R extends MaybePromise<Decision>,
  Tier extends string = string,
  const P extends PolicySource = PolicySource,
>(policies: P, options: LimiterOptions<Tier> & WithStore<R>): Limiter<R, Tier, NamesIn<P>>;
export function createLimiter(
  policies: PolicySource,
  options: LimiterOptions & { readonly store?: Store | undefined } = {},
): AnyLimiter {
  const {
    name,
    inherit,
    tiers = {},
    classes = {},
    maxWaiting = 100_000,
    store: given,
  } = checkOptionNames('createLimiter', limiterOptions(options), [
    'name',
    'inherit',
    'tiers',
    'classes',
    'maxWaiting',
    'store',
  ]);
  if (name !== undefined) keyOf(name, 'createLimiter.name');
  if (typeof tiers !== 'object' || tiers === null || Array.isArray(tiers))
    throw new SluiceError(
      'ERR_OPTIONS',
      'createLimiter.tiers',
      tiers,
      '',
      'must be an object with policies by tier',
    );
  const isPlain = typeof policies !== 'function' && Object.keys(tiers).length === 0;
  if (inherit !== undefined) {
    oneOf('createLimiter.inherit', inherit, INHERIT);
    // A limiter inherits state only from limiters with the same name. A default name is not enough, because it is derived from the
    // policies and changes with them.
    if (name === undefined && isPlain)
      throw new SluiceError('ERR_MISSING_OPTION', 'createLimiter.name', name, '', 'is required with inherit');
  }
  bound('createLimiter.maxWaiting', maxWaiting);
  const store = storeOf(given, name);
  const plans = plansOf(policies, name, tiers, inherit ?? (isPlain ? undefined : 'additive'));
  for (const plan of plans.fixed) store.accept?.(plan);
  const freeName = given === undefined || name === undefined ? () => {} : openName(given, name, plans.shape);
  const chargeOf = chargesOf(plans, checkClasses(classes, plans.fixed));
  /** Books a turn that is at most `span` away, and charges it now. */
  const book = (charge: Charge, span: Millis) => store.apply(hitOf(charge, 'reserve', 'whole', span));
  let isWaitedFor = false;
  const places = keeper(store.clock);
  const verbs = verbsOf(
    store,
    plans,
    chargeOf,
    (key) => {
      if (isWaitedFor) room.givenBack(key);
    },
    (of, count) => places.latest(of, count),
  );
  const room = waitingRoom(
    {
      takeNow: (key, cost) => book(chargeOf(key, cost), 0),
      peek: (key, cost) => verbs.peek(key, cost),
      refund: (key, tier, of) => verbs.refund(key, { tier, of }),
      isHeld: (key, tier) => leaseOf(plans.of(key, tier)) > 0,
      isShared: store.ephemeral !== true,
    },
    store.clock,
    maxWaiting,
  );

  async function acquire(key: string, options?: number | AcquireOptions): Promise<Decision> {
    const given = optionsOf<AcquireOptions>(options, ACQUIRE);
    const { timeout = Infinity, signal, priority = 0, ...cost } = given;
    chargeOf(key, cost); // Rejects an invalid key, tier or cost before the caller waits.
    if (typeof priority !== 'number' || Number.isNaN(priority))
      throw new SluiceError('ERR_NUMBER', 'priority', priority);
    const patience = timeout === Infinity || timeout === 0 ? timeout : duration('timeout', timeout);
    isWaitedFor = true;
    return room.wait(key, { cost, signal, priority, timeout: patience });
  }

  const limiter: AnyLimiter & Named = {
    ...verbs,
    [HAS_POLICY]: (policy, key, tier) => plans.has(policy, key, tier),
    reserve(key, options) {
      const { maxDelay, ...cost } = optionsOf<ReserveOptions>(options, RESERVE);
      const charge = chargeOf(key, cost);
      const longest = delayWithin(charge.plan, maxDelay);
      const free = isFree(charge.cost);
      return chain(free ? verbs.peek(key, cost) : book(charge, longest), (decision) => {
        const booked = free ? decision.allowed : decision.taken > 0;
        let cancelled = !booked;
        return {
          decision: booked ? { ...decision, allowed: true, retryAfter: 0 } : decision,
          delay: booked ? decision.retryAfter : Infinity,
          cancel() {
            if (cancelled) return undefined;
            cancelled = true;
            return verbs.refund(key, { tier: cost.tier, of: decision });
          },
        };
      });
    },
    acquire,
    keep(key, options) {
      const { cost, tier, of } = heldOptions(options);
      const plan = plans.of(keyOf(key), tier);
      const lease = leaseOf(plan);
      if (lease > 0)
        places.keep(of, placesOf(plan, costBack(plan, cost, of)), lease, (left, latest) =>
          verbs.renew(key, { cost: left, tier, of: latest }),
        );
    },
    async run(key, call, options) {
      keyOf(key);
      if (typeof call !== 'function')
        throw new SluiceError(
          'ERR_OPTIONS',
          'call',
          call,
          "run('alice', () => work())",
          'must be a function',
        );
      const { settle, ...rest } = optionsOf<RunOptions<Awaited<ReturnType<typeof call>>>>(options, RUN);
      const of = await acquire(key, rest);
      if (!of.allowed) throw new DeniedError(key, of);
      const { tier } = rest;
      limiter.keep(key, { tier, of });
      const correct = (used: ByPolicy | undefined): void => {
        if (used !== undefined) ignoreFailure(() => verbs.settle(key, { used, tier, of }));
      };
      try {
        const result = await callAnd(call, (error) => correct(settle && (settle(undefined, error) ?? 0)));
        correct(settle?.(result));
        return result;
      } finally {
        // A failed release is ignored, because the call is done, and the place is freed when its lease ends.
        ignoreFailure(() => verbs.release(key, { tier, of }));
      }
    },
    takeMany: (items) => takeMany<MaybePromise<Decision>>(limiter, items),
    close() {
      room.close();
      freeName();
      return given === undefined ? store.close() : undefined;
    },
  };
  registerSource(limiter, { store, chargeOf });
  return limiter;
}

const RESERVE = [...COST, 'maxDelay'] as const;
const ACQUIRE = [...COST, 'timeout', 'signal', 'priority'] as const;
const RUN = [...ACQUIRE, 'settle'] as const;

/** Calls the function. If it fails, calls `onError` before the promise rejects. */
async function callAnd<T>(call: () => MaybePromise<T>, onError: (error: unknown) => void): Promise<T> {
  try {
    return await call();
  } catch (error) {
    onError(error);
    throw error;
  }
}

/** Rejects a name or a store that was passed instead of the options that contain it. */
function limiterOptions<T>(options: T): T {
  if (typeof options === 'string')
    throw new SluiceError('ERR_OPTIONS', 'createLimiter', options, `such as { name: '${options}' }`);
  if (typeof (options as { apply?: unknown } | null)?.apply === 'function')
    throw new SluiceError('ERR_OPTIONS', 'createLimiter', options, 'pass the store as an option: { store }');
  return options;
}
