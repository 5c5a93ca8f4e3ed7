/** From a decision to response headers: pairs out, nothing set. */
import {
  type Decision,
  TIME_EPSILON,
  MANUAL_BLOCK,
  type Millis,
  moreAfter,
  type PolicyState,
} from '../engine/contract.ts';
import { digest } from '../internal/hash.ts';
import { checkOptionNames, listOf, oneOf } from '../internal/options.ts';

/**
 * 'draft-11': the IETF's RateLimit-Policy and RateLimit, with every policy.
 * 'legacy': X-RateLimit-Limit, -Remaining, and -Reset in seconds from now.
 * 'github': the same, with -Reset in seconds since 1970.
 * 'sharkey': X-RateLimit-Clear and -Remaining, and -Reset when denied; seconds with three decimals.
 */
export type HeaderStyle = 'draft-11' | 'legacy' | 'github' | 'sharkey';

export interface HeaderOptions {
  /** One or several; where two name the same header, the first counts. Default 'draft-11'. */
  readonly style?: HeaderStyle | readonly HeaderStyle[] | undefined;
  /** draft-11's `pk`: tells the client by which key it is limited. Everybody on the way can read it. */
  readonly partitionKey?: string | undefined;
  /** For 'github', which names an instant. Default: now. */
  readonly now?: Millis | undefined;
}

/** A header, ready to be set. */
export type HeaderPair = readonly [name: string, value: string];

type Write = (decision: Decision, pairs: HeaderPair[], key?: string) => void;

/** A later draft that renames its parameters is one more line. */
const STYLES: Readonly<Record<HeaderStyle, (options: HeaderOptions) => Write>> = {
  'draft-11': draft11,
  legacy: () => (decision, pairs) => classic(decision, 0, pairs),
  github:
    ({ now }) =>
    (decision, pairs) =>
      classic(decision, now ?? Date.now(), pairs),
  sharkey: () => sharkey,
};

export const HEADER_STYLES = Object.keys(STYLES) as readonly HeaderStyle[];

const OPTIONS = ['style', 'partitionKey', 'now'] as const;

/** `Retry-After` comes with every denial and is never too early. Where it is missing, a retry can never pass. */
export function rateLimitHeaders(decision: Decision, options: HeaderOptions = {}): HeaderPair[] {
  return headerWriter(options)(decision);
}

/**
 * Reads the options once: for middlewares. `key`: the client's. With it, clients that wait for the same window are told to
 * come back a few seconds apart.
 */
export function headerWriter(options: HeaderOptions): (decision: Decision, key?: string) => HeaderPair[] {
  const { style = 'draft-11' } = checkOptionNames('rateLimitHeaders', options, OPTIONS);
  const styles = typeof style === 'string' ? [style] : listOf('rateLimitHeaders.style', style);
  const writes = styles.map((one) => STYLES[oneOf('rateLimitHeaders.style', one, HEADER_STYLES)](options));
  return (decision, key) => {
    const pairs: HeaderPair[] = [];
    for (const write of writes) write(decision, pairs, key);
    retryAfter(decision, pairs, key);
    return pairs;
  };
}

/** The first of a name counts. */
function add(pairs: HeaderPair[], name: string, value: string): void {
  for (const [other] of pairs) if (other === name) return;
  pairs.push([name, value]);
}

/** Whole seconds that are over no earlier than the span. */
export function seconds(span: Millis): number {
  return Math.max(0, Math.ceil((span - TIME_EPSILON) / 1000));
}

function retryAfter(decision: Decision, pairs: HeaderPair[], key: string | undefined): void {
  const { allowed, retryAfter: wait } = decision;
  if (allowed || wait === Infinity) return;
  const extra = key === undefined ? 0 : spread(decision, key);
  add(pairs, 'Retry-After', `${seconds(wait + extra)}`);
}

/** Denied clients return within a tenth of the window, but no later than this. */
const LONGEST_SPREAD: Millis = 5000;

/**
 * How much later than possible a client is told to come back, where the units of all clients come back at the same moment.
 * The same for each denial of a key. 0 below a second, which whole seconds cannot tell.
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
  // From one request to the next only `r` and `t` change.
  let before: readonly PolicyState[] = [];
  let policies = '';
  let names: readonly string[] = [];
  return (decision, pairs) => {
    if (!areAlike(before, decision.policies)) {
      before = decision.policies;
      names = before.map(({ name }) => quoted(name));
      policies = before
        .map(
          ({ limit, window }, i) =>
            `${names[i]};q=${integer(limit)}${window === Infinity ? '' : `;w=${seconds(window)}`}${pk}`,
        )
        .filter((_, i) => before[i].limit < Infinity)
        .join();
    }
    if (policies === '') return;
    let states = '';
    for (let i = 0; i < names.length; i++) {
      const policy = decision.policies[i];
      if (policy.limit === Infinity) continue;
      if (states !== '') states += ',';
      states += `${names[i]};r=${integer(left(decision, policy))}${more(decision, policy)}${pk}`;
    }
    add(pairs, 'RateLimit-Policy', policies);
    add(pairs, 'RateLimit', states);
  };
}

function areAlike(some: readonly PolicyState[], others: readonly PolicyState[]): boolean {
  if (some.length !== others.length) return false;
  for (let i = 0; i < some.length; i++) {
    const [a, b] = [some[i], others[i]];
    if (a.name !== b.name || a.limit !== b.limit || a.window !== b.window) return false;
  }
  return true;
}

/** A key with a manual block has nothing left, whatever its policies say. */
function left(decision: Decision, policy: PolicyState): number {
  return decision.policy === MANUAL_BLOCK ? 0 : policy.remaining;
}

/**
 * Until there is more than `r`; 0 where nothing is missing, and '' where there never is more. Retry-After must not be
 * earlier, so in a denial a policy that has more only after that says nothing, unless it denied itself: then a fraction of
 * a unit was asked for, which comes earlier.
 */
function more({ allowed, policy, retryAfter: wait }: Decision, state: PolicyState): string {
  let span = policy === MANUAL_BLOCK ? wait : state.remaining + 1 <= state.limit ? moreAfter(state) : 0;
  if (!allowed && span > wait) span = state.retryAfter > 0 ? state.retryAfter : Infinity;
  return span === Infinity ? '' : `;t=${seconds(span)}`;
}

function classic({ limit, remaining, resetAfter }: Decision, since: Millis, pairs: HeaderPair[]): void {
  add(pairs, 'X-RateLimit-Limit', `${whole(limit)}`);
  add(pairs, 'X-RateLimit-Remaining', `${whole(remaining)}`);
  if (resetAfter < Infinity) add(pairs, 'X-RateLimit-Reset', `${seconds(since + resetAfter)}`);
}

function sharkey(decision: Decision, pairs: HeaderPair[], key?: string): void {
  const { allowed, remaining, retryAfter: wait, resetAfter } = decision;
  if (resetAfter < Infinity) add(pairs, 'X-RateLimit-Clear', thousandths(resetAfter));
  add(pairs, 'X-RateLimit-Remaining', `${whole(remaining)}`);
  retryAfter(decision, pairs, key);
  if (!allowed && wait < Infinity) add(pairs, 'X-RateLimit-Reset', thousandths(wait));
}

function thousandths(span: Millis): string {
  return (span / 1000).toFixed(3);
}

function whole(value: number): number {
  return Math.min(Math.floor(value), Number.MAX_SAFE_INTEGER);
}

/** The largest integer of a structured field. */
const LARGEST = 999_999_999_999_999;

function integer(value: number): number {
  return Math.min(Math.floor(value), LARGEST);
}

/** A structured field's string holds printable ASCII; the rest is percent-encoded. */
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
