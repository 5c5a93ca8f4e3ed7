/**
 * Encodes the reply of CL.THROTTLE and THROTTLE. As in redis-cell, it consists of five integers:
 * 1. 1 if the key was limited, otherwise 0
 * 2. the limit
 * 3. the remaining units
 * 4. the seconds until a retry can succeed, or -1 if the key was not limited or no retry can ever succeed
 * 5. the seconds until the key is fully replenished, or -1 if that never happens
 */
import type { Decision, Millis } from 'sluice';
import type { ClThrottleReply } from '../../core/cell.ts';

/** Sent as the limit if the key is unlimited. Larger integers are not exact in most clients. */
const UNBOUNDED = Number.MAX_SAFE_INTEGER;

export function replyOf({ allowed, limit, remaining, retryAfter, resetAfter }: Decision): ClThrottleReply {
  return [
    allowed ? 0 : 1,
    wholeOf(limit),
    wholeOf(remaining),
    allowed ? -1 : secondsOf(retryAfter),
    secondsOf(resetAfter),
  ];
}

function wholeOf(value: number): number {
  return Math.max(0, Math.min(Math.floor(value), UNBOUNDED));
}

/** Whole seconds, rounded up; -1 for an infinite duration. */
function secondsOf(duration: Millis): number {
  return duration === Infinity ? -1 : Math.ceil(duration / 1000);
}

/** The previous reply and its encoding. A denied client often retries immediately and gets the same reply. */
const previous = { limited: -1, limit: 0, remaining: 0, retryAfter: 0, resetAfter: 0, text: '' };

export function encodeReply(reply: ClThrottleReply): string {
  const [limited, limit, remaining, retryAfter, resetAfter] = reply;
  const isSame =
    resetAfter === previous.resetAfter &&
    retryAfter === previous.retryAfter &&
    remaining === previous.remaining &&
    limit === previous.limit &&
    limited === previous.limited;
  if (isSame) {
    // Reading a character makes V8 flatten the concatenated string now, instead of at every later use.
    previous.text.charCodeAt(0);
    return previous.text;
  }
  // The reply is joined from few parts, because V8 keeps a concatenation as a tree and walks that tree again when the reply is
  // written.
  const middle = retryAfter === -1 ? '\r\n:-1\r\n:' : `\r\n:${retryAfter}\r\n:`;
  const text = `${headOf(limited, limit)}${remaining}${middle}${resetAfter}\r\n`;
  previous.limited = limited;
  previous.limit = limit;
  previous.remaining = remaining;
  previous.retryAfter = retryAfter;
  previous.resetAfter = resetAfter;
  previous.text = text;
  return text;
}

/** The first part of the last reply for each value of `limited`. It is cached, because most replies begin with the same text. */
const heads = [
  { limit: Number.NaN, text: '' },
  { limit: Number.NaN, text: '' },
];

function headOf(limited: 0 | 1, limit: number): string {
  const head = heads[limited];
  if (head.limit !== limit) {
    head.limit = limit;
    head.text = Buffer.from(`*5\r\n:${limited}\r\n:${limit}\r\n:`).toString('latin1');
  }
  return head.text;
}

/** Whether an encoded reply says that the key was limited. Undefined for an error reply. */
export function isLimited(encoded: string): boolean | undefined {
  return encoded.startsWith('*5') ? encoded[5] === '1' : undefined;
}
