/**
 * Turns a request into a verdict. This is the only place that handles both synchronous and asynchronous limiters. Middlewares
 * only apply the verdict.
 */
import type { Decision, MaybePromise } from '../engine/contract.ts';
import { SluiceError, StoreUnavailable } from '../internal/errors.ts';
import { warnOnce } from '../internal/warn.ts';
import type { ByPolicy } from '../limiter/api.ts';
import { all, chain, isPromise, ignoreFailure } from '../internal/maybe-promise.ts';
import { type Addressed, addressKeyOf } from './address-key.ts';
import {
  type Charge,
  type Entry,
  givenBack,
  type Marked,
  PASSED,
  refundAll,
  withEarlier,
} from './charges.ts';
import { costPart, onceEach } from './cost-parts.ts';
import {
  checked,
  type GuardLimiter,
  type GuardOptions,
  isLimiter,
  type Limit,
  limitsOf,
  type Outcome,
} from './guard-options.ts';
import { type HeaderPair, headerWriter } from './headers.ts';
import { mergeDecisions } from '../engine/decision.ts';
import { problem, PROBLEM_TYPE, unavailable } from './problem.ts';
import { settleOne } from './settle.ts';

/** The response to a request that is denied. */
export interface Refusal {
  /** The HTTP status, which is 429 or the configured status, or 503 if the store cannot be reached. */
  readonly status: number;
  /** The Content-Type of the body. */
  readonly type: string;
  /** The body, serialized. */
  readonly body: string;
}

/** What a guard decided about a request. */
export interface Verdict {
  /** The decision, or undefined if no limit applied. */
  readonly decision: Decision | undefined;
  /** Headers to set on the response, whether the request passes or not. */
  readonly headers: readonly HeaderPair[];
  /** The response to send instead of calling the handler. Undefined if the request passes. */
  readonly refusal: Refusal | undefined;
  /**
   * Settles the charge. Must be called when the response has been sent. Never rejects. Undefined if there is nothing to settle.
   */
  readonly settle: ((outcome: Outcome) => Promise<void>) | undefined;
}

/** Checks one request. Call it exactly once per request. */
export type Guard<Q> = (request: Q) => MaybePromise<Verdict>;

/** How a guard reads a framework's requests. */
export interface View<Q> extends Addressed<Q> {
  /** Returns an object that is the same for all guards that check this request. */
  identity(request: Q): object;
}

const PASS: Verdict = { decision: undefined, headers: [], refusal: undefined, settle: undefined };

/** Creates the function that every middleware is built on, which takes a request and returns a verdict. */
export function createGuard<Q>(given: GuardOptions<Q> | GuardLimiter, view: View<Q>): Guard<Q> {
  const options: GuardOptions<Q> = isLimiter(given) ? { limiter: given } : checked(given);
  const { skip, shadow = false, onDenied, onUnavailable, status = 429, body, headers } = options;
  const { trustProxy, ipv6Prefix } = options;
  const limits = limitsOf(options);
  const limiters = limits.map(({ limiter }) => limiter);
  const pairs = headers === false ? () => [] : headerWriter({ style: headers });
  const addressKey = addressKeyOf({ trustProxy, ipv6Prefix }, view);

  /** `ask` calls a function with the request. If several limits share the function, it is called only once. */
  function chargeOf(
    limit: Limit<Q>,
    request: Q,
    ask?: <T>(call: (request: Q) => T) => T,
  ): MaybePromise<Charge | undefined> {
    const { limiter, key, cost = 1, tier, class: name } = limit;
    const isFixed = typeof tier !== 'function' && typeof name !== 'function';
    if (key === undefined && typeof cost === 'number' && isFixed)
      return { limiter, key: addressKey(request), cost, tier, class: name };
    const called = <T>(call: (request: Q) => T): T => (ask === undefined ? call(request) : ask(call));
    return chain(key === undefined ? undefined : key(request), (subject) =>
      subject === false
        ? undefined
        : chain(typeof cost === 'function' ? called(cost) : cost, (price) =>
            chain(typeof tier === 'function' ? tier(request) : tier, (level) =>
              chain(typeof name === 'function' ? called(name) : name, (kind) => {
                // A client without a key of its own is limited by its address. Otherwise, all such clients would share one
                // limit.
                const own = subject ?? addressKey(request);
                const unit = costPart(limiters, { limiter, key: own, tier: level }, price);
                return { limiter, key: own, cost: unit, tier: level, class: kind };
              }),
            ),
          ),
    );
  }

  function check(request: Q): MaybePromise<Verdict> {
    return limits.length === 1
      ? chain(chargeOf(limits[0], request), (charge) => takeOne(request, charge))
      : chain(chargesOf(request), (charges) => takeAll(request, charges));
  }

  /**
   * Computes the charges of all limits. Turns a synchronous throw into a rejected promise, so that the promises of the other limits
   * are still awaited.
   */
  function chargesOf(request: Q): MaybePromise<(Charge | undefined)[]> {
    const ask = onceEach(request);
    return all(
      limits.map((limit) => {
        try {
          return chargeOf(limit, request, ask);
        } catch (error) {
          return Promise.reject(error);
        }
      }),
    );
  }

  function takeOne(request: Q, charge: Charge | undefined, index = 0): MaybePromise<Verdict> {
    if (charge === undefined) return PASS;
    const { limiter, key, cost, tier, class: name } = charge;
    // Most charges have no tier and no class. Limiters decide them faster if they get no options.
    const isPlain = typeof cost === 'number' && tier === undefined && name === undefined;
    const decision = limiter.take(key, isPlain ? cost : { cost, tier, class: name });
    return isPromise(decision)
      ? decision.then((later) => verdictOn(request, [{ charge, index, decision: later, open: true }]))
      : verdictOn(request, [{ charge, index, decision, open: true }]);
  }

  function takeAll(request: Q, charges: readonly (Charge | undefined)[]): MaybePromise<Verdict> {
    const due = charges.flatMap((charge, index) => (charge === undefined ? [] : [{ charge, index }]));
    const [first] = due;
    if (due.length < 2) return takeOne(request, first?.charge, first?.index);
    return chain(first.charge.limiter.takeMany(due.map(({ charge }) => charge)), ({ decisions }) =>
      verdictOn(
        request,
        due.map(({ charge, index }, i) => ({ charge, index, decision: decisions[i], open: true })),
      ),
    );
  }

  function verdictOn(request: Q, own: readonly Entry[]): MaybePromise<Verdict> {
    const identity: Marked = view.identity(request);
    const before = identity[PASSED];
    const told = before === undefined ? own : withEarlier(before, own);
    const decision =
      told.length === 1 ? told[0].decision : mergeDecisions(told.map((entry) => entry.decision));
    let isSettled = false;
    for (const entry of own) {
      if (!entry.decision.allowed) return deny(request, identity, decision, entry.charge.key);
      if (isOpenLater(entry)) isSettled = true;
    }
    if (isSettled) for (const entry of own) keepPlace(entry);
    identity[PASSED] = { told: shadow ? (before?.told ?? []) : told, own, before };
    const settle = isSettled ? settleAll(request, own) : undefined;
    return { decision, headers: shadow ? [] : pairs(decision), refusal: undefined, settle };
  }

  /** Denies the request. `key` is the key that was denied. */
  function deny(request: Q, identity: Marked, decision: Decision, key: string): MaybePromise<Verdict> {
    if (onDenied !== undefined) ignoreFailure(() => onDenied(request, decision));
    if (shadow) return { ...PASS, decision };
    refundAll(identity);
    const headers = pairs(decision, key);
    return chain(refusal(request, decision), (refusal) => ({ ...PASS, decision, headers, refusal }));
  }

  function isOpenLater({ index, decision }: Entry): boolean {
    return limits[index].settle !== undefined || decision.held === true;
  }

  function settleAll(request: Q, own: readonly Entry[]): (outcome: Outcome) => Promise<void> {
    return async (outcome) => {
      const now = own.filter((entry) => entry.open && isOpenLater(entry));
      for (const entry of now) entry.open = false;
      const ask = onceEach(request, outcome);
      // This is not an async function, so that a charge on a synchronous store is settled as early as possible.
      const finalCost = ({ charge, index }: Entry): MaybePromise<ByPolicy | undefined> => {
        const { settle } = limits[index];
        return settle && chain(ask(settle), (cost) => costPart(limiters, charge, cost));
      };
      await Promise.all(
        now.map((entry) => settleOne(entry, () => finalCost(entry)).catch((error) => tell(request, error))),
      );
    };
  }

  function refusal(request: Q, decision: Decision): MaybePromise<Refusal> {
    if (body === undefined)
      return { status, type: PROBLEM_TYPE, body: JSON.stringify(problem(decision, status)) };
    return chain(body(request, decision), (content) =>
      typeof content === 'string'
        ? { status, type: 'text/plain; charset=utf-8', body: content }
        : { status, type: 'application/json', body: JSON.stringify(content) ?? '' },
    );
  }

  function tell(request: Q, error: unknown): void {
    if (onUnavailable !== undefined) ignoreFailure(() => onUnavailable(request, error));
  }

  function failed(request: Q, error: unknown): Verdict {
    // A guard in shadow mode must not fail requests, even if its store is not set up correctly.
    const isOnTrial = shadow && isSetupError(error);
    if (!(error instanceof StoreUnavailable) && !isOnTrial) throw error;
    if (isOnTrial && onUnavailable === undefined)
      warnOnce('SLUICE_SHADOW_FAILED', `${SHADOW_FAILED}: ${error.message}`, options);
    tell(request, error);
    if (shadow) return PASS;
    refundAll(view.identity(request));
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
      // A key function may return any thenable, but middlewares test for instances of Promise, so other thenables are converted.
      return isPromise(verdict)
        ? Promise.resolve(verdict).catch((error: unknown) => failed(request, error))
        : verdict;
    } catch (error) {
      return failed(request, error);
    }
  };
}

const SHADOW_FAILED =
  'a rate limit in shadow mode cannot decide; without shadow mode, it would reject every request';

/** Whether the store cannot work until its setup is changed. */
function isSetupError(error: unknown): error is SluiceError {
  return error instanceof SluiceError && (error.code === 'ERR_PERMISSION' || error.code === 'ERR_TABLE');
}

/** If a charge holds a place, renews the place until it is released. */
function keepPlace(entry: Entry): void {
  const { limiter, key } = entry.charge;
  if (entry.decision.held === true) limiter.keep?.(key, givenBack(entry.charge, entry.decision));
}
