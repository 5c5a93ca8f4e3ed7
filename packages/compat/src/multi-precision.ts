/**
 * A drop-in for ratelimit.js, with Carlson's sliding windows. A rule is `[duration, limit, precision]`, in seconds. A call can
 * name several identifiers, and is counted for all of them or for none.
 *
 * Time is divided into blocks of `precision` seconds, counted from 1970. A rule covers `duration / precision` blocks, rounded up,
 * of which the current block is the last. Without a precision, there is one block, which is a fixed window.
 */
import { inMillis } from './shared/millis.ts';
import {
  type AnyLimiter,
  createLimiter,
  type Decision,
  fixedWindow,
  type Millis,
  type Policy,
  slidingLog,
  SluiceError,
} from 'sluice';
import { atLeastOne, checkOptionNames, positive } from './shared/options.ts';
import { answer, type Callback } from './shared/callback.ts';
import { storeOf, type StoreOptions } from './shared/store-of.ts';

export type { Callback } from './shared/callback.ts';
export type { StoreOptions } from './shared/store-of.ts';

/** A rule, as a tuple or as an object with named members, as in ratelimit.js. Durations are in seconds. */
export type Rule =
  | readonly [duration: number, limit: number, precision?: number | undefined]
  | { readonly interval: number; readonly limit: number; readonly precision?: number | undefined };

/** One or more identifiers. */
export type Ids = string | readonly string[];

/** Options besides the rules. */
export interface RateLimitOptions extends StoreOptions {
  /** Separates this application's keys from other keys in the store. Default 'ratelimit'. */
  readonly prefix?: string | undefined;
  /** Whether the client itself adds the prefix to keys. */
  readonly clientPrefix?: boolean | undefined;
}

/** Options of `createMultiPrecision`. */
export interface MultiPrecisionOptions extends RateLimitOptions {
  /** A client of ioredis, iovalkey, node-redis, valkey-glide or Bun. Default: the memory of this process. */
  readonly client?: object | undefined;
}

/** Creates a limiter with rules over several identifiers. Without a `client` it counts in memory. */
export function createMultiPrecision<R extends Rule>(
  rules: readonly R[],
  options: MultiPrecisionOptions = {},
): RateLimit<R> {
  const { client, ...rest } = options;
  return new RateLimit(client, rules, rest);
}

/**
 * A drop-in for the class of ratelimit.js. Every method returns a promise, or passes the result to its last argument if that is a
 * function.
 */
export class RateLimit<R extends Rule = Rule> {
  readonly #rules: readonly R[];
  readonly #limiter: AnyLimiter;

  constructor(client: object | undefined, rules: readonly R[], options: RateLimitOptions = {}) {
    checkOptionNames('options', options, ['store', 'clock', 'prefix', 'clientPrefix']);
    if (!Array.isArray(rules) || rules.length === 0)
      throw new SluiceError('ERR_OPTIONS', 'rules', rules, '', 'must be a list of at least one rule');
    const windows = rules.map((rule: R, index) => windowOf(rule, `rules.${index}`));
    const prefix = (options.clientPrefix === true ? undefined : options.prefix) ?? 'ratelimit';
    this.#rules = rules;
    this.#limiter = createLimiter(windows.map(policyOf), {
      store: storeOf(options, client),
      // The name contains the windows but not the limits, so that a new limit keeps the existing counts.
      name: [prefix, ...windows.map(({ blocks, block }) => `${blocks}x${block}`)].join(' '),
    });
  }

  /**
   * Adds `weight` to the count of every identifier, or of none if the call is limited. Resolves with true if the call is limited.
   * A weight below 1 is treated as 1.
   */
  incr(ids: Ids, weight?: number): Promise<boolean>;
  incr(ids: Ids, callback: Callback<boolean>): void;
  incr(ids: Ids, weight: number | undefined, callback: Callback<boolean>): void;
  incr(ids: Ids, ...rest: unknown[]): Promise<boolean> | void {
    const callback = typeof rest.at(-1) === 'function' ? (rest.pop() as Callback<boolean>) : undefined;
    const [weight = 1] = rest as number[];
    return answer(this.#incr(ids, Math.max(weight, 1)), callback);
  }

  /** Resolves with true if one more call would be limited for any of the identifiers. Counts nothing. */
  check(ids: Ids): Promise<boolean>;
  check(ids: Ids, callback: Callback<boolean>): void;
  check(ids: Ids, callback?: Callback<boolean>): Promise<boolean> | void {
    const limited = this.#peek(ids).then((decisions) => decisions.some(({ allowed }) => !allowed));
    return answer(limited, callback);
  }

  /** Resolves with the rules that would limit one more call for any of the identifiers. Counts nothing. */
  violatedRules(ids: Ids): Promise<R[]>;
  violatedRules(ids: Ids, callback: Callback<R[]>): void;
  violatedRules(ids: Ids, callback?: Callback<R[]>): Promise<R[]> | void {
    const violated = this.#peek(ids).then((decisions) =>
      this.#rules.filter((_, rule) => decisions.some(({ policies }) => policies[rule].retryAfter > 0)),
    );
    return answer(violated, callback);
  }

  async #incr(ids: Ids, cost: number): Promise<boolean> {
    const keys = listOf(ids);
    const decision = await (keys.length === 1
      ? this.#limiter.take(keys[0], cost)
      : this.#limiter.takeMany(keys.map((key) => ({ key, cost }))));
    return !decision.allowed;
  }

  async #peek(ids: Ids): Promise<Decision[]> {
    return Promise.all(listOf(ids).map(async (id) => this.#limiter.peek(id)));
  }
}

function listOf(ids: Ids): readonly string[] {
  const list = typeof ids === 'string' ? [ids] : ids;
  if (!Array.isArray(list) || list.length === 0)
    throw new SluiceError(
      'ERR_OPTIONS',
      'ids',
      ids,
      '',
      'must be an identifier or a non-empty list of identifiers',
    );
  return list as readonly string[];
}

interface Window {
  readonly limit: number;
  readonly block: Millis;
  /** The number of blocks that make up the duration. */
  readonly blocks: number;
}

function windowOf(rule: Rule, what: string): Window {
  const named = isTriple(rule) ? { interval: rule[0], limit: rule[1], precision: rule[2] } : rule;
  checkOptionNames(what, named, ['interval', 'limit', 'precision']);
  const { interval, limit, precision = interval } = named;
  positive(`${what}.interval`, interval);
  atLeastOne(`${what}.limit`, limit);
  positive(`${what}.precision`, precision);
  const block = Math.min(precision, interval);
  // The quotient of two floats, such as 2.1 / 0.7, may be slightly too large.
  return { limit, block: block * 1000, blocks: Math.ceil(interval / block - 1e-9) };
}

function isTriple(rule: Rule): rule is Extract<Rule, readonly unknown[]> {
  return Array.isArray(rule);
}

/**
 * Converts a rule to a policy. A sliding log with sub-windows keeps an entry for a duration of `per` after the end of its
 * sub-window, so `per` is one block shorter than the duration of the rule.
 */
function policyOf({ limit, block, blocks }: Window): Policy {
  if (blocks === 1) return fixedWindow({ limit, per: inMillis(block) });
  return slidingLog({ limit, per: inMillis((blocks - 1) * block), resolution: blocks - 1 });
}
