/**
 * Turns a request into a verdict. This is the only place that handles both synchronous and asynchronous limiters. Middlewares
 * only apply the verdict.
 */
import type { Decision, MaybePromise } from '../engine/contract.ts';
import { SluiceError, StoreUnavailable } from '../internal/errors.ts';
import { warnOnce } from '../internal/warn.ts';
import { all, chain, isPromise, ignoreFailure } from '../internal/maybe-promise.ts';
import { cost as checkCost } from '../internal/options.ts';
import { type Addressed, addressKeyOf } from './address-key.ts';
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

interface Charge {
  readonly limiter: GuardLimiter;
  readonly cost: number;
  readonly tier: string | undefined;
  readonly key: string;
}

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

/**
 * Property that holds what earlier guards have charged this request. A later denial refunds it, and headers report all of it.
 * Stored on the request itself, because a WeakMap costs the garbage collector more than the whole check.
 */
const PASSED: unique symbol = Symbol('sluice');

interface Marked {
  [PASSED]?: Passed | undefined;
}

interface Passed {
  /** The entries that headers report. In shadow mode, these are only the entries of earlier guards. */
  readonly told: readonly Entry[];
  readonly own: readonly Entry[];
  readonly before: Passed | undefined;
}

interface Entry extends Charge {
  readonly decision: Decision;
  /** The index of the limit within the guard's `limits`. */
  readonly index: number;
  /** Whether the charge has been neither settled nor refunded yet. */
  open: boolean;
}

/** Creates the function that every middleware is built on, which takes a request and returns a verdict. */
export function createGuard<Q>(given: GuardOptions<Q> | GuardLimiter, view: View<Q>): Guard<Q> {
  const options: GuardOptions<Q> = isLimiter(given) ? { limiter: given } : checked(given);
  const { skip, shadow = false, onDenied, onUnavailable, status = 429, body, headers } = options;
  const { trustProxy, ipv6Prefix } = options;
  const limits = limitsOf(options);
  const pairs = headers === false ? () => [] : headerWriter({ style: headers });
  const addressKey = addressKeyOf({ trustProxy, ipv6Prefix }, view);

  function chargeOf(
    { limiter, key = addressKey, cost = 1, tier }: Limit<Q>,
    request: Q,
  ): MaybePromise<Charge | undefined> {
    if (key === addressKey && typeof cost === 'number' && typeof tier !== 'function')
      return { limiter, key: addressKey(request), cost, tier };
    return chain(key(request), (subject) =>
      subject === false
        ? undefined
        : chain(typeof cost === 'function' ? cost(request) : cost, (price) =>
            chain(typeof tier === 'function' ? tier(request) : tier, (level) => ({
              limiter,
              // A client without a key of its own is limited by its address, not together with all such clients.
              key: subject ?? addressKey(request),
              cost: price,
              tier: level,
            })),
          ),
    );
  }

  function check(request: Q): MaybePromise<Verdict> {
    return limits.length === 1
      ? chain(chargeOf(limits[0], request), (charge) => takeOne(request, charge))
      : chain(chargesOf(request), (charges) => takeAll(request, charges));
  }

  /** Turns a synchronous throw into a rejected promise, so that the promises of the other limits are still awaited. */
  function chargesOf(request: Q): MaybePromise<(Charge | undefined)[]> {
    return all(
      limits.map((limit) => {
        try {
          return chargeOf(limit, request);
        } catch (error) {
          return Promise.reject(error);
        }
      }),
    );
  }

  function takeOne(request: Q, charge: Charge | undefined, index = 0): MaybePromise<Verdict> {
    if (charge === undefined) return PASS;
    return chain(charge.limiter.take(charge.key, { cost: charge.cost, tier: charge.tier }), (decision) =>
      verdictOn(request, [entryOf(charge, index, decision)]),
    );
  }

  function takeAll(request: Q, charges: readonly (Charge | undefined)[]): MaybePromise<Verdict> {
    const due = charges.flatMap((charge, index) => (charge === undefined ? [] : [{ charge, index }]));
    const [first] = due;
    if (due.length < 2) return takeOne(request, first?.charge, first?.index);
    return chain(first.charge.limiter.takeMany(due.map(({ charge }) => charge)), ({ decisions }) =>
      verdictOn(
        request,
        due.map(({ charge, index }, i) => entryOf(charge, index, decisions[i])),
      ),
    );
  }

  function verdictOn(request: Q, own: readonly Entry[]): MaybePromise<Verdict> {
    const identity: Marked = view.identity(request);
    const before = identity[PASSED];
    const told = before === undefined ? own : [...before.told.filter((old) => isCurrent(old, own)), ...own];
    const decision =
      told.length === 1 ? told[0].decision : mergeDecisions(told.map((entry) => entry.decision));
    if (!own.every(isAllowed)) {
      if (onDenied !== undefined) ignoreFailure(() => onDenied(request, decision));
      if (shadow) return { ...PASS, decision };
      giveBack(identity);
      const headers = pairs(decision, own.find((entry) => !isAllowed(entry))?.key);
      return chain(refusal(request, decision), (refusal) => ({ ...PASS, decision, headers, refusal }));
    }
    for (const { limiter, key, cost, tier, decision: of } of own)
      if (of.at !== undefined) limiter.keep?.(key, { cost, tier, of });
    identity[PASSED] = { told: shadow ? (before?.told ?? []) : told, own, before };
    const settle = own.some(isOpenLater) ? settleAll(request, own) : undefined;
    return { decision, headers: shadow ? [] : pairs(decision), refusal: undefined, settle };
  }

  function isOpenLater({ index, decision }: Entry): boolean {
    return limits[index].settle !== undefined || decision.at !== undefined;
  }

  function settleAll(request: Q, own: readonly Entry[]): (outcome: Outcome) => Promise<void> {
    return async (outcome) => {
      const now = own.filter((entry) => entry.open && isOpenLater(entry));
      for (const entry of now) entry.open = false;
      await Promise.all(
        now.map((entry) =>
          settleOne(request, entry, limits[entry.index], outcome).catch((error) => tell(request, error)),
        ),
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
    // A guard on trial must not fail requests, even if its store is not set up correctly.
    const isOnTrial = shadow && isSetupError(error);
    if (!(error instanceof StoreUnavailable) && !isOnTrial) throw error;
    if (isOnTrial && onUnavailable === undefined)
      warnOnce('SLUICE_SHADOW_FAILED', `${SHADOW_FAILED}: ${error.message}`, options);
    tell(request, error);
    if (shadow) return PASS;
    giveBack(view.identity(request));
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
      // A key function may return any thenable, but middlewares test for Promise.
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

function entryOf({ limiter, key, cost, tier }: Charge, index: number, decision: Decision): Entry {
  return { limiter, key, cost, tier, index, decision, open: true };
}

function isAllowed({ decision }: Entry): boolean {
  return decision.allowed;
}

/** False if a later guard has charged the same limiter for the same key, so that the later decision is the current one. */
function isCurrent(old: Entry, own: readonly Entry[]): boolean {
  return !own.some(
    ({ limiter, key, tier }) => old.limiter === limiter && old.key === key && old.tier === tier,
  );
}

/** Refunds everything that earlier guards have charged this request, once. */
function giveBack(identity: Marked): void {
  for (let passed = identity[PASSED]; passed !== undefined; passed = passed.before) {
    for (const entry of passed.own) {
      if (entry.open) refund(entry);
      entry.open = false;
    }
  }
  identity[PASSED] = undefined;
}

function refund({ limiter, key, cost, tier, decision }: Entry): void {
  if (cost > 0) ignoreFailure(() => limiter.refund(key, { cost, tier, of: decision }));
}

async function settleOne<Q>(
  request: Q,
  { limiter, key, cost, tier, decision }: Entry,
  limit: Limit<Q>,
  outcome: Outcome,
): Promise<void> {
  const release = async (held: number, of: Decision): Promise<void> => {
    if (held > 0 && of.at !== undefined) await limiter.release(key, { cost: held, tier, of });
  };
  let held = cost;
  let extra: Decision | undefined;
  try {
    const final = checkCost((await limit.settle?.(request, outcome)) ?? cost, 'settle');
    if (final > cost)
      extra = await limiter.take(key, { cost: final - cost, tier, mode: 'always', maxDelay: Infinity });
    if (final < cost) {
      // A refund also releases what it gives back. Even a failed refund may have done so, so nothing is released twice.
      held = final;
      await limiter.refund(key, { cost: cost - final, tier, of: decision });
    }
  } finally {
    // Release each part where it was charged, because the store may have failed or recovered in between.
    const released = [release(held, decision)];
    if (extra !== undefined) released.push(release(extra.taken, extra));
    await Promise.all(released);
  }
}
