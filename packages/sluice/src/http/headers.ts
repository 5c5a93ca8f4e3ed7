/** From a decision to response headers: pairs out, nothing set. */
import { type Decision, FORGIVEN, type Millis, type PolicyState } from '../contract.ts';
import { known, oneOf } from '../options.ts';

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

export type HeaderPair = readonly [name: string, value: string];

type Write = (decision: Decision, options: HeaderOptions) => HeaderPair[];

/** A later draft that renames its parameters is one more line. */
const STYLES: Readonly<Record<HeaderStyle, Write>> = { 'draft-11': draft11, legacy, github, sharkey };

export const HEADER_STYLES = Object.keys(STYLES) as readonly HeaderStyle[];

const OPTIONS = ['style', 'partitionKey', 'now'] as const;

/** `Retry-After` comes with every denial, never too early; without it, trying again is in vain. */
export function rateLimitHeaders(decision: Decision, options: HeaderOptions = {}): HeaderPair[] {
  const { style = 'draft-11' } = known('rateLimitHeaders', options, OPTIONS);
  if (style === 'draft-11') return [...draft11(decision, options), ...retryAfter(decision)];
  const styles = typeof style === 'string' ? [style] : style;
  const pairs = styles.flatMap((one) =>
    STYLES[oneOf('rateLimitHeaders.style', one, HEADER_STYLES)](decision, options),
  );
  pairs.push(...retryAfter(decision));
  return pairs.filter(([name], i) => pairs.findIndex(([other]) => other === name) === i);
}

/** Whole seconds that are over no earlier than the span. */
export function seconds(span: Millis): number {
  return Math.max(0, Math.ceil((span - FORGIVEN) / 1000));
}

function retryAfter({ allowed, retryAfter: wait }: Decision): HeaderPair[] {
  return allowed || wait === Infinity ? [] : [['Retry-After', `${seconds(wait)}`]];
}

function draft11(decision: Decision, { partitionKey }: HeaderOptions): HeaderPair[] {
  const pk = partitionKey === undefined ? '' : `;pk=${byteSequence(partitionKey)}`;
  let policies = '';
  let states = '';
  for (const policy of decision.policies) {
    if (policy.limit === Infinity) continue;
    const comma = policies === '' ? '' : ',';
    const name = quoted(policy.name);
    policies += `${comma}${name};q=${integer(policy.limit)}${policy.window === Infinity ? '' : `;w=${seconds(policy.window)}`}${pk}`;
    states += `${comma}${name};r=${integer(left(decision, policy))}${reset(decision, policy)}${pk}`;
  }
  return policies === ''
    ? []
    : [
        ['RateLimit-Policy', policies],
        ['RateLimit', states],
      ];
}

/** A key blocked by hand has nothing left, whatever its policies say. */
function left(decision: Decision, policy: PolicyState): number {
  return decision.policy === 'block' ? 0 : policy.remaining;
}

function reset(decision: Decision, policy: PolicyState): string {
  const span =
    decision.policy === 'block' ? Math.max(decision.retryAfter, policy.resetAfter) : policy.resetAfter;
  return span === Infinity ? '' : `;t=${seconds(span)}`;
}

function legacy(decision: Decision): HeaderPair[] {
  return classic(decision, 0);
}

function github(decision: Decision, { now = Date.now() }: HeaderOptions): HeaderPair[] {
  return classic(decision, now);
}

function classic({ limit, remaining, resetAfter }: Decision, since: Millis): HeaderPair[] {
  const pairs: HeaderPair[] = [
    ['X-RateLimit-Limit', `${whole(limit)}`],
    ['X-RateLimit-Remaining', `${whole(remaining)}`],
  ];
  if (resetAfter < Infinity) pairs.push(['X-RateLimit-Reset', `${seconds(since + resetAfter)}`]);
  return pairs;
}

function sharkey(decision: Decision): HeaderPair[] {
  const { allowed, remaining, retryAfter: wait, resetAfter } = decision;
  const pairs: HeaderPair[] = [];
  if (resetAfter < Infinity) pairs.push(['X-RateLimit-Clear', thousandths(resetAfter)]);
  pairs.push(['X-RateLimit-Remaining', `${whole(remaining)}`]);
  if (!allowed && wait < Infinity)
    pairs.push(...retryAfter(decision), ['X-RateLimit-Reset', thousandths(wait)]);
  return pairs;
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
  const bytes = new TextEncoder().encode(text);
  return `:${btoa(String.fromCharCode(...bytes))}:`;
}
