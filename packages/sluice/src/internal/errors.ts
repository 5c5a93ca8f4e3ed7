/**
 * Every error that Sluice can throw, in one table. The page docs/errors/<code>.md describes each code. A denial is a value, not an
 * error. Only `run` and `limitedFetch` throw when they are denied, because they have no other way to report a denial.
 */
// biome-ignore-all lint/complexity/noThisInStatic: subclasses inherit the static method, so `this` is the class that was tested.
import type { Decision } from '../engine/contract.ts';

/**
 * The message of each error code. In the full message, the name of the option or another subject, such as "the limiter", precedes
 * this text.
 */
export const ERRORS = {
  ERR_COST: 'must be a finite number, 0 or more',
  ERR_INSTANT:
    'must be the time of an earlier charge; pass the field `at` of the decision that made the charge',
  ERR_DURATION: "must be a positive duration, in milliseconds or as text such as '1h30m'",
  ERR_NUMBER: 'must be a finite number above 0',
  ERR_INTEGER: 'must be a whole number, 1 or more',
  ERR_CHOICE: 'must be one of these',
  ERR_UNKNOWN_OPTION: 'is not an option here',
  ERR_MISSING_OPTION: 'is required',
  ERR_OPTIONS: 'must be an object with options',
  ERR_POLICY: "must be a policy, such as '100/min' or gcra({ limit: 100, per: '1m' })",
  ERR_TIER: 'is not a tier of this limiter',
  ERR_KEY: 'must be a string',
  ERR_CLOCK: 'must return a finite number of milliseconds, 0 or more',
  ERR_POLICY_TEXT:
    "must read like '100/min', '10/s burst 20', '5000/day fixed-window' or several joined by '&'",
  ERR_TIME_ZONE: 'must be an IANA time zone such as Europe/Berlin',
  ERR_ADDRESS: 'has no client address (set trustProxy to say which proxy is trusted, or pass a key)',
  ERR_TRUST_PROXY:
    "must be false, a number of proxies, CIDRs, 'loopback', 'private', 'cloudflare', 'fly', 'vercel', 'nginx' or { header }",
  ERR_NAME: 'is already used on this store by an open limiter with different kinds of policies',
  ERR_CLOSED: 'was closed while a caller waited',
  ERR_DENIED: 'was denied',
  ERR_TABLE: 'is not a table of this database',
  ERR_PERMISSION: 'has no permission to do this on the server',
  ERR_STORE: 'could not decide',
  ERR_STORE_UNAVAILABLE: 'is not available',
} as const;

/** The code of an error. Each code has a page under docs/errors that says what it means and what to do. */
export type ErrorCode = keyof typeof ERRORS;

/**
 * Implements `instanceof` so that it recognizes errors of other copies of this package by their name. A process has several copies
 * if it loads the package as ES modules and as CommonJS, or in several versions. For subclasses, which inherit this implementation,
 * only prototypes are compared, as usual.
 */
function isInstance(type: object, name: string, error: unknown): boolean {
  if (Function.prototype[Symbol.hasInstance].call(type, error)) return true;
  const isSubclass = !Object.hasOwn(type, Symbol.hasInstance);
  return !isSubclass && error instanceof Error && error.name === name && 'code' in error;
}

/** Thrown if an option or an argument is invalid. Names the option or argument and the value that was received. */
export class SluiceError extends RangeError {
  /** @internal */
  static override [Symbol.hasInstance](error: unknown): boolean {
    return isInstance(this, 'SluiceError', error);
  }

  /** The code of the error. docs/errors has a page about each code. */
  readonly code: ErrorCode;
  /** The name of the invalid option or argument, such as 'gcra.limit'. */
  readonly option: string;
  /** The value that was received. */
  readonly value: unknown;

  /** Creates an error. `words` replaces the message of the code, and `hint` is added after the message in parentheses. */
  constructor(
    code: ErrorCode,
    option: string,
    value: unknown,
    hint: string = '',
    words: string = ERRORS[code],
  ) {
    super(`${option} ${words}${hint && ` (${hint})`}; got ${show(value)} [${code}]`);
    this.name = 'SluiceError';
    this.code = code;
    this.option = option;
    this.value = value;
  }
}

export function show(value: unknown): string {
  if (typeof value === 'string')
    return JSON.stringify(value.length > 100 ? `${value.slice(0, 100)}…` : value);
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'function') return 'a function';
  if (typeof value !== 'object' || value === null) return String(value);
  return typeof (value as { then?: unknown }).then === 'function' ? 'a promise' : 'an object';
}

/** `acquire` and `run` reject with this error if the limiter is closed while they wait. */
export class ClosedError extends Error {
  /** @internal */
  static override [Symbol.hasInstance](error: unknown): boolean {
    return isInstance(this, 'ClosedError', error);
  }

  /** The code of this error, which is the same for all instances. */
  readonly code: ErrorCode = 'ERR_CLOSED';

  constructor() {
    super(`the limiter ${ERRORS.ERR_CLOSED} [ERR_CLOSED]`);
    this.name = 'ClosedError';
  }
}

/** `run` and `limitedFetch` reject with this error if the call is denied, or if its turn does not come in time. */
export class DeniedError extends Error {
  /** @internal */
  static override [Symbol.hasInstance](error: unknown): boolean {
    return isInstance(this, 'DeniedError', error);
  }

  /** The code of this error, which is the same for all instances. */
  readonly code: ErrorCode = 'ERR_DENIED';
  /** The decision that denied the call. */
  readonly decision: Decision;

  constructor(key: string, decision: Decision) {
    const { policy, retryAfter } = decision;
    const when = retryAfter === Infinity ? 'can never pass' : `may pass in ${retryAfter} ms`;
    super(`${show(key)} ${ERRORS.ERR_DENIED} by policy ${show(policy)}; it ${when} [ERR_DENIED]`);
    this.name = 'DeniedError';
    this.decision = decision;
  }
}

/** The reason why a store could not decide. */
export type StoreFault =
  | 'deadline'
  | 'circuit-open'
  | 'overloaded'
  | 'connection'
  | 'wrong-type'
  | 'read-only'
  | 'loading'
  | 'busy'
  | 'out-of-memory'
  | 'cluster-down'
  | 'no-permission'
  | 'script'
  | 'unknown';

/** Patterns by which a fault is recognized in the error message of a server or client. */
const FAULTS: readonly (readonly [RegExp, StoreFault])[] = [
  [/WRONGTYPE/, 'wrong-type'],
  [/READONLY/, 'read-only'],
  [/LOADING|BusyLoading/, 'loading'],
  [/BUSY/, 'busy'],
  [/\bOOM\b/, 'out-of-memory'],
  [/CLUSTERDOWN|TRYAGAIN|MOVED|\bASK\b|CROSSSLOT|MASTERDOWN/i, 'cluster-down'],
  [/NOPERM|NOAUTH|WRONGPASS|PermissionDenied/i, 'no-permission'],
  [/ERR .*script|Error running script/i, 'script'],
  [/connect|closed|ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|socket|disconnect|offline|retries/i, 'connection'],
];

/** A failure of a store, with the message that the store reported. */
export class StoreError extends Error {
  /** @internal */
  static override [Symbol.hasInstance](error: unknown): boolean {
    return isInstance(this, 'StoreError', error);
  }

  /** The code of this error, which is the same for all instances. */
  readonly code: ErrorCode = 'ERR_STORE';
  /** The kind of failure, which is recognized by words in the store's message. */
  readonly fault: StoreFault;

  constructor(message: string) {
    super(`the store ${ERRORS.ERR_STORE}: ${message} [ERR_STORE]`);
    this.name = 'StoreError';
    this.fault = faultOf(message);
  }
}

/** Checks reject with this error while the store is unavailable and `onFailure` is 'throw'. */
export class StoreUnavailable extends Error {
  /** @internal */
  static override [Symbol.hasInstance](error: unknown): boolean {
    return isInstance(this, 'StoreUnavailable', error);
  }

  /** The code of this error, which is the same for all instances. */
  readonly code: ErrorCode = 'ERR_STORE_UNAVAILABLE';
  /** The reason why the store is unavailable. */
  readonly fault: StoreFault;

  constructor(fault: StoreFault, cause?: unknown) {
    const why = cause instanceof Error ? `: ${cause.message}` : '';
    super(`the store ${ERRORS.ERR_STORE_UNAVAILABLE} (${fault})${why} [ERR_STORE_UNAVAILABLE]`, { cause });
    this.name = 'StoreUnavailable';
    this.fault = fault;
  }
}

function faultOf(message: string): StoreFault {
  return FAULTS.find(([words]) => words.test(message))?.[1] ?? 'unknown';
}

export function faultIn(error: unknown): StoreFault {
  if (error instanceof StoreUnavailable || error instanceof StoreError) return error.fault;
  return faultOf(String((error as Error | undefined)?.message ?? error));
}
