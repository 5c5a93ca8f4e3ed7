/**
 * A fetch that respects the rate limits of a limiter and those that servers announce in their responses. Calls wait for
 * their turn, and calls that a server rejected are retried a limited number of times.
 */
import { systemClock } from '../../internal/clock.ts';
import type { Clock, Decision, MaybePromise, Millis } from '../../engine/contract.ts';
import { type Duration, duration } from '../../internal/duration.ts';
import { DeniedError, SluiceError } from '../../internal/errors.ts';
import { chain, ignoreFailure } from '../../internal/maybe-promise.ts';
import {
  cost as checkCost,
  functions,
  checkOptionNames,
  listOf,
  notNegative,
  whole,
} from '../../internal/options.ts';
import type { AnyLimiter, ByPolicy } from '../../limiter/api.ts';
import { givenBack } from '../charges.ts';
import { announcedWait } from './retry-after.ts';
import { type FetchInit, originOf, outgoing, type OutgoingRequest } from './outgoing.ts';
import { closures, announcedDenial, retryBudget, sleep } from './retry-budget.ts';

/**
 * The methods of a limiter that `limitedFetch` uses. Every limiter of Sluice has them. The option `settle` requires a limiter with
 * a `settle` method.
 */
export type FetchLimiter = Pick<AnyLimiter, 'acquire' | 'refund' | 'release'> &
  Partial<Pick<AnyLimiter, 'keep' | 'settle'>>;

/** The options of `limitedFetch`. `R` is the type of the responses. */
export interface LimitedFetchOptions<R extends FetchResponse = FetchResponse> {
  /**
   * The limiter in which every attempt waits for its turn. If the limiter has a `concurrency` policy, the place of the attempt is
   * released when the response's headers arrive.
   */
  readonly limiter?: FetchLimiter | undefined;
  /**
   * Computes the key of a call. Calls with the same key share one limit and the waits that servers announce. Default: the URL's
   * origin.
   */
  readonly key?: ((request: OutgoingRequest) => string) | undefined;
  /**
   * How many units an attempt costs: one number for all policies, or a number per policy, as in `{ requests: 1, tokens: 4200 }`.
   * Default 1.
   */
  readonly cost?: ByPolicy | ((request: OutgoingRequest) => ByPolicy) | undefined;
  /**
   * Returns how much an attempt used. The difference from its cost is then charged or given back. The function is called with the
   * response when its headers have arrived or, if the attempt failed, with undefined and the error. To read the body, read a clone
   * of the response; the caller gets the response without waiting for the result. If the result is undefined, an attempt that got a
   * response counts as having used its cost, and an attempt that failed counts as having used nothing. If `settle` itself fails, or
   * is not given, every attempt keeps its cost.
   */
  readonly settle?:
    | ((
        response: R | undefined,
        request: OutgoingRequest,
        error?: unknown,
      ) => MaybePromise<ByPolicy | undefined>)
    | undefined;
  /** Whether a call waits if its server announced a wait in an earlier response. Retries always wait. Default true. */
  readonly respect?: boolean | undefined;
  /**
   * The longest time that one call waits in total, not counting the time that the requests take. With 0, a call never waits.
   * Infinity means no bound. Default 30 s.
   */
  readonly maxWait?: Duration | undefined;
  /** The number of retries after the first attempt. Default 2. */
  readonly retries?: number | undefined;
  /** The statuses that are retried. Default 429 and 503. */
  readonly retryOn?: readonly number[] | undefined;
  /** The methods that may be retried. Default: the idempotent methods. */
  readonly retryMethods?: readonly string[] | undefined;
  /** How many retries each call adds to the retry budget that all calls share. The budget starts at ten. Default 0.2. */
  readonly retryRatio?: number | undefined;
  /**
   * The upper bound of the random delay before the first retry, which is added to the announced wait. The bound doubles with each
   * retry. Default 500 ms.
   */
  readonly backoff?: Duration | undefined;
  /** Replaces the system clock in tests. */
  readonly clock?: Clock | undefined;
  /** Replaces `Math.random` in tests. */
  readonly random?: (() => number) | undefined;
}

/** The parts of a fetch response that `limitedFetch` uses. */
export interface FetchResponse {
  /** The status of the response, which decides whether to retry. */
  readonly status: number;
  /** The headers in which a server announces how long to wait. */
  readonly headers: { get(name: string): string | null };
  /** The body of the response, which is canceled before a retry to free the connection. */
  readonly body?: unknown;
}

/** The platform's `fetch`, or a function that wraps it. */
export type AnyFetch = (input: never, init: never) => Promise<FetchResponse>;

const OPTIONS = [
  'limiter',
  'key',
  'cost',
  'settle',
  'respect',
  'maxWait',
  'retries',
  'retryOn',
  'retryMethods',
  'retryRatio',
  'backoff',
  'clock',
  'random',
] as const;

const IDEMPOTENT = ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'TRACE'];

/** One call with all its attempts. */
interface Call {
  readonly request: OutgoingRequest;
  readonly key: string;
  readonly cost: ByPolicy;
  readonly signal: AbortSignal | undefined;
  /** How much of `maxWait` is left. */
  left: Millis;
  /** The limiter's decision on the latest attempt. */
  decision: Decision | undefined;
}

/**
 * Returns a function with the signature of `fetch` that waits for its turn and retries. It resolves to the response of the last
 * attempt, whatever its status. It rejects with a `DeniedError` if the turn does not come within `maxWait`, with the signal's
 * reason if the signal is aborted, and with any error of `fetch`.
 */
export function limitedFetch<F extends AnyFetch>(
  fetch: F,
  options: LimitedFetchOptions<Awaited<ReturnType<F>>> = {},
): F {
  const {
    limiter,
    key,
    cost,
    settle,
    respect,
    maxWait,
    retries,
    retryOn,
    retryMethods,
    retryRatio,
    backoff,
    clock,
    random,
  } = checked(fetch, options as LimitedFetchOptions);
  const closed = closures(clock);
  const budget = retryBudget(retryRatio);
  const send = fetch as unknown as (input: unknown, init: unknown) => Promise<FetchResponse>;

  async function limited(input: unknown, init?: FetchInit | null): Promise<FetchResponse> {
    const { request, signal, isRepeatable } = outgoing(input, init);
    const price = typeof cost === 'function' ? cost(request) : cost;
    const subject = key(request);
    const call: Call = { request, key: subject, cost: price, signal, left: maxWait, decision: undefined };
    const mayRepeat = retryMethods.includes(request.method);
    budget.earn();
    let last: FetchResponse | undefined;
    let pause = 0;
    for (let tries = 0; ; tries++) {
      try {
        await turn(call, pause);
      } catch (error) {
        if (last !== undefined && error instanceof DeniedError) return last;
        discard(last);
        throw error;
      }
      discard(last);
      last = await fetched(call, input, init);
      const announced = announcedWait(last.status, last.headers, clock.now());
      if (respect && announced > 0) closed.close(call.key, announced);
      pause = announced + random() * backoff * 2 ** tries;
      const again = mayRepeat && tries < retries && retryOn.includes(last.status) && pause <= call.left;
      if (!again || !isRepeatable() || !budget.spend()) return last;
    }
  }

  /**
   * Waits until the pause is over, the server accepts calls again and the limiter allows the call, all at the same
   * instant.
   */
  async function turn(call: Call, pause: Millis): Promise<void> {
    for (let wait = Math.max(pause, closed.left(call.key)); ; wait = closed.left(call.key)) {
      call.signal?.throwIfAborted();
      if (wait > call.left) throw new DeniedError(call.key, announcedDenial(wait));
      if (wait > 0) await timed(call, sleep(clock, wait, call.signal));
      else if (limiter === undefined) return;
      else {
        const { cost, signal, left } = call;
        const decision = await timed(call, limiter.acquire(call.key, { cost, signal, timeout: left }));
        if (!decision.allowed) throw new DeniedError(call.key, decision);
        call.decision = decision;
        if (closed.left(call.key) === 0) return;
        // The server announced a wait while this call was queued. The call queues again, because otherwise all waiting calls would
        // be sent together after that wait.
        ignoreFailure(() => limiter.refund(call.key, givenBack(call, decision)));
      }
    }
  }

  async function timed<T>(call: Call, waiting: Promise<T>): Promise<T> {
    const start = clock.now();
    const result = await waiting;
    call.left = Math.max(0, call.left - (clock.now() - start));
    return result;
  }

  async function fetched(call: Call, input: unknown, init: unknown): Promise<FetchResponse> {
    const { key, decision: of } = call;
    if (of?.held === true) limiter?.keep?.(key, givenBack(call, of));
    try {
      const response = await send(input, init);
      settleAttempt(call, (settle) => settle(response, call.request));
      return response;
    } catch (error) {
      settleAttempt(call, (settle) => chain(settle(undefined, call.request, error), (used) => used ?? 0));
      throw error;
    } finally {
      if (of?.held === true) ignoreFailure(() => limiter?.release(key, givenBack(call, of)));
    }
  }

  /** Corrects the charge of an attempt, without waiting for the result. `ask` calls `settle`. */
  function settleAttempt(
    { key, decision: of }: Call,
    ask: (call: NonNullable<typeof settle>) => MaybePromise<ByPolicy | undefined>,
  ): void {
    if (settle === undefined || of === undefined) return;
    ignoreFailure(() =>
      chain(ask(settle), (used) => (used === undefined ? undefined : limiter?.settle?.(key, { used, of }))),
    );
  }

  // Keep properties that the platform defines on its fetch.
  return Object.assign(limited, fetch);
}

function checked(fetch: unknown, options: LimitedFetchOptions) {
  if (typeof fetch !== 'function')
    throw new SluiceError('ERR_OPTIONS', 'limitedFetch.fetch', fetch, '', 'must be a function such as fetch');
  if (typeof (options as { acquire?: unknown } | null)?.acquire === 'function')
    throw new SluiceError(
      'ERR_OPTIONS',
      'limitedFetch',
      options,
      'pass the limiter as an option: { limiter }',
    );
  const {
    limiter,
    key = originOf,
    cost = 1,
    settle,
    respect = true,
    clock = systemClock,
    random = Math.random,
  } = checkOptionNames('limitedFetch', options, OPTIONS);
  if (limiter !== undefined && typeof limiter?.acquire !== 'function')
    throw new SluiceError('ERR_OPTIONS', 'limitedFetch.limiter', limiter, '', 'must be a limiter');
  functions('limitedFetch', options, ['key', 'settle', 'random']);
  if (settle !== undefined && typeof limiter?.settle !== 'function')
    throw new SluiceError(
      'ERR_OPTIONS',
      'limitedFetch.settle',
      settle,
      '',
      'requires a limiter that can settle charges',
    );
  const { maxWait = 30_000, retries = 2, retryOn = [429, 503], retryRatio = 0.2, backoff = 500 } = options;
  const { retryMethods = IDEMPOTENT } = options;
  return {
    limiter,
    key,
    cost: typeof cost === 'number' ? checkCost(cost, 'limitedFetch.cost') : checkedCost(cost),
    settle,
    respect,
    maxWait: maxWait === 0 || maxWait === Infinity ? maxWait : duration('limitedFetch.maxWait', maxWait),
    retries: retries === 0 ? 0 : whole('limitedFetch.retries', retries),
    retryOn: listOf('limitedFetch.retryOn', retryOn),
    retryMethods: listOf('limitedFetch.retryMethods', retryMethods).map((method) => method.toUpperCase()),
    retryRatio: notNegative('limitedFetch.retryRatio', retryRatio),
    backoff: duration('limitedFetch.backoff', backoff),
    clock,
    random,
  };
}

/** Validates the numbers in a cost that has one number per policy. The limiter checks the names. */
function checkedCost<C>(cost: C): C {
  if (typeof cost === 'function') return cost;
  if (typeof cost !== 'object' || cost === null) checkCost(cost, 'limitedFetch.cost');
  for (const [name, units] of Object.entries(cost as object))
    if (units !== undefined) checkCost(units, `limitedFetch.cost.${name}`);
  return cost;
}

/** Frees the connection of a response that will not be read. */
function discard(response: FetchResponse | undefined): void {
  const body = response?.body as { cancel?(): MaybePromise<unknown> } | null | undefined;
  ignoreFailure(() => body?.cancel?.());
}
