/** One of Sluice's own limits, ready to be asked: its limiter, and which keys are treated differently. */
import {
  type Decision,
  createLimiter,
  declareDecision,
  type Duration,
  type Limiter,
  type MaybePromise,
  type Mode,
  type Policies,
  SluiceError,
  type Store,
} from 'sluice';
import type { LimitConfig, Override } from '../config/model.ts';
import { fits } from './match.ts';

/** What a call costs, and how it is counted. */
export interface AskOptions {
  /** Default 1. */
  readonly cost?: number | undefined;
  /** One of the limit's tiers; default none. */
  readonly tier?: string | undefined;
  /** Default: the limit's own. */
  readonly mode?: Mode | undefined;
}

export interface Limit {
  readonly config: LimitConfig;
  take(key: string, options: AskOptions): MaybePromise<Decision>;
  peek(key: string, options: AskOptions): MaybePromise<Decision>;
  refund(key: string, options: AskOptions): MaybePromise<Decision>;
  block(key: string, span: Duration): MaybePromise<Decision>;
  reset(key: string): MaybePromise<Decision>;
  /** Frees its name, so that a limit with other policies can take over. It still answers. */
  close(): void;
}

type Ask = (key: string, cost: number, tier?: string, mode?: Mode) => MaybePromise<Decision>;

/** An override's policies are a tier that nobody can ask for: no tier of a configuration begins so. */
const OWN = '\u0000';

export function openLimit(config: LimitConfig, store: Store): Limit {
  const tiers: Record<string, Policies> = { ...config.tiers };
  const exact = new Map<string, Override>();
  const patterns: Override[] = [];
  for (const override of config.overrides) {
    const { keys, treatment } = override;
    if (typeof treatment === 'object' && 'policies' in treatment) tiers[OWN + keys] = treatment.policies;
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
    return exact.get(key) ?? patterns.find(({ keys }) => fits(keys, key));
  }

  /** The key's own treatment counts before the tier that the caller names. */
  function asked(key: string, { cost = 1, tier, mode }: AskOptions, ask: Ask): MaybePromise<Decision> {
    if (tier?.startsWith(OWN)) throw new SluiceError('ERR_TIER', 'tier', tier);
    const override = overrideOf(key);
    if (override === undefined) return ask(key, cost, tier, mode);
    const { treatment, keys } = override;
    if (treatment === 'unlimited') return unlimited(cost);
    if (treatment === 'blocked') return blocked();
    return ask(key, cost, 'tier' in treatment ? treatment.tier : OWN + keys, mode);
  }

  const take: Ask = (key, cost, tier, mode = config.mode) =>
    // The same, but for the object and its checks.
    tier === undefined && mode === 'whole'
      ? limiter.take(key, cost)
      : limiter.take(key, { cost, tier, mode });
  const peek: Ask = (key, cost, tier) => limiter.peek(key, { cost, tier });
  const refund: Ask = (key, cost, tier) => limiter.refund(key, { cost, tier });

  return {
    config,
    take: (key, options) => asked(key, options, take),
    peek: (key, options) => asked(key, options, peek),
    refund: (key, options) => asked(key, options, refund),
    block: (key, span) => limiter.block(key, span),
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
