/**
 * A fetch that keeps to limits: a limiter's, and those that servers announce. Calls wait for their turn, and what a
 * server turned away is tried again, a few times and within bounds.
 */
import { systemClock } from '../../internal/clock.ts';
import type { Clock, Decision, MaybePromise, Millis } from '../../engine/contract.ts';
import { type Duration, duration } from '../../internal/duration.ts';
import { DeniedError, SluiceError } from '../../internal/errors.ts';
import { ignoreFailure } from '../../internal/maybe-promise.ts';
import {
  cost as checkCost,
  functions,
  checkOptionNames,
  listOf,
  notNegative,
  whole,
} from '../../internal/options.ts';
import type { AnyLimiter } from '../../limiter/api.ts';
import { announcedWait } from './retry-after.ts';
import { type FetchInit, originOf, outgoing, type OutgoingRequest } from './outgoing.ts';
import { closures, refusal, retryBudget, sleep } from './retry-budget.ts';

/** What `limitedFetch` needs of a limiter. Every limiter has it. */
export type FetchLimiter = Pick<AnyLimiter, 'acquire' | 'refund' | 'release'> &
  Partial<Pick<AnyLimiter, 'keep'>>;

export interface LimitedFetchOptions {
  /** Every try waits for its turn here. What it holds (concurrency) is released when the response's headers are here. */
  readonly limiter?: FetchLimiter | undefined;
  /** Who is limited together, and heeds the same announcements. Default: the URL's origin. */
  readonly key?: ((request: OutgoingRequest) => string) | undefined;
  /** Default 1. */
  readonly cost?: number | ((request: OutgoingRequest) => number) | undefined;
  /** Later calls wait for what servers announce. Default true. A retry always does. */
  readonly respect?: boolean | undefined;
  /** The longest that one call waits in all, beside the fetching itself. Default 30 s; 0: not at all; Infinity: no bound. */
  readonly maxWait?: Duration | undefined;
  /** Tries beyond the first. Default 2. */
  readonly retries?: number | undefined;
  /** Statuses that are tried again. Default 429 and 503. */
  readonly retryOn?: readonly number[] | undefined;
  /** Methods that may be sent twice. Default: the idempotent ones. */
  readonly retryMethods?: readonly string[] | undefined;
  /** Retries of all calls together, per call, beside the first ten. Default 0.2. */
  readonly retryRatio?: number | undefined;
  /** The first retry comes after a random part of this, or that much after what was announced; doubles. Default 500 ms. */
  readonly backoff?: Duration | undefined;
  /** In place of the system's: for tests. */
  readonly clock?: Clock | undefined;
  /** In place of Math.random: for tests. */
  readonly random?: (() => number) | undefined;
}

/** What fetch answers with, as far as it matters here. */
export interface FetchResponse {
  /** Says whether to try again. */
  readonly status: number;
  /** Say how long to wait. */
  readonly headers: { get(name: string): string | null };
  /** Cancelled when a try is followed by another. */
  readonly body?: unknown;
}

/** The platform's fetch, or one that wraps it. */
export type AnyFetch = (input: never, init: never) => Promise<FetchResponse>;

const OPTIONS = [
  'limiter',
  'key',
  'cost',
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

/** One call, all its tries together. */
interface Call {
  readonly key: string;
  readonly cost: number;
  readonly signal: AbortSignal | undefined;
  /** Of maxWait. */
  left: Millis;
  /** The limiter's answer to its last try. */
  decision: Decision | undefined;
}

/**
 * The same function, but it waits and tries again. Answers with the response of the last try, whatever its status.
 * Rejects with a DeniedError when the turn does not come within `maxWait`, with the signal's reason when aborted, and
 * as fetch does.
 */
export function limitedFetch<F extends AnyFetch>(fetch: F, options: LimitedFetchOptions = {}): F {
  const {
    limiter,
    key,
    cost,
    respect,
    maxWait,
    retries,
    retryOn,
    retryMethods,
    retryRatio,
    backoff,
    clock,
    random,
  } = checked(fetch, options);
  const closed = closures(clock);
  const budget = retryBudget(retryRatio);
  const send = fetch as unknown as (input: unknown, init: unknown) => Promise<FetchResponse>;

  async function limited(input: unknown, init?: FetchInit | null): Promise<FetchResponse> {
    const { request, signal, isRepeatable } = outgoing(input, init);
    const price = typeof cost === 'function' ? cost(request) : cost;
    const call: Call = { key: key(request), cost: price, signal, left: maxWait, decision: undefined };
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

  /** Waits until the pause is over, the server may be asked and the limiter agrees, all at the same instant. */
  async function turn(call: Call, pause: Millis): Promise<void> {
    for (let wait = Math.max(pause, closed.left(call.key)); ; wait = closed.left(call.key)) {
      call.signal?.throwIfAborted();
      if (wait > call.left) throw new DeniedError(call.key, refusal(wait));
      if (wait > 0) await timed(call, sleep(clock, wait, call.signal));
      else if (limiter === undefined) return;
      else {
        const { cost, signal, left } = call;
        const decision = await timed(call, limiter.acquire(call.key, { cost, signal, timeout: left }));
        if (!decision.allowed) throw new DeniedError(call.key, decision);
        call.decision = decision;
        if (closed.left(call.key) === 0) return;
        // Announced while it waited. Back into the line, or all who did would be let go at once.
        ignoreFailure(() => limiter.refund(call.key, { cost, of: decision }));
      }
    }
  }

  async function timed<T>(call: Call, waiting: Promise<T>): Promise<T> {
    const start = clock.now();
    const result = await waiting;
    call.left = Math.max(0, call.left - (clock.now() - start));
    return result;
  }

  async function fetched(
    { key, cost, decision: of }: Call,
    input: unknown,
    init: unknown,
  ): Promise<FetchResponse> {
    if (of?.at !== undefined) limiter?.keep?.(key, { cost, of });
    try {
      return await send(input, init);
    } finally {
      if (of?.at !== undefined) ignoreFailure(() => limiter?.release(key, { cost, of }));
    }
  }

  // What a platform hangs on its fetch stays there.
  return Object.assign(limited, fetch);
}

function checked(fetch: unknown, options: LimitedFetchOptions) {
  if (typeof fetch !== 'function')
    throw new SluiceError('ERR_OPTIONS', 'limitedFetch.fetch', fetch, '', 'must be a function such as fetch');
  if (typeof (options as { acquire?: unknown } | null)?.acquire === 'function')
    throw new SluiceError('ERR_OPTIONS', 'limitedFetch', options, 'put the limiter into it: { limiter }');
  const {
    limiter,
    key = originOf,
    cost = 1,
    respect = true,
    clock = systemClock,
    random = Math.random,
  } = checkOptionNames('limitedFetch', options, OPTIONS);
  if (limiter !== undefined && typeof limiter?.acquire !== 'function')
    throw new SluiceError('ERR_OPTIONS', 'limitedFetch.limiter', limiter, '', 'must be a limiter');
  functions('limitedFetch', options, ['key', 'random']);
  const { maxWait = 30_000, retries = 2, retryOn = [429, 503], retryRatio = 0.2, backoff = 500 } = options;
  const { retryMethods = IDEMPOTENT } = options;
  return {
    limiter,
    key,
    cost: typeof cost === 'function' ? cost : checkCost(cost, 'limitedFetch.cost'),
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

/** Frees the socket of a response that nobody will read. */
function discard(response: FetchResponse | undefined): void {
  const body = response?.body as { cancel?(): MaybePromise<unknown> } | null | undefined;
  ignoreFailure(() => body?.cancel?.());
}
