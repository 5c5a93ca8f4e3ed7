/** A limit of the `limits` section, which consists of its limiter and the overrides for some keys. */
import {
  type Decision,
  createLimiter,
  type Duration,
  type Limiter,
  type MaybePromise,
  type Mode,
  type Policies,
  SluiceError,
  type Store,
} from 'sluice';
import { declareDecision } from 'sluice/store';
import type { LimitConfig, Override } from '../config/model.ts';
import { matchesPattern } from './match.ts';

/** Options of a call to a limit. */
export interface AskOptions {
  /** Number of units. Default 1. */
  readonly cost?: number | undefined;
  /** Tier whose policies apply. Default: the limit's own policies. */
  readonly tier?: string | undefined;
  /** How to charge a cost that does not fit. Default: the limit's mode. */
  readonly mode?: Mode | undefined;
}

export interface Limit {
  readonly config: LimitConfig;
  take(key: string, options: AskOptions): MaybePromise<Decision>;
  peek(key: string, options: AskOptions): MaybePromise<Decision>;
  refund(key: string, options: AskOptions): MaybePromise<Decision>;
  block(key: string, duration: Duration): MaybePromise<Decision>;
  reset(key: string): MaybePromise<Decision>;
  /**
   * Releases the limiter's name, so that a limit with different policies can use the name. The closed limiter keeps working.
   */
  close(): void;
}

type Ask = (key: string, cost: number, tier?: string, mode?: Mode) => MaybePromise<Decision>;

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
    store,
  });

  function overrideOf(key: string): Override | undefined {
    if (config.overrides.length === 0) return undefined;
    return exact.get(key) ?? patterns.find(({ keys }) => matchesPattern(keys, key));
  }

  /**
   * Calls `ask` with the tier that applies to the key. An override of the key takes precedence over the tier that the caller
   * names.
   */
  function asked(key: string, { cost = 1, tier, mode }: AskOptions, ask: Ask): MaybePromise<Decision> {
    if (tier?.startsWith(OVERRIDE)) throw new SluiceError('ERR_TIER', 'tier', tier);
    const override = overrideOf(key);
    if (override === undefined) return ask(key, cost, tier, mode);
    const { treatment, keys } = override;
    if (treatment === 'unlimited') return unlimited(cost);
    if (treatment === 'blocked') return blocked();
    return ask(key, cost, 'tier' in treatment ? treatment.tier : OVERRIDE + keys, mode);
  }

  const take: Ask = (key, cost, tier, mode = config.mode) =>
    // The common case is faster without an options object to validate.
    tier === undefined && mode === 'whole'
      ? cost === 1
        ? limiter.take(key)
        : limiter.take(key, cost)
      : limiter.take(key, { cost, tier, mode });
  const peek: Ask = (key, cost, tier) => limiter.peek(key, { cost, tier });
  const refund: Ask = (key, cost, tier) => limiter.refund(key, { cost, tier });

  return {
    config,
    take: (key, options) => asked(key, options, take),
    peek: (key, options) => asked(key, options, peek),
    refund: (key, options) => asked(key, options, refund),
    block: (key, duration) => limiter.block(key, duration),
    reset: (key) => limiter.reset(key),
    close: () => void limiter.close(),
  };
}

function unlimited(cost: number): Decision {
  return declareDecision('unlimited', true, cost, 0);
}

export function blocked(): Decision {
  return declareDecision('blocked', false, 0, Infinity);
}
