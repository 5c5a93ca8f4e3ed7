/**
 * redis-cell's CL.THROTTLE without its module: the same arguments and the same five integers; in memory or on any
 * store.
 */
import { type Decision, type ErrorCode, type MaybePromise, memory, type Millis, type Store } from 'sluice';
import { type Answer, type Clock, isPromise, type WithStore } from 'sluice/store';
import { checkOptionNames } from './shared/options.ts';
import { cellCounter, nanos } from './shared/cells.ts';

/** Whole numbers, or their digits, as the command has them. The limit is `maxBurst` + 1; `quantity` is 1 unless given. */
export type ClThrottleArgs = [
  key: string,
  maxBurst: number | string,
  count: number | string,
  periodSeconds: number | string,
  quantity?: number | string,
];

/** `retryAfter` and `resetAfter` are seconds; `retryAfter` is −1 when not limited, or when the quantity never passes. */
export type ClThrottleReply = [
  limited: 0 | 1,
  limit: number,
  remaining: number,
  retryAfter: number,
  resetAfter: number,
];

/** The command as a function. */
export type ClThrottle<R extends MaybePromise<Decision> = Decision> = (
  ...args: ClThrottleArgs
) => Answer<R, ClThrottleReply>;

export interface ClThrottleOptions {
  /** Of the store in memory; a store that is given has its own. */
  readonly clock?: Pick<Clock, 'now'> | undefined;
}

/** Arguments that the command would refuse. */
export class CellError extends RangeError {
  /** As in Sluice's own errors. */
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string) {
    super(`CL.THROTTLE: ${message}`);
    this.name = 'CellError';
    this.code = code;
  }
}

/** In memory, replies come at once; with another store, as that store answers. */
export function createClThrottle(options?: ClThrottleOptions & { readonly store?: undefined }): ClThrottle;
export function createClThrottle<R extends MaybePromise<Decision>>(
  options: ClThrottleOptions & WithStore<R>,
): ClThrottle<R>;
export function createClThrottle(
  options: ClThrottleOptions & { readonly store?: Store | undefined } = {},
): ClThrottle<MaybePromise<Decision>> {
  checkOptionNames('createClThrottle', options, ['store', 'clock']);
  const count = cellCounter<MaybePromise<Decision>>(
    options.store ?? memory({ clock: options.clock }),
    'cl.throttle',
  );

  return (key, maxBurst, perPeriod, period, howMany = 1, ...more) => {
    if (period === undefined || more.length > 0)
      throw new CellError('ERR_OPTIONS', 'takes key, max_burst, count, period and perhaps quantity');
    const limit = integer(maxBurst) + 1;
    const interval = intervalOf(integer(perPeriod), integer(period));
    const quantity = integer(howMany);
    if (interval === 0) throw new CellError('ERR_NUMBER', 'a rate of zero lets nothing pass');
    // With a negative rate nothing passes, not even a quantity of 0.
    const decision = count(key, Math.abs(interval) / 1e6, interval > 0 ? limit : -1, quantity);
    return isPromise(decision)
      ? decision.then((later) => replyOf(later, limit, quantity))
      : replyOf(decision, limit, quantity);
  };
}

function replyOf(decision: Decision, limit: number, quantity: number): ClThrottleReply {
  const { allowed, remaining, retryAfter, resetAfter } = decision;
  const reset = seconds(resetAfter);
  if (allowed || quantity < 0) return [0, limit, remaining, -1, reset];
  if (retryAfter === Infinity) return [1, limit, remaining, -1, reset];
  return [1, limit, remaining, Math.max(1, seconds(retryAfter)), Math.max(1, reset)];
}

/** In whole nanoseconds. */
function intervalOf(count: number, periodSeconds: number): number {
  return count === 0 ? 0 : Math.trunc((periodSeconds * 1e9) / count);
}

function integer(word: unknown): number {
  const value = typeof word === 'string' && /^[+-]?\d+$/.test(word) ? Number(word) : word;
  if (!Number.isSafeInteger(value)) throw new CellError('ERR_INTEGER', `not a whole number: ${String(word)}`);
  return value as number;
}

/** Rounded up, as there, but for what is left below a whole millisecond. */
function seconds(span: Millis): number {
  return Math.ceil(Math.floor(nanos(span) / 1e6) / 1000);
}
