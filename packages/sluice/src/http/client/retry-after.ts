/** Finds out from a response's headers how long the server asks clients to wait, in milliseconds. Never throws. */
import type { Millis } from '../../engine/contract.ts';

interface Fields {
  get(name: string): string | null;
}

/** The longest wait that is accepted. A longer wait is probably a misread header and not what the server intended. */
export const LONGEST: Millis = 86_400_000;

/** The prefixes in use for the older, non-standard headers. */
const PREFIXES = ['ratelimit', 'x-ratelimit', 'x-rate-limit'] as const;

/**
 * The time until the server accepts requests again. 0 if it accepts requests now or does not announce a wait. The first header that
 * is present and valid decides, in this order: Retry-After (only in an error response), RateLimit, RateLimit-Remaining,
 * X-RateLimit-Remaining. All headers except Retry-After are used only if they say that nothing remains. Instants are compared with
 * the response's own Date, so the clocks of client and server need not agree.
 */
export function announcedWait(status: number, headers: Fields, now: Millis): Millis {
  const sent = httpDate(headers.get('date')) ?? now;
  const wait =
    (status >= 400 ? retryAfter(headers.get('retry-after'), sent) : undefined) ??
    rateLimit(headers.get('ratelimit'), headers.get('ratelimit-policy')) ??
    remaining(headers, sent) ??
    0;
  return Math.min(Math.max(wait, 0), LONGEST);
}

function retryAfter(text: string | null, sent: Millis): Millis | undefined {
  const seconds = number(text);
  if (seconds !== undefined) return seconds * 1000;
  const instant = httpDate(text);
  return instant === undefined ? undefined : instant - sent;
}

/**
 * Parses a RateLimit header such as `"burst";r=0;t=30, "day";r=9`, in which several policies may be exhausted. Also parses the
 * form before draft 8, such as `limit=10, remaining=0, reset=30`.
 */
function rateLimit(text: string | null, policy: string | null): Millis | undefined {
  if (text === null) return undefined;
  const members = membersOf(text);
  // If `t` is missing, assume the longest possible wait, which is the whole window.
  const windows = new Map(membersOf(policy ?? '').map(([[name], ...rest]) => [name, new Map(rest).get('w')]));
  let wait: Millis | undefined;
  function see(left: string | undefined, reset: string | undefined): void {
    const count = number(left);
    if (count !== undefined) wait = Math.max(wait ?? 0, count > 0 ? 0 : (number(reset) ?? 0) * 1000);
  }
  for (const [[name], ...rest] of members) {
    const params = new Map(rest);
    see(params.get('r'), params.get('t') ?? windows.get(name));
  }
  const older = new Map(members.map(([pair]) => pair));
  see(older.get('remaining'), older.get('reset'));
  return wait;
}

function remaining(headers: Fields, sent: Millis): Millis | undefined {
  for (const prefix of PREFIXES) {
    const left = number(headers.get(`${prefix}-remaining`));
    if (left === undefined) continue;
    if (left > 0) return 0;
    const after = number(headers.get(`${prefix}-reset-after`));
    if (after !== undefined) return after * 1000;
    const reset = number(headers.get(`${prefix}-reset`));
    if (reset !== undefined) return resetIn(reset, sent);
  }
  return undefined;
}

/**
 * Accepts seconds from now, seconds since 1970 and milliseconds since 1970. They are distinguished by size: 1e9 seconds since
 * 1970 is in 2001, and 1e11 seconds since 1970 is in 5138.
 */
function resetIn(reset: number, sent: Millis): Millis {
  if (reset >= 1e11) return reset - sent;
  return reset >= 1e9 ? reset * 1000 - sent : reset * 1000;
}

type Pair = [name: string, value: string];

/** An unterminated string extends to the end of the text, so that no text is scanned twice. */
const TOKEN = /"(?:[^"\\]|\\.)*"?|[,;=]|[^\s,;="]+/g;

/** The members of a structured list or dictionary, each followed by its parameters. Malformed members are ignored. */
function membersOf(text: string): [Pair, ...Pair[]][] {
  let pair: Pair = ['', ''];
  let part = 0;
  const members: [Pair, ...Pair[]][] = [[pair]];
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === '=') part = 1;
    else if (token === ',' || token === ';') {
      pair = ['', ''];
      part = 0;
      if (token === ',') members.push([pair]);
      else members.at(-1)?.push(pair);
    } else pair[part] = token;
  }
  return members;
}

const NUMBER = /^-?\d+(?:\.\d+)?$/;

function number(text: string | null | undefined): number | undefined {
  return text !== null && text !== undefined && NUMBER.test(text.trim()) ? Number(text) : undefined;
}

/** The three date formats of RFC 9110, all in GMT. */
const HTTP_DATE =
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*(?:, \d\d[ -][A-Z][a-z]{2}[ -]\d{2,4} [\d:]{8} GMT| [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4})$/;

function httpDate(text: string | null): Millis | undefined {
  if (text === null || !HTTP_DATE.test(text.trim())) return undefined;
  const instant = Date.parse(text.includes('GMT') ? text : `${text} GMT`);
  return Number.isNaN(instant) ? undefined : instant;
}
