/** What a guard can be told, and the checks of it: a mistake comes to light when the guard is made. */
import type { Decision, MaybePromise } from '../engine/contract.ts';
import { SluiceError } from '../internal/errors.ts';
import type { AnyLimiter } from '../limiter/api.ts';
import { cost as checkCost, functions, checkOptionNames, listOf, oneOf } from '../internal/options.ts';
import type { ClientAddressOptions } from './client-address.ts';
import { HEADER_STYLES, type HeaderStyle } from './headers.ts';

/** What a guard needs of a limiter. Every limiter has it. */
export type GuardLimiter = Pick<AnyLimiter, 'take' | 'peek' | 'refund' | 'release' | 'takeMany'> &
  Partial<Pick<AnyLimiter, 'keep'>>;

/** How a response ended. */
export interface Outcome {
  /** Of the response. */
  readonly status: number;
  /** The client left before it was complete. */
  readonly aborted: boolean;
}

/** One limiter, and what a request means to it. */
export interface Limit<Q> {
  /** Which is asked. */
  readonly limiter: GuardLimiter;
  /** Whom it counts for; default, and where it returns `undefined`: the client's address. `false`: the limit does not apply. */
  readonly key?: ((request: Q) => MaybePromise<string | false | undefined>) | undefined;
  /** Default 1. */
  readonly cost?: number | ((request: Q) => MaybePromise<number>) | undefined;
  /** One of the limiter's tiers; default none. */
  readonly tier?: string | ((request: Q) => MaybePromise<string | undefined>) | undefined;
  /** What it cost in the end, once the response is out: less is given back, more is charged. Undefined: as it was. */
  readonly settle?: ((request: Q, outcome: Outcome) => MaybePromise<number | undefined>) | undefined;
}

/** What a request means to limits, and what a client is told. `Q` is the framework's request. */
export interface GuardOptions<Q> extends Partial<Limit<Q>>, ClientAddressOptions {
  /** Several limits, all or nothing: instead of `limiter`, or beside it. */
  readonly limits?: readonly Limit<Q>[] | undefined;
  /** True: no limit applies to this request. */
  readonly skip?: ((request: Q) => MaybePromise<boolean>) | undefined;
  /** Decide and report, never deny. */
  readonly shadow?: boolean | undefined;
  /** Told of every denial, in shadow too. */
  readonly onDenied?: ((request: Q, decision: Decision) => unknown) | undefined;
  /**
   * Told when a store could not be asked, with a StoreUnavailable: the client hears 503. And, when the client has its
   * response already, of whatever went wrong in `settle` or in the charge, refund or release that followed it.
   */
  readonly onUnavailable?: ((request: Q, error: unknown) => unknown) | undefined;
  /** Of a denial; default 429. */
  readonly status?: number | undefined;
  /** Of a denial: text, or what becomes JSON, or a promise of it. Default: problem details. */
  readonly body?: ((request: Q, decision: Decision) => unknown) | undefined;
  /** Default 'draft-11'; false: none. */
  readonly headers?: HeaderStyle | readonly HeaderStyle[] | false | undefined;
}

const LIMIT_OPTIONS = ['limiter', 'key', 'cost', 'tier', 'settle'] as const;

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

/** Options of another function, by where they belong. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  limit: IN_LIMITER,
  max: IN_LIMITER,
  per: IN_LIMITER,
  windowMs: IN_LIMITER,
  store: "it belongs to the limiter: createLimiter('100/min', { store, name: 'api' })",
  clientAddress: 'trustProxy and ipv6Prefix are options of rateLimit itself',
};

/** Refuses what is meant for a limiter, before it is taken for unknown options. */
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

/** The same options. The limits in them are checked by `limitsOf`. */
export function checked<Q>(options: GuardOptions<Q>): GuardOptions<Q> {
  checkPlace(options);
  const { status, headers } = checkOptionNames('rateLimit', options, GUARD_OPTIONS);
  if (status !== undefined && !(Number.isInteger(status) && status >= 200 && status <= 599))
    throw new SluiceError('ERR_NUMBER', 'rateLimit.status', status, '200 to 599');
  if (headers !== undefined && headers !== false)
    for (const one of typeof headers === 'string' ? [headers] : listOf('rateLimit.headers', headers))
      oneOf('rateLimit.headers', one, HEADER_STYLES);
  functions('rateLimit', options, ['skip', 'onDenied', 'onUnavailable', 'body']);
  return options;
}

export function limitsOf<Q>(options: GuardOptions<Q>): readonly Limit<Q>[] {
  const { limiter, key, cost, tier, settle, limits = [] } = options;
  // Without a limiter these would mean nothing: each of the limits has its own.
  const own = { limiter, key, cost, tier, settle };
  const isOwn = Object.values(own).some((value) => value !== undefined);
  const found = [...(isOwn ? [own] : []), ...listOf('rateLimit.limits', limits)];
  if (found.length === 0) throw new SluiceError('ERR_MISSING_OPTION', 'rateLimit.limiter', limiter);
  return found.map((limit) => checkedLimit(limit as Limit<Q>));
}

function checkedLimit<Q>(limit: Limit<Q>): Limit<Q> {
  const { limiter, cost } = checkOptionNames('rateLimit.limits', limit, LIMIT_OPTIONS);
  if (limiter === undefined) throw new SluiceError('ERR_MISSING_OPTION', 'rateLimit.limiter', limiter);
  if (!isLimiter(limiter)) {
    const hint = typeof limiter === 'string' ? `createLimiter('${limiter as string}')` : '';
    throw new SluiceError('ERR_OPTIONS', 'rateLimit.limiter', limiter, hint, 'must be a limiter');
  }
  if (cost !== undefined && typeof cost !== 'function') checkCost(cost, 'rateLimit.cost');
  functions('rateLimit', limit, ['key', 'settle']);
  return limit;
}
