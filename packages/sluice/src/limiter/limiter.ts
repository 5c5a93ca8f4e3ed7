/** Creates limiters. Each verb becomes a hit, which is plain data, and the store decides on it. */
import {
  type Decision,
  leaseOf,
  type MaybePromise,
  type Millis,
  type Plan,
  type Store,
  type WithStore,
} from '../engine/contract.ts';
import { duration } from '../internal/duration.ts';
import { DeniedError, SluiceError } from '../internal/errors.ts';
import { chain, ignoreFailure } from '../internal/maybe-promise.ts';
import { bound, keyOf, checkOptionNames, oneOf } from '../internal/options.ts';
import { INHERIT } from '../policy/inherit.ts';
import type { AcquireOptions, AnyLimiter, Limiter, LimiterOptions, ReserveOptions } from './api.ts';
import { storeOf } from './default-store.ts';
import { openName } from './open-names.ts';
import { type PolicySource, plansOf } from './plans.ts';
import { keeper } from './renewal.ts';
import { takeMany } from './take-many.ts';
import { delayWithin, heldOptions, optionsOf, verbsOf } from './verbs.ts';
import { waitingRoom } from './waiting.ts';

/** Creates a limiter in the memory of this process. Its verbs return decisions synchronously. */
export function createLimiter<Tier extends string = string>(
  policies: PolicySource,
  options?: LimiterOptions<Tier> & { readonly store?: undefined },
): Limiter<Decision, Tier>;
/** Creates a limiter on a store. Its verbs return what the store returns, which is decisions or promises of them. */
export function createLimiter<R extends MaybePromise<Decision>, Tier extends string = string>(
  policies: PolicySource,
  options: LimiterOptions<Tier> & WithStore<R>,
): Limiter<R, Tier>;
export function createLimiter(
  policies: PolicySource,
  options: LimiterOptions & { readonly store?: Store | undefined } = {},
): AnyLimiter {
  const {
    name,
    inherit,
    tiers = {},
    maxWaiting = 100_000,
    store: given,
  } = checkOptionNames('createLimiter', limiterOptions(options), [
    'name',
    'inherit',
    'tiers',
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
    // A limiter inherits only from limiters with the same name, and a default name, which is derived from the policies, changes
    // with them.
    if (name === undefined && isPlain)
      throw new SluiceError('ERR_MISSING_OPTION', 'createLimiter.name', name, '', 'is required with inherit');
  }
  bound('createLimiter.maxWaiting', maxWaiting);
  const store = storeOf(given, name);
  const plans = plansOf(policies, name, tiers, inherit ?? (isPlain ? undefined : 'additive'));
  for (const plan of plans.fixed) store.accept?.(plan);
  const freeName = given === undefined || name === undefined ? () => {} : openName(given, name, plans.shape);
  /** Books a turn that is at most `span` away, and charges it now. */
  const book = (plan: Plan, key: string, cost: number, span: Millis) =>
    store.apply({ verb: 'reserve', plan, key, cost, mode: 'whole', span });
  let isWaitedFor = false;
  const places = keeper(store.clock);
  const verbs = verbsOf(
    store,
    plans,
    (key) => {
      if (isWaitedFor) room.givenBack(key);
    },
    (of, cost) => places.latest(of, cost),
  );
  const room = waitingRoom(
    {
      takeNow: (key, cost, tier) => book(plans.of(keyOf(key), tier), key, cost, 0),
      peek: (key, cost, tier) => verbs.peek(key, { cost, tier }),
      refund: (key, cost, tier, of) => verbs.refund(key, { cost, tier, of }),
      isHeld: (key, tier) => leaseOf(plans.of(key, tier)) > 0,
      isShared: store.ephemeral !== true,
    },
    store.clock,
    maxWaiting,
  );

  async function acquire(key: string, options?: number | AcquireOptions): Promise<Decision> {
    const {
      cost,
      tier,
      timeout = Infinity,
      signal,
      priority = 0,
    } = optionsOf<AcquireOptions>(options, ACQUIRE);
    plans.of(keyOf(key), tier); // Throws synchronously if the key or the tier is invalid.
    if (typeof priority !== 'number' || Number.isNaN(priority))
      throw new SluiceError('ERR_NUMBER', 'priority', priority);
    const patience = timeout === Infinity || timeout === 0 ? timeout : duration('timeout', timeout);
    isWaitedFor = true;
    return room.wait(key, { cost, tier, signal, priority, timeout: patience });
  }

  const limiter: AnyLimiter = {
    ...verbs,
    reserve(key, options) {
      const { cost, tier, maxDelay } = optionsOf<ReserveOptions>(options, RESERVE);
      const plan = plans.of(keyOf(key), tier);
      const longest = delayWithin(plan, maxDelay);
      return chain(
        cost === 0 ? verbs.peek(key, { cost, tier }) : book(plan, key, cost, longest),
        (decision) => {
          const booked = cost === 0 ? decision.allowed : decision.taken === cost;
          let cancelled = !booked;
          return {
            decision: booked ? { ...decision, allowed: true, retryAfter: 0 } : decision,
            delay: booked ? decision.retryAfter : Infinity,
            cancel() {
              if (cancelled) return undefined;
              cancelled = true;
              return verbs.refund(key, { cost, tier, of: decision });
            },
          };
        },
      );
    },
    acquire,
    keep(key, options) {
      const { cost, tier, of } = heldOptions(options);
      const lease = leaseOf(plans.of(keyOf(key), tier));
      if (lease > 0)
        places.keep(of, cost, lease, (left, latest) => verbs.renew(key, { cost: left, tier, of: latest }));
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
      const decision = await acquire(key, options);
      if (!decision.allowed) throw new DeniedError(key, decision);
      const { cost, tier } = optionsOf<AcquireOptions>(options, ACQUIRE);
      limiter.keep(key, { cost, tier, of: decision });
      try {
        return await call();
      } finally {
        // The call is done. If the release fails, the place is freed when its lease ends.
        ignoreFailure(() => verbs.release(key, { cost, tier, of: decision }));
      }
    },
    takeMany: (items) => takeMany<MaybePromise<Decision>>(limiter, items),
    close() {
      room.close();
      freeName();
      return given === undefined ? store.close() : undefined;
    },
  };
  return limiter;
}

const RESERVE = ['cost', 'tier', 'maxDelay'] as const;
const ACQUIRE = ['cost', 'tier', 'timeout', 'signal', 'priority'] as const;

/** Rejects a name or a store that was passed instead of the options that contain it. */
function limiterOptions<T>(options: T): T {
  if (typeof options === 'string')
    throw new SluiceError('ERR_OPTIONS', 'createLimiter', options, `such as { name: '${options}' }`);
  if (typeof (options as { apply?: unknown } | null)?.apply === 'function')
    throw new SluiceError('ERR_OPTIONS', 'createLimiter', options, 'put the store into it: { store }');
  return options;
}
