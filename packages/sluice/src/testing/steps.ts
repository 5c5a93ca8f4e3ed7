/** Defines how claims are written, as a table of steps that each have a time, a verb and the expected decision. */
import type {
  CostOptions,
  Decision,
  Limiter,
  LimiterOptions,
  MaybePromise,
  PolicySource,
  SettleOptions,
  TakeOptions,
} from '../index.ts';

type AnyLimiter = Limiter<MaybePromise<Decision>>;
export type Step = readonly [at: number, ask: (limiter: AnyLimiter) => unknown, expected: object];

export interface ClaimSteps {
  readonly name: string;
  readonly policies: PolicySource;
  /** Options of the limiter. By default, it only has two tiers, which the claims about verbs use. */
  readonly options?: Pick<LimiterOptions, 'inherit' | 'tiers'>;
  readonly steps: readonly Step[];
}

type Ask = (limiter: AnyLimiter) => MaybePromise<Decision>;

export const take =
  (options?: number | TakeOptions): Ask =>
  (limiter) =>
    limiter.take('k', options);
export const peek =
  (options?: number | CostOptions): Ask =>
  (limiter) =>
    limiter.peek('k', options);
export const refund =
  (cost?: number): Ask =>
  (limiter) =>
    limiter.refund('k', cost);
/** Decisions that made a charge or took a place, keyed by the names under which claims remember them. */
const places = new WeakMap<AnyLimiter, Map<string, Decision>>();

/** Calls `take` and remembers the decision under a name. */
export const takeRemembered =
  (name: string, options: TakeOptions) =>
  async (limiter: AnyLimiter): Promise<Decision> =>
    remember(limiter, name, await limiter.take('k', options));

/** Settles the charge that was remembered under a name. */
export const settle =
  (name: string, used: SettleOptions['used']): Ask =>
  (limiter) =>
    limiter.settle('k', { used, of: places.get(limiter)?.get(name) });

/** Takes a place and remembers the decision under a name. */
export const takePlace =
  (name: string, cost = 1) =>
  async (limiter: AnyLimiter): Promise<Decision> =>
    remember(limiter, name, await limiter.take('k', cost));

/** Releases, refunds or renews the place that was remembered under a name. */
export const withPlace =
  (verb: 'release' | 'refund' | 'renew', name: string, cost = 1) =>
  async (limiter: AnyLimiter): Promise<Decision> => {
    const of = places.get(limiter)?.get(name);
    if (of === undefined) throw new Error(`no place was remembered under the name ${name}`);
    const decision = await limiter[verb]('k', { cost, of });
    return verb === 'renew' ? remember(limiter, name, decision) : decision;
  };

function remember(limiter: AnyLimiter, name: string, decision: Decision): Decision {
  const own = places.get(limiter) ?? new Map<string, Decision>();
  places.set(limiter, own.set(name, decision));
  return decision;
}

export const passed = (remaining: number, resetAfter: number): object => ({
  allowed: true,
  taken: 1,
  remaining,
  retryAfter: 0,
  resetAfter,
});
export const denied = (retryAfter: number, remaining = 0): object => ({
  allowed: false,
  taken: 0,
  remaining,
  retryAfter,
});
