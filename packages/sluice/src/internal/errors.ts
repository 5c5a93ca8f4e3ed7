/**
 * All errors, in one table. Each code has a page: docs/errors/<code>.md.
 * A denial is never an error; only `run` and `limitedFetch` throw on a denial, because they have no decision to return.
 */
import type { Decision } from '../engine/contract.ts';
import { MISTAKES, show, SluiceError } from './mistakes.ts';

export { show, SluiceError };

const MORE = {
  ERR_POLICY_TEXT:
    "must read like '100/min', '10/s burst 20', '5000/day fixed-window' or several joined by '&'",
  ERR_TIME_ZONE: 'must be an IANA time zone such as Europe/Berlin',
  ERR_ADDRESS: 'has no address of its client: say which proxy is trusted (trustProxy), or give a key',
  ERR_TRUST_PROXY:
    "must be false, a number of proxies, CIDRs, 'loopback', 'private', 'cloudflare', 'fly', 'vercel', 'nginx' or { header }",
  ERR_NAME: 'is the name of an open limiter on this store that has other kinds of policies',
  ERR_CLOSED: 'was closed while a caller waited',
  ERR_DENIED: 'was denied',
  ERR_TABLE: 'is not a table of this database',
  ERR_PERMISSION: 'has no permission to do this on the server',
  ERR_STORE: 'could not decide',
  ERR_STORE_UNAVAILABLE: 'is not available',
} as const satisfies Partial<Record<ErrorCode, string>>;

/** The message of each code. */
// Marked as pure, so that a bundler may leave out what an application does not throw.
export const ERRORS: Readonly<Record<ErrorCode, string>> = /* @__PURE__ */ Object.assign({}, MISTAKES, MORE);

/** Each code has a page that explains the error and what to do. */
export type ErrorCode =
  | 'ERR_COST'
  | 'ERR_DURATION'
  | 'ERR_NUMBER'
  | 'ERR_INTEGER'
  | 'ERR_CHOICE'
  | 'ERR_UNKNOWN_OPTION'
  | 'ERR_MISSING_OPTION'
  | 'ERR_OPTIONS'
  | 'ERR_POLICY'
  | 'ERR_TIER'
  | 'ERR_KEY'
  | 'ERR_CLOCK'
  | 'ERR_POLICY_TEXT'
  | 'ERR_TIME_ZONE'
  | 'ERR_ADDRESS'
  | 'ERR_TRUST_PROXY'
  | 'ERR_NAME'
  | 'ERR_CLOSED'
  | 'ERR_DENIED'
  | 'ERR_TABLE'
  | 'ERR_PERMISSION'
  | 'ERR_STORE'
  | 'ERR_STORE_UNAVAILABLE';

/** Creates an error whose code only some parts of Sluice use. */
export function mistake(code: ErrorCode, option: string, value: unknown, hint = ''): SluiceError {
  return new SluiceError(code, option, value, hint, ERRORS[code]);
}

/** `acquire` rejects with this error if the limiter is closed before the caller's turn. */
export class ClosedError extends Error {
  /** The code of this error. */
  readonly code: ErrorCode = 'ERR_CLOSED';

  constructor() {
    super(`the limiter ${ERRORS.ERR_CLOSED} [ERR_CLOSED]`);
    this.name = 'ClosedError';
  }
}

/** Thrown only by `run` and `limitedFetch`, if the turn did not come in time. */
export class DeniedError extends Error {
  /** The code of this error. */
  readonly code: ErrorCode = 'ERR_DENIED';
  /** The limiter's last decision. */
  readonly decision: Decision;

  constructor(key: string, decision: Decision) {
    const { policy, retryAfter } = decision;
    const when = retryAfter === Infinity ? 'can never pass' : `may pass in ${retryAfter} ms`;
    super(`${show(key)} ${ERRORS.ERR_DENIED} by policy ${show(policy)}; it ${when} [ERR_DENIED]`);
    this.name = 'DeniedError';
    this.decision = decision;
  }
}

/** Why a store could not decide. */
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

/** Kinds of refusals, by the words with which a server's error begins. */
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

/** A failure that the store reported. */
export class StoreError extends Error {
  /** The code of this error. */
  readonly code: ErrorCode = 'ERR_STORE';
  /** The kind of failure, recognized by the message. */
  readonly fault: StoreFault;

  constructor(message: string) {
    super(`the store ${ERRORS.ERR_STORE}: ${message} [ERR_STORE]`);
    this.name = 'StoreError';
    this.fault = faultOf(message);
  }
}

/** A check rejects with this error if its store cannot be reached and `onFailure` is 'throw'. */
export class StoreUnavailable extends Error {
  /** The code of this error. */
  readonly code: ErrorCode = 'ERR_STORE_UNAVAILABLE';
  /** Why the store could not decide. */
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
