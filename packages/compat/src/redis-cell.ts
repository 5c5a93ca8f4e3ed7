/**
 * redis-cell's CL.THROTTLE without the Redis module. Takes the same arguments and returns the same five integers, in memory or on
 * any store.
 */
import { type Decision, type ErrorCode, type MaybePromise, memory, type Millis, type Store } from 'sluice';
import { type Answer, type Clock, isPromise, type WithStore } from 'sluice/store';
import { checkOptionNames } from './shared/options.ts';
import { cellCounter, nanos } from './shared/cells.ts';

/**
 * The arguments of the command, as integers or strings of digits. The limit is `maxBurst` + 1, and the default `quantity` is 1.
 */
export type ClThrottleArgs = [
  key: string,
  maxBurst: number | string,
  count: number | string,
  periodSeconds: number | string,
  quantity?: number | string,
];

/**
 * The reply of the command. `retryAfter` and `resetAfter` are in seconds; `retryAfter` is −1 if the call was not limited, or
 * if the quantity can never pass.
 */
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

/** Options of `createClThrottle`. */
export interface ClThrottleOptions {
  /** The clock of the default store. A store that you pass uses its own clock. */
  readonly clock?: Pick<Clock, 'now'> | undefined;
}

/** Thrown for arguments that the command would reject. */
export class CellError extends RangeError {
  /** The code of the error, as in a `SluiceError`. */
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string) {
    super(`CL.THROTTLE: ${message}`);
    this.name = 'CellError';
    this.code = code;
  }
}

/** Creates the command. In memory it returns replies synchronously; on a store it returns promises if the store does. */
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
      throw new CellError('ERR_OPTIONS', 'expected key, max_burst, count, period and optionally quantity');
    const limit = integer(maxBurst) + 1;
    const interval = intervalOf(integer(perPeriod), integer(period));
    const quantity = integer(howMany);
    if (interval === 0)
      throw new CellError(
        'ERR_NUMBER',
        'count and period must not be 0, and the rate must be at most 1e9 per second',
      );
    // At a negative rate, nothing passes, not even a quantity of 0.
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

/** The time in which one unit is replenished, in whole nanoseconds. */
function intervalOf(count: number, periodSeconds: number): number {
  return count === 0 ? 0 : Math.trunc((periodSeconds * 1e9) / count);
}

function integer(word: unknown): number {
  const value = typeof word === 'string' && /^[+-]?\d+$/.test(word) ? Number(word) : word;
  if (!Number.isSafeInteger(value)) throw new CellError('ERR_INTEGER', `not a whole number: ${String(word)}`);
  return value as number;
}

/** Rounds up to seconds after dropping fractions of a millisecond, as the original does. */
function seconds(span: Millis): number {
  return Math.ceil(Math.floor(nanos(span) / 1e6) / 1000);
}
