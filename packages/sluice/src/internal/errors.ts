/**
 * Every mistake that Sluice can point out, in one table. Each code has a page: docs/errors/<code>.md.
 * A denial is never an error; only `run` and `limitedFetch` turn one into an exception: they have no other way to say it.
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

/** What each code says. */
// Marked as pure, so that a bundler may leave out what an application does not throw.
export const ERRORS: Readonly<Record<ErrorCode, string>> = /* @__PURE__ */ Object.assign({}, MISTAKES, MORE);

/** Each has a page that says what it means and what to do. */
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

/** A mistake that only some parts of Sluice can point out. */
export function mistake(code: ErrorCode, option: string, value: unknown, hint = ''): SluiceError {
  return new SluiceError(code, option, value, hint, ERRORS[code]);
}

/** What a caller of `acquire` gets when the limiter is closed before its turn. */
export class ClosedError extends Error {
  /** Always this one. */
  readonly code: ErrorCode = 'ERR_CLOSED';

  constructor() {
    super(`the limiter ${ERRORS.ERR_CLOSED} [ERR_CLOSED]`);
    this.name = 'ClosedError';
  }
}

/** Thrown by `run` and `limitedFetch` alone, when the turn did not come in time. */
export class DeniedError extends Error {
  /** Always this one. */
  readonly code: ErrorCode = 'ERR_DENIED';
  /** What the limiter said in the end. */
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

/** What servers answer when they will not, by the words their answers begin with. */
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

/** A store's failure, in its own words. */
export class StoreError extends Error {
  /** Always this one. */
  readonly code: ErrorCode = 'ERR_STORE';
  /** What kind of failure it was, by its words. */
  readonly fault: StoreFault;

  constructor(message: string) {
    super(`the store ${ERRORS.ERR_STORE}: ${message} [ERR_STORE]`);
    this.name = 'StoreError';
    this.fault = faultOf(message);
  }
}

/** What a check rejects with when its store cannot be asked, and the declared answer to that is 'throw'. */
export class StoreUnavailable extends Error {
  /** Always this one. */
  readonly code: ErrorCode = 'ERR_STORE_UNAVAILABLE';
  /** Why. */
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
