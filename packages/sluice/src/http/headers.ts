/** Turns a decision into response headers, as name and value pairs. The caller sets the headers. */
import {
  type Decision,
  TIME_EPSILON,
  MANUAL_BLOCK,
  type Millis,
  type PolicyState,
} from '../engine/contract.ts';
import { moreAfter } from '../engine/decision.ts';
import { digest } from '../internal/hash.ts';
import { checkOptionNames, listOf, oneOf } from '../internal/options.ts';

/**
 * Which rate limit headers are set:
 * - 'draft-11': the IETF's RateLimit-Policy and RateLimit headers, with all policies.
 * - 'legacy': X-RateLimit-Limit and -Remaining, and -Reset in seconds from now.
 * - 'github': like 'legacy', but with -Reset in seconds since 1970.
 * - 'sharkey': X-RateLimit-Clear and -Remaining, and -Reset if denied, in seconds with three decimals.
 */
export type HeaderStyle = 'draft-11' | 'legacy' | 'github' | 'sharkey';

/** The options of `rateLimitHeaders`. */
export interface HeaderOptions {
  /** One or several styles. If two styles set the same header, the first one wins. Default 'draft-11'. */
  readonly style?: HeaderStyle | readonly HeaderStyle[] | undefined;
  /**
   * The `pk` parameter of draft-11, which tells the client the key it is limited by. Anyone who sees the response can read the key.
   */
  readonly partitionKey?: string | undefined;
  /** The current time in milliseconds since 1970, for 'github'. Default: `Date.now()`. */
  readonly now?: Millis | undefined;
}

/** The name and the value of a header. */
export type HeaderPair = readonly [name: string, value: string];

type Write = (decision: Decision, key?: string) => HeaderPair[];

/** The header writers by style. A later draft that renames its parameters needs only one more entry. */
const STYLES: Readonly<Record<HeaderStyle, (options: HeaderOptions) => Write>> = {
  'draft-11': draft11,
  legacy: () => (decision) => classic(decision, 0),
  github:
    ({ now }) =>
    (decision) =>
      classic(decision, now ?? Date.now()),
  sharkey: () => sharkey,
};

export const HEADER_STYLES = Object.keys(STYLES) as readonly HeaderStyle[];

const OPTIONS = ['style', 'partitionKey', 'now'] as const;

/**
 * Returns the headers that describe a decision. A denial gets a `Retry-After` that is never too early, or no `Retry-After` if a
 * retry can never pass.
 */
export function rateLimitHeaders(decision: Decision, options?: HeaderOptions): HeaderPair[] {
  if (options !== undefined) return headerWriter(options)(decision);
  writeDefault ??= headerWriter({});
  return writeDefault(decision);
}

/**
 * The writer for all calls without options. They share one writer because it caches the text for the last policies, and consecutive
 * calls often have the same policies.
 */
let writeDefault: ((decision: Decision) => HeaderPair[]) | undefined;

/**
 * Same as `rateLimitHeaders`, but validates the options only once, for middlewares. If the client's `key` is passed, clients that
 * wait for the same window are told to retry a few seconds apart.
 */
export function headerWriter(options: HeaderOptions): (decision: Decision, key?: string) => HeaderPair[] {
  const { style = 'draft-11' } = checkOptionNames('rateLimitHeaders', options, OPTIONS);
  const styles = typeof style === 'string' ? [style] : listOf('rateLimitHeaders.style', style);
  const writes = styles.map((one) => STYLES[oneOf('rateLimitHeaders.style', one, HEADER_STYLES)](options));
  const write = writes.length === 1 ? writes[0] : inOrder(writes);
  return (decision, key) => {
    const pairs = write(decision, key);
    if (!decision.allowed) add(pairs, retryAfter(decision, key));
    return pairs;
  };
}

function inOrder(writes: readonly Write[]): Write {
  return (decision, key) => {
    const pairs: HeaderPair[] = [];
    for (const write of writes) for (const pair of write(decision, key)) add(pairs, pair);
    return pairs;
  };
}

/** Adds a header unless an earlier style has set it. */
function add(pairs: HeaderPair[], pair: HeaderPair | undefined): void {
  if (pair !== undefined && !pairs.some(([name]) => name === pair[0])) pairs.push(pair);
}

/** Rounds a duration up to whole seconds. */
export function seconds(duration: Millis): number {
  return Math.max(0, Math.ceil((duration - TIME_EPSILON) / 1000));
}

/** Returns the Retry-After header, or undefined if a retry can never pass. */
function retryAfter(decision: Decision, key: string | undefined): HeaderPair | undefined {
  const { retryAfter: wait } = decision;
  if (wait === Infinity) return undefined;
  const extra = key === undefined ? 0 : spread(decision, key);
  return ['Retry-After', `${seconds(wait + extra)}`];
}

/** Retries of denied clients are spread over at most this time or a tenth of the window, whichever is shorter. */
const LONGEST_SPREAD: Millis = 5000;

/**
 * How much longer than necessary a client is told to wait, so that clients whose limits are replenished at the same moment do not
 * all retry together. The delay is the same for each denial of a key. It is 0 if the longest delay would be below a second, because
 * Retry-After is in whole seconds.
 */
function spread({ policy, policies, source }: Decision, key: string): Millis {
  if (source === 'fallback') return 0;
  const limiting = policies.find(({ name }) => name === policy);
  if (limiting?.refill !== 'whole') return 0;
  const longest = Math.min(limiting.window / 10, LONGEST_SPREAD);
  return longest < 1000 ? 0 : (digest(key) / 2 ** 32) * longest;
}

function draft11({ partitionKey }: HeaderOptions): Write {
  const pk = partitionKey === undefined ? '' : `;pk=${byteSequence(partitionKey)}`;
  // Only `r` and `t` change from one request to the next, so the rest is cached.
  let before: readonly PolicyState[] = [];
  let policies = '';
  let starts: readonly string[] = [];
  return (decision) => {
    const states = decision.policies;
    if (!areAlike(before, states)) {
      before = states;
      const names = states.map(({ name }) => quoted(name));
      starts = names.map((name) => `${name};r=`);
      policies = states
        .map(({ limit, window }, i) => `${names[i]};q=${integer(limit)}${windowText(window)}${pk}`)
        .filter((_, i) => states[i].limit < Infinity)
        .join();
    }
    if (policies === '') return [];
    let text = '';
    for (let i = 0; i < states.length; i++) {
      const state = states[i];
      if (state.limit === Infinity) continue;
      const own = `${starts[i]}${integer(left(decision, state))}${more(decision, state)}${pk}`;
      text = text === '' ? own : `${text},${own}`;
    }
    return [
      ['RateLimit-Policy', policies],
      ['RateLimit', text],
    ];
  };
}

function windowText(window: Millis): string {
  return window === Infinity ? '' : `;w=${seconds(window)}`;
}

function areAlike(some: readonly PolicyState[], others: readonly PolicyState[]): boolean {
  if (some.length !== others.length) return false;
  for (let i = 0; i < some.length; i++) {
    const a = some[i];
    const b = others[i];
    if (a.name !== b.name || a.limit !== b.limit || a.window !== b.window) return false;
  }
  return true;
}

/** The number of units left, which is 0 for a manually blocked key, whatever its policies say. */
function left(decision: Decision, policy: PolicyState): number {
  return decision.policy === MANUAL_BLOCK ? 0 : policy.remaining;
}

/**
 * The `t` parameter, which is the time until more than `r` units are available. It is 0 if no whole unit is missing, and omitted
 * if there will never be more units.
 *
 * In a denial, `t` must not be later than Retry-After. If it would be, a policy that denied the request announces its own
 * `retryAfter` instead, because the request may need only a fraction of a unit. Other policies omit `t`.
 */
function more({ allowed, policy, retryAfter: wait }: Decision, state: PolicyState): string {
  let time = policy === MANUAL_BLOCK ? wait : state.remaining + 1 <= state.limit ? moreAfter(state) : 0;
  if (!allowed && time > wait) time = state.retryAfter > 0 ? state.retryAfter : Infinity;
  return time === Infinity ? '' : `;t=${seconds(time)}`;
}

function classic({ limit, remaining, resetAfter }: Decision, since: Millis): HeaderPair[] {
  const pairs: HeaderPair[] = [
    ['X-RateLimit-Limit', `${whole(limit)}`],
    ['X-RateLimit-Remaining', `${whole(remaining)}`],
  ];
  if (resetAfter < Infinity) pairs.push(['X-RateLimit-Reset', `${seconds(since + resetAfter)}`]);
  return pairs;
}

function sharkey(decision: Decision, key?: string): HeaderPair[] {
  const { allowed, remaining, retryAfter: wait, resetAfter } = decision;
  const pairs: HeaderPair[] = [];
  if (resetAfter < Infinity) pairs.push(['X-RateLimit-Clear', thousandths(resetAfter)]);
  pairs.push(['X-RateLimit-Remaining', `${whole(remaining)}`]);
  if (!allowed && wait < Infinity) {
    add(pairs, retryAfter(decision, key));
    pairs.push(['X-RateLimit-Reset', thousandths(wait)]);
  }
  return pairs;
}

function thousandths(duration: Millis): string {
  return (duration / 1000).toFixed(3);
}

function whole(value: number): number {
  return Math.min(Math.floor(value), Number.MAX_SAFE_INTEGER);
}

/** The largest integer that a structured field can hold (RFC 9651). */
const LARGEST = 999_999_999_999_999;

function integer(value: number): number {
  return Math.min(Math.floor(value), LARGEST);
}

/** Encodes a string for a structured field, which may contain only printable ASCII. Other characters are percent-encoded. */
function quoted(name: string): string {
  if (PLAIN.test(name)) return `"${name}"`;
  const ascii = name.toWellFormed().replace(/[^ -~]+/gu, encodeURIComponent);
  return `"${ascii.replace(/["\\]/g, '\\$&')}"`;
}

const PLAIN = /^[ !#-[\]-~]*$/;

function byteSequence(text: string): string {
  let bytes = '';
  for (const byte of new TextEncoder().encode(text)) bytes += String.fromCharCode(byte);
  return `:${btoa(bytes)}:`;
}
