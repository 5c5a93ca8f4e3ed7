/**
 * From a request to a verdict: the one place where limiters that answer at once and limiters that answer later meet.
 * Middlewares only carry the verdict out.
 */
import type { Decision, MaybePromise, Mode } from '../contract.ts';
import { SluiceError, StoreUnavailable } from '../errors.ts';
import { all, chain, isPromise, unheard } from '../maybe.ts';
import { known } from '../options.ts';
import { type ClientAddressOptions, clientAddressBy, type RequestLike } from './client-address.ts';
import { type HeaderPair, type HeaderStyle, rateLimitHeaders } from './headers.ts';
import { merged } from './merged.ts';
import { problem, PROBLEM_TYPE, unavailable } from './problem.ts';

/** What a guard needs of a limiter; every limiter of Sluice offers it. */
export interface GuardLimiter {
  take(key: string, options: Share & { readonly mode?: Mode }): MaybePromise<Decision>;
  refund(key: string, options: Share): MaybePromise<Decision>;
  release(key: string, options: Share): MaybePromise<Decision>;
  holds(key: string, tier?: string): boolean;
  takeMany(
    items: readonly { readonly key: string }[],
  ): MaybePromise<{ readonly decisions: readonly Decision[] }>;
}

interface Share {
  readonly cost: number;
  readonly tier?: string | undefined;
}

interface Charge extends Share {
  readonly limiter: GuardLimiter;
  readonly key: string;
}

/** How a response ended. */
export interface Outcome {
  readonly status: number;
  /** The client left before it was complete. */
  readonly aborted: boolean;
}

/** One limiter, and what a request means to it. */
export interface Limit<Q> {
  readonly limiter: GuardLimiter;
  /** Whom it counts for; default: the client's address. `false`: this limit does not apply. */
  readonly key?: ((request: Q) => MaybePromise<string | false>) | undefined;
  /** Default 1. */
  readonly cost?: number | ((request: Q) => MaybePromise<number>) | undefined;
  readonly tier?: string | ((request: Q) => MaybePromise<string | undefined>) | undefined;
  /** What it cost in the end, once the response is out: less is given back, more is charged. Undefined: as it was. */
  readonly settle?: ((request: Q, outcome: Outcome) => MaybePromise<number | undefined>) | undefined;
}

export interface GuardOptions<Q> extends Partial<Limit<Q>>, ClientAddressOptions {
  /** Several limits, all or nothing: instead of `limiter`, or beside it. */
  readonly limits?: readonly Limit<Q>[] | undefined;
  readonly skip?: ((request: Q) => MaybePromise<boolean>) | undefined;
  /** Decide and report, never deny. */
  readonly shadow?: boolean | undefined;
  /** Told of every denial, in shadow too. */
  readonly onDenied?: ((request: Q, decision: Decision) => unknown) | undefined;
  /** Told when a store could not be asked; the client hears 503. */
  readonly onUnavailable?: ((request: Q, error: StoreUnavailable) => unknown) | undefined;
  /** Of a denial; default 429. */
  readonly status?: number | undefined;
  /** Of a denial: text, or what becomes JSON. Default: problem details. */
  readonly body?: ((request: Q, decision: Decision) => unknown) | undefined;
  /** Default 'draft-11'; false: none. */
  readonly headers?: HeaderStyle | readonly HeaderStyle[] | false | undefined;
}

const LIMIT_OPTIONS = ['limiter', 'key', 'cost', 'tier', 'settle'] as const;

export const GUARD_OPTIONS = [
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

export interface Refusal {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

export interface Verdict {
  /** Undefined where nothing was decided. */
  readonly decision: Decision | undefined;
  readonly headers: readonly HeaderPair[];
  /** What to answer instead of the handler; undefined: go on. */
  readonly refusal: Refusal | undefined;
  /** To be called once the response is out; never rejects. Undefined: not needed. */
  readonly settle: ((outcome: Outcome) => Promise<void>) | undefined;
}

export type Guard<Q> = (request: Q) => MaybePromise<Verdict>;

/** Where a framework keeps things. */
export interface View<Q> {
  /** Headers and connection, for the client's address. */
  addressed(request: Q): RequestLike;
  /** The same object for all guards that a request meets. */
  identity(request: Q): object;
}

const PASS: Verdict = { decision: undefined, headers: [], refusal: undefined, settle: undefined };

/** What the guards before have charged a request for: a later denial gives it back, and headers tell of all of it. */
const passed = new WeakMap<object, { readonly decisions: readonly Decision[]; giveBack(): void }>();

export function createGuard<Q>(given: GuardOptions<Q> | GuardLimiter, view: View<Q>): Guard<Q> {
  const options: GuardOptions<Q> = isLimiter(given)
    ? { limiter: given }
    : known('rateLimit', given, GUARD_OPTIONS);
  const { skip, shadow = false, onDenied, onUnavailable, status = 429, body, headers = 'draft-11' } = options;
  const limits = limitsOf(options);
  const { trustProxy, ipv6Prefix } = options;
  const addressOf = clientAddressBy({ trustProxy, ipv6Prefix });
  const addressKey = (request: Q): string => addressOf(view.addressed(request));

  function chargeOf(
    { limiter, key = addressKey, cost = 1, tier }: Limit<Q>,
    request: Q,
  ): MaybePromise<Charge | undefined> {
    if (key === addressKey && typeof cost === 'number' && typeof tier !== 'function')
      return { limiter, key: addressKey(request), cost, tier };
    const parts: MaybePromise<unknown>[] = [
      key(request),
      typeof cost === 'function' ? cost(request) : cost,
      typeof tier === 'function' ? tier(request) : tier,
    ];
    return chain(all(parts), ([subject, price, level]) =>
      subject === false
        ? undefined
        : { limiter, key: subject as string, cost: price as number, tier: level as string | undefined },
    );
  }

  function check(request: Q): MaybePromise<Verdict> {
    return chain(all(limits.map((limit) => chargeOf(limit, request))), (charges) => {
      const due = charges.filter((charge) => charge !== undefined);
      if (due.length === 0) return PASS;
      return chain(take(due), (decisions) => verdictOn(request, charges, decisions));
    });
  }

  function verdictOn(
    request: Q,
    charges: readonly (Charge | undefined)[],
    own: readonly Decision[],
  ): Verdict {
    const identity = view.identity(request);
    const before = passed.get(identity);
    const told = before?.decisions ?? [];
    const decisions = told.length === 0 ? own : [...told, ...own];
    const decision = merged(decisions);
    if (!own.every(({ allowed }) => allowed)) {
      if (onDenied !== undefined) unheard(() => onDenied(request, decision));
      if (shadow) return { ...PASS, decision };
      before?.giveBack();
      passed.delete(identity);
      return { decision, headers: pairs(decision), refusal: refusal(request, decision), settle: undefined };
    }
    const open = new Set(
      charges.flatMap((charge, i) => (charge === undefined ? [] : [{ charge, limit: limits[i] }])),
    );
    passed.set(identity, {
      decisions: shadow ? told : decisions,
      giveBack() {
        before?.giveBack();
        for (const { charge } of open) refund(charge, charge.cost);
        open.clear();
      },
    });
    const later = [...open].filter(
      ({ charge, limit }) => limit.settle ?? charge.limiter.holds(charge.key, charge.tier),
    );
    const settle =
      later.length === 0
        ? undefined
        : async (outcome: Outcome) => {
            const now = later.filter((one) => open.delete(one));
            await Promise.allSettled(now.map((one) => settleOne(request, one, outcome)));
          };
    return { decision, headers: shadow ? [] : pairs(decision), refusal: undefined, settle };
  }

  function pairs(decision: Decision): readonly HeaderPair[] {
    return headers === false ? [] : rateLimitHeaders(decision, { style: headers });
  }

  function refusal(request: Q, decision: Decision): Refusal {
    if (body === undefined)
      return { status, type: PROBLEM_TYPE, body: JSON.stringify(problem(decision, status)) };
    const content = body(request, decision);
    return typeof content === 'string'
      ? { status, type: 'text/plain; charset=utf-8', body: content }
      : { status, type: 'application/json', body: JSON.stringify(content) ?? '' };
  }

  function failed(request: Q, error: unknown): Verdict {
    if (!(error instanceof StoreUnavailable)) throw error;
    if (onUnavailable !== undefined) unheard(() => onUnavailable(request, error));
    if (shadow) return PASS;
    const { status: code, ...rest } = unavailable();
    const text = JSON.stringify({ ...rest, status: code });
    return { ...PASS, refusal: { status: code, type: PROBLEM_TYPE, body: text } };
  }

  return (request) => {
    try {
      const verdict =
        skip === undefined
          ? check(request)
          : chain(skip(request), (skipped) => (skipped ? PASS : check(request)));
      return isPromise(verdict) ? verdict.catch((error: unknown) => failed(request, error)) : verdict;
    } catch (error) {
      return failed(request, error);
    }
  };
}

function take(charges: readonly Charge[]): MaybePromise<readonly Decision[]> {
  const [{ limiter, key, cost, tier }] = charges;
  if (charges.length === 1) return chain(limiter.take(key, { cost, tier }), (decision) => [decision]);
  return chain(limiter.takeMany(charges), ({ decisions }) => decisions);
}

function refund({ limiter, key, tier }: Charge, cost: number): void {
  if (cost > 0) unheard(() => limiter.refund(key, { cost, tier }));
}

async function settleOne<Q>(
  request: Q,
  { charge, limit }: { readonly charge: Charge; readonly limit: Limit<Q> },
  outcome: Outcome,
): Promise<void> {
  const { limiter, key, cost, tier } = charge;
  if (limiter.holds(key, tier)) await limiter.release(key, { cost, tier });
  const final = (await limit.settle?.(request, outcome)) ?? cost;
  if (final > cost) await limiter.take(key, { cost: final - cost, tier, mode: 'always' });
  if (final < cost) await limiter.refund(key, { cost: cost - final, tier });
}

function isLimiter(value: unknown): value is GuardLimiter {
  return typeof (value as GuardLimiter | undefined)?.takeMany === 'function';
}

function limitsOf<Q>({
  limiter,
  key,
  cost,
  tier,
  settle,
  limits = [],
}: GuardOptions<Q>): readonly Limit<Q>[] {
  const own = limiter === undefined ? [] : [{ limiter, key, cost, tier, settle }];
  const found = [...own, ...limits];
  if (found.length === 0) throw new SluiceError('ERR_MISSING_OPTION', 'rateLimit.limiter', limiter);
  for (const one of found)
    if (!isLimiter(known('rateLimit.limits', one, LIMIT_OPTIONS).limiter))
      throw new SluiceError('ERR_OPTIONS', 'rateLimit.limiter', one.limiter, 'a limiter');
  return found;
}
