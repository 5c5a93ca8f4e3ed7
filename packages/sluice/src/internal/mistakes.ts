/** What any limiter may have to point out. errors.ts has the whole table; this part is small, for who counts bytes. */
import type { ErrorCode } from './errors.ts';

export const MISTAKES = {
  ERR_COST: 'must be a finite number, 0 or more',
  ERR_DURATION: "must be a positive span: milliseconds, or text such as '1h30m'",
  ERR_NUMBER: 'must be a finite number above 0',
  ERR_INTEGER: 'must be a whole number, 1 or more',
  ERR_CHOICE: 'must be one of these',
  ERR_UNKNOWN_OPTION: 'is not an option here',
  ERR_MISSING_OPTION: 'is required',
  ERR_OPTIONS: 'must be an object with options',
  ERR_POLICY: "must be a policy, such as gcra({ limit: 100, per: '1m' }) or, in 'sluice', '100/min'",
  ERR_TIER: 'is not a tier of this limiter',
  ERR_KEY: 'must be a string',
  ERR_CLOCK: 'must tell a finite number of milliseconds, 0 or more',
} as const;

/** A mistake in what the caller passed: which option, and the value it got. */
export class SluiceError extends RangeError {
  /** Which mistake. */
  readonly code: ErrorCode;
  /** Where: 'gcra.limit'. */
  readonly option: string;
  /** What was there. */
  readonly value: unknown;

  constructor(code: keyof typeof MISTAKES, option: string, value: unknown, hint?: string);
  /** `words`: what is wrong. */
  constructor(code: ErrorCode, option: string, value: unknown, hint: string, words: string);
  constructor(code: ErrorCode, option: string, value: unknown, hint = '', words?: string) {
    words ??= MISTAKES[code as keyof typeof MISTAKES];
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
