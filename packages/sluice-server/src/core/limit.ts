/** A limit of the `limits` section, which consists of its limiter and the overrides for some keys. */
import {
  type CostOptions,
  type Decision,
  createLimiter,
  type SettleOptions,
  type Duration,
  type Limiter,
  type ManyItem,
  type MaybePromise,
  type Millis,
  type Mode,
  type Policies,
  SluiceError,
  type Store,
} from 'sluice';
import { declareDecision } from 'sluice/store';
import type { LimitConfig, Override } from '../config/model.ts';
import { matchesPattern } from './match.ts';
import { chain } from './maybe-promise.ts';

/** Options of a call to a limit. */
export interface AskOptions {
  /** Number of units, or an object with a number of units for each policy name. Default 1. */
  readonly cost?: CostOptions['cost'];
  /** Tier whose policies apply. Default: the limit's own policies. */
  readonly tier?: string | undefined;
  /** How to charge a cost that is higher than the remaining units. Default: the limit's mode. */
  readonly mode?: Mode | undefined;
  /** How much of each policy a take must leave free. Default 0. */
  readonly keep?: CostOptions['keep'];
  /** Name of the limit's class whose `keep` applies to the take. */
  readonly class?: string | undefined;
  /** For refunds and releases: the `at` of the decision that made the charge. Default: unknown. */
  readonly at?: number | undefined;
  /** For reservations: the longest delay to accept. Default: the longest window of the limit. */
  readonly maxDelay?: Duration | undefined;
}

/** The decision of `reserve`. */
export interface Booking extends Decision {
  /** Milliseconds to wait before acting. Infinity means that nothing was booked and nothing was charged. */
  readonly delay: Millis;
}

/** How a limit decides on a key in `takeMany`: a decision that needs no store, or an item for the library's `takeMany`. */
export type ManyPart = { readonly declared: Decision } | { readonly item: ManyItem };

export interface Limit {
  readonly config: LimitConfig;
  take(key: string, options: AskOptions): MaybePromise<Decision>;
  peek(key: string, options: AskOptions): MaybePromise<Decision>;
  refund(key: string, options: AskOptions): MaybePromise<Decision>;
  release(key: string, options: AskOptions): MaybePromise<Decision>;
  reserve(key: string, options: AskOptions): MaybePromise<Booking>;
  manyPart(key: string, options: AskOptions): ManyPart;
  settle(key: string, options: Settlement): MaybePromise<Decision>;
  block(key: string, duration: Duration): MaybePromise<Decision>;
  unblock(key: string): MaybePromise<Decision>;
  reset(key: string): MaybePromise<Decision>;
  /**
   * Releases the limiter's name, so that a limit with different policies can use the name. The closed limiter keeps working.
   */
  close(): void;
}

/** Options of `settle`. Clients send only the `at` of a decision, not the whole decision, so `at` identifies the charge. */
export type Settlement = Omit<SettleOptions, 'of'>;

type Ask = (key: string, options: AskOptions) => MaybePromise<Decision>;

/**
 * Prefix of the names of tiers that hold the policies of overrides. Configured names never start with this prefix, so callers
 * cannot select these tiers.
 */
const OVERRIDE = '\u0000';

export function openLimit(config: LimitConfig, store: Store): Limit {
  const tiers: Record<string, Policies> = { ...config.tiers };
  const exact = new Map<string, Override>();
  const patterns: Override[] = [];
  for (const override of config.overrides) {
    const { keys, treatment } = override;
    if (typeof treatment === 'object' && 'policies' in treatment) tiers[OVERRIDE + keys] = treatment.policies;
    if (keys.includes('*')) patterns.push(override);
    else exact.set(keys, override);
  }
  const limiter: Limiter<MaybePromise<Decision>> = createLimiter(config.policies, {
    name: config.name,
    tiers,
    classes: config.classes,
    store,
  });

  function overrideOf(key: string): Override | undefined {
    if (config.overrides.length === 0) return undefined;
    return exact.get(key) ?? patterns.find(({ keys }) => matchesPattern(keys, key));
  }

  /**
   * Calls `ask` with the tier that applies to the key, or `declare` with a decision that an override makes without the store. An
   * override of the key takes precedence over the tier that the caller names.
   */
  function routed<T>(
    key: string,
    options: AskOptions,
    ask: (key: string, options: AskOptions) => T,
    declare: (decision: Decision) => T,
  ): T {
    const { tier } = options;
    if (tier?.startsWith(OVERRIDE)) throw new SluiceError('ERR_TIER', 'tier', tier);
    const override = overrideOf(key);
    if (override === undefined) return ask(key, options);
    const { treatment, keys } = override;
    if (treatment === 'unlimited') return declare(unlimited(options.cost));
    if (treatment === 'blocked') return declare(blocked());
    return ask(key, { ...options, tier: 'tier' in treatment ? treatment.tier : OVERRIDE + keys });
  }

  const asked = (key: string, options: AskOptions, ask: Ask): MaybePromise<Decision> =>
    routed<MaybePromise<Decision>>(key, options, ask, (decision) => decision);

  const take: Ask = (key, { cost = 1, tier, mode = config.mode, keep, class: name }) => {
    const isPlain = tier === undefined && mode === 'whole' && keep === undefined && name === undefined;
    // The common case is faster without an options object to validate.
    if (isPlain && typeof cost === 'number') return cost === 1 ? limiter.take(key) : limiter.take(key, cost);
    return limiter.take(key, { cost, tier, mode, keep, class: name });
  };
  const peek: Ask = (key, { cost, tier, keep, class: name }) =>
    limiter.peek(key, { cost, tier, keep, class: name });
  const refund: Ask = (key, { cost, tier, at }) => limiter.refund(key, { cost, tier, at });
  const release: Ask = (key, { cost, tier, at }) => limiter.release(key, { cost, tier, at });

  return {
    config,
    take: (key, options) => asked(key, options, take),
    peek: (key, options) => asked(key, options, peek),
    refund: (key, options) => asked(key, options, refund),
    release: (key, options) => asked(key, options, release),
    reserve: (key, options) =>
      routed<MaybePromise<Booking>>(
        key,
        options,
        (_, { cost, tier, keep, class: name, maxDelay }) =>
          chain(limiter.reserve(key, { cost, tier, keep, class: name, maxDelay }), ({ decision, delay }) => ({
            ...decision,
            delay,
          })),
        (decision) => ({ ...decision, delay: decision.allowed ? 0 : Infinity }),
      ),
    manyPart: (key, options) =>
      routed<ManyPart>(
        key,
        options,
        (_, { cost, tier, keep, class: name }) => ({ item: { limiter, key, cost, tier, keep, class: name } }),
        (declared) => ({ declared }),
      ),
    settle: (key, { tier: given, ...options }) =>
      asked(key, { cost: 0, tier: given }, (_, { tier }) => limiter.settle(key, { ...options, tier })),
    block: (key, duration) => limiter.block(key, duration),
    unblock: (key) => limiter.unblock(key),
    reset: (key) => limiter.reset(key),
    close: () => void limiter.close(),
  };
}

function unlimited(cost: AskOptions['cost'] = 1): Decision {
  // If the cost differs by policy, `taken` is the highest of the costs, as in other decisions.
  const taken = typeof cost === 'number' ? cost : Math.max(0, ...Object.values(cost).map(Number));
  return declareDecision('unlimited', true, taken, 0);
}

export function blocked(): Decision {
  return declareDecision('blocked', false, 0, Infinity);
}
