/** The options of a guard. They are validated when the guard is created, so that an invalid option fails at startup. */
import type { Decision, MaybePromise } from '../engine/contract.ts';
import { SluiceError } from '../internal/errors.ts';
import type { AnyLimiter, ByPolicy } from '../limiter/api.ts';
import { cost as checkCost, functions, checkOptionNames, listOf, oneOf } from '../internal/options.ts';
import type { ClientAddressOptions } from './client-address.ts';
import { mayBePolicy } from './cost-parts.ts';
import { HEADER_STYLES, type HeaderStyle } from './headers.ts';

/**
 * The methods of a limiter that a guard uses. Every limiter of Sluice has them. A guard also uses the limiter's `settle` method.
 * That method is not listed here, because a guard has an option of the same name. If the method were listed, TypeScript could not
 * infer the parameter types of callbacks in the options. If a limiter has no `settle` method, the costs of requests that are
 * settled must be numbers.
 */
export type GuardLimiter = Pick<AnyLimiter, 'take' | 'peek' | 'refund' | 'release' | 'takeMany'> &
  Partial<Pick<AnyLimiter, 'keep'>>;

/** How a response ended. */
export interface Outcome {
  /** The HTTP status of the response. */
  readonly status: number;
  /** Whether the client disconnected before the response was complete. */
  readonly aborted: boolean;
}

/** One limiter, and how requests are charged to it. */
export interface Limit<Q> {
  /** The limiter that decides. */
  readonly limiter: GuardLimiter;
  /**
   * Computes the key to charge. Default: the client's address, which is also used if the function returns `undefined`.
   * If it returns `false`, this limit does not apply to the request.
   */
  readonly key?: ((request: Q) => MaybePromise<string | false | undefined>) | undefined;
  /**
   * How many units the request costs: one number for all policies, or a number per policy, as in `{ requests: 1, tokens: 4200 }`.
   * Default 1. A policy that is not named costs 1. If a guard has several limits, a cost may also name policies of the other
   * limits.
   */
  readonly cost?: ByPolicy | ((request: Q) => MaybePromise<ByPolicy>) | undefined;
  /** The limiter's tier that applies to the request. Default: none, which means the limiter's own policies. */
  readonly tier?: string | ((request: Q) => MaybePromise<string | undefined>) | undefined;
  /** The limiter's class that applies to the request, which says how much of each policy the request must leave free. */
  readonly class?: string | ((request: Q) => MaybePromise<string | undefined>) | undefined;
  /**
   * Computes the final cost when the response has been sent. The difference from the charged cost is refunded or charged. If the
   * function returns `undefined`, the charged cost is kept. If it returns an object, a policy that the object does not name keeps
   * its charged cost.
   */
  readonly settle?: ((request: Q, outcome: Outcome) => MaybePromise<ByPolicy | undefined>) | undefined;
}

/** Which limits apply to a request, and how the client is answered. `Q` is the type of the framework's request. */
export interface GuardOptions<Q> extends Partial<Limit<Q>>, ClientAddressOptions {
  /**
   * Several limits, instead of `limiter` or in addition to it. A request is charged to all of them or to none. If `cost`, `class`
   * or `settle` are given without a `limiter`, they apply to each of these limits that does not set its own.
   */
  readonly limits?: readonly Limit<Q>[] | undefined;
  /** Returns true to exempt the request from all limits. */
  readonly skip?: ((request: Q) => MaybePromise<boolean>) | undefined;
  /**
   * Whether to let every request pass, even if a limit denies it. Requests are still charged, and decisions are still reported.
   * Default false.
   */
  readonly shadow?: boolean | undefined;
  /** Called for every denial, even in shadow mode. */
  readonly onDenied?: ((request: Q, decision: Decision) => unknown) | undefined;
  /**
   * Called with a `StoreUnavailable` error when the store cannot be reached, in which case the client gets status 503. Also called
   * with any error that occurs after the response was sent, in `settle` or in the charge, refund or release that follows `settle`.
   */
  readonly onUnavailable?: ((request: Q, error: unknown) => unknown) | undefined;
  /** The HTTP status of a denial. Default 429. */
  readonly status?: number | undefined;
  /**
   * Returns the body of a denial, or a promise of it. The body is a string, or a value that is sent as JSON. Default: problem
   * details.
   */
  readonly body?: ((request: Q, decision: Decision) => unknown) | undefined;
  /** Which rate limit headers are set. `false` sets none. Default 'draft-11'. */
  readonly headers?: HeaderStyle | readonly HeaderStyle[] | false | undefined;
}

const LIMIT_OPTIONS = ['limiter', 'key', 'cost', 'tier', 'class', 'settle'] as const;

const GUARD_OPTIONS = [
  ...LIMIT_OPTIONS,
  'limits',
  'skip',
  'shadow',
  'onDenied',
  'onUnavailable',
  'status',
  'body',
  'headers',
  'trustProxy',
  'ipv6Prefix',
] as const;

export function isLimiter(value: unknown): value is GuardLimiter {
  return typeof (value as GuardLimiter | undefined)?.takeMany === 'function';
}

const IN_LIMITER = "it belongs to the limiter: rateLimit({ limiter: createLimiter('100/min') })";

/** Options that belong elsewhere, each with a hint that says where. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  limit: IN_LIMITER,
  max: IN_LIMITER,
  per: IN_LIMITER,
  windowMs: IN_LIMITER,
  store: "it belongs to the limiter: createLimiter('100/min', { store, name: 'api' })",
  clientAddress: 'trustProxy and ipv6Prefix are options of rateLimit itself',
};

/** Rejects limiter options with a specific hint, before they would be reported as unknown options. */
function checkPlace(given: unknown): void {
  if (typeof given !== 'object' || given === null)
    throw new SluiceError('ERR_OPTIONS', 'rateLimit', given, limiterHint(given), `${OPTIONS}, or a limiter`);
  if ('algorithm' in given)
    throw new SluiceError(
      'ERR_OPTIONS',
      'rateLimit',
      given,
      'rateLimit(createLimiter(policy))',
      `${OPTIONS}, or a limiter`,
    );
  for (const [name, hint] of Object.entries(ELSEWHERE))
    if (name in given)
      throw new SluiceError(
        'ERR_UNKNOWN_OPTION',
        `rateLimit.${name}`,
        (given as Record<string, unknown>)[name],
        hint,
      );
}

const OPTIONS = 'must be an object with options';

function limiterHint(given: unknown): string {
  return `rateLimit(createLimiter('${typeof given === 'string' ? given : '100/min'}'))`;
}

/** Validates the options and returns them. The limits in them are checked by `limitsOf`. */
export function checked<Q>(options: GuardOptions<Q>): GuardOptions<Q> {
  checkPlace(options);
  const { status, headers } = checkOptionNames('rateLimit', options, GUARD_OPTIONS);
  if (status !== undefined && !(Number.isInteger(status) && status >= 200 && status <= 599))
    throw new SluiceError(
      'ERR_NUMBER',
      'rateLimit.status',
      status,
      '',
      'must be a whole number from 200 to 599',
    );
  if (headers !== undefined && headers !== false)
    for (const one of typeof headers === 'string' ? [headers] : listOf('rateLimit.headers', headers))
      oneOf('rateLimit.headers', one, HEADER_STYLES);
  functions('rateLimit', options, ['skip', 'onDenied', 'onUnavailable', 'body']);
  return options;
}

/** Options that describe limits: one limit, several limits, or both. */
type LimitsGiven<Q> = Partial<Limit<Q>> & Pick<GuardOptions<Q>, 'limits'>;

/** Lists the limits that options describe, without validating them. */
export function listLimits<Q>({ limits = [], ...own }: LimitsGiven<Q>): readonly Partial<Limit<Q>>[] {
  const listed = listOf('rateLimit.limits', limits);
  if (Object.keys(own).length === 0) return listed;
  const { limiter, key, tier, ...shared } = own;
  // `key` and `tier` belong to one limiter, so they are never shared: options with either of them must also have a `limiter`.
  const isShared = [limiter, key, tier].every((value) => value === undefined) && listed.length > 0;
  return isShared ? listed.map((limit) => withDefaults(limit, shared)) : [own, ...listed];
}

/** Adds the members that the limit itself does not have. Anything that is not an object is returned unchanged. */
function withDefaults<Q>(limit: Limit<Q>, shared: Partial<Limit<Q>>): Limit<Q> {
  if (typeof limit !== 'object' || limit === null) return limit;
  const own = Object.entries(limit).filter(([, value]) => value !== undefined);
  return { ...shared, ...(Object.fromEntries(own) as unknown as Limit<Q>) };
}

export function limitsOf<Q>(options: GuardOptions<Q>): readonly Limit<Q>[] {
  const { limiter, limits } = options;
  const own = Object.fromEntries(
    LIMIT_OPTIONS.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]])),
  );
  const found = listLimits<Q>({ ...own, limits });
  if (found.length === 0) throw new SluiceError('ERR_MISSING_OPTION', 'rateLimit.limiter', limiter);
  const checked = found.map((limit) => checkedLimit(limit as Limit<Q>));
  const limiters = checked.map((limit) => limit.limiter);
  for (const limit of checked) checkFixedCost(limit.cost, limiters);
  return checked;
}

function checkedLimit<Q>(limit: Limit<Q>): Limit<Q> {
  const { limiter } = checkOptionNames('rateLimit.limits', limit, LIMIT_OPTIONS);
  if (limiter === undefined) throw new SluiceError('ERR_MISSING_OPTION', 'rateLimit.limiter', limiter);
  if (!isLimiter(limiter)) {
    const hint = typeof limiter === 'string' ? `createLimiter('${limiter as string}')` : '';
    throw new SluiceError('ERR_OPTIONS', 'rateLimit.limiter', limiter, hint, 'must be a limiter');
  }
  functions('rateLimit', limit, ['key', 'settle']);
  return limit;
}

/** Validates a cost that is the same for all requests. */
function checkFixedCost(cost: Limit<never>['cost'], limiters: readonly object[]): void {
  if (cost === undefined || typeof cost === 'function') return;
  if (typeof cost !== 'object' || cost === null) return void checkCost(cost, 'rateLimit.cost');
  for (const [name, units] of Object.entries(cost)) {
    if (!mayBePolicy(limiters, name))
      throw new SluiceError(
        'ERR_COST',
        `rateLimit.cost.${name}`,
        units,
        '',
        'is not a policy of any limiter',
      );
    if (units !== undefined) checkCost(units, `rateLimit.cost.${name}`);
  }
}
