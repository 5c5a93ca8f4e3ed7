/** CL.THROTTLE, whose limit comes with each call, and THROTTLE, which names one of the configuration. */
import type { Decision, Millis, Store } from 'sluice';
import type { Hit } from 'sluice/store';
import { type ClThrottleReply, createClThrottle } from 'sluice-compat/redis-cell';
import type { Core } from '../../core/core.ts';
import { isPromise } from '../../core/maybe-promise.ts';
import { own } from '../../core/detached-copy.ts';
import { type Command, RespError } from './command.ts';

/** Larger whole numbers are not exact in most clients. */
const NO_BOUND = Number.MAX_SAFE_INTEGER;
/** What metrics call the limits that callers bring themselves. */
const CELL = 'cl.throttle';

export function throttleCommands(core: Core, maxKey: number): readonly (readonly [string, Command])[] {
  const cell = createClThrottle({ store: counted(core) });

  function keyOf(bytes: string): string {
    if (bytes.length > maxKey) throw new RespError('ERR', `the key is longer than ${maxKey} bytes`);
    const key = textOf(bytes);
    return core.keepsKeys ? own(key) : key;
  }

  return [
    [
      'cl.throttle',
      {
        summary: 'Asks a GCRA limit that comes with the call, as the module redis-cell does.',
        usage: 'key max_burst count period [quantity]',
        arity: [4, 5],
        hasKey: true,
        run(words) {
          const reply = cell(
            keyOf(words[1]),
            numberOf(words[2]),
            numberOf(words[3]),
            numberOf(words[4]),
            words.length > 5 ? numberOf(words[5]) : 1,
          );
          return isPromise(reply) ? reply.then(cellReply) : cellReply(reply);
        },
      },
    ],
    [
      'throttle',
      {
        summary: 'Asks a limit of the configuration; the reply is that of CL.THROTTLE.',
        usage: 'key limit [cost] [TIER tier]',
        arity: [2, 5],
        hasKey: true,
        run(words) {
          const options = words.length > 3 ? optionsOf(words.slice(3)) : undefined;
          const verdict = core.take(textOf(words[2]), keyOf(words[1]), options);
          return isPromise(verdict) ? verdict.then(decisionReply) : decisionReply(verdict);
        },
      },
    ],
  ];
}

/** The store of the core, with what was decided in the metrics. */
function counted({ store, metrics }: Core): Store {
  function noted({ key }: Hit, decision: Decision): Decision {
    metrics.decided(CELL, key, decision, false);
    return decision;
  }

  return {
    clock: store.clock,
    apply(hit) {
      const answer = store.apply(hit);
      if (hit.verb !== 'take') return answer;
      return isPromise(answer) ? answer.then((decision) => noted(hit, decision)) : noted(hit, answer);
    },
    close: () => undefined,
  };
}

function cellReply(reply: ClThrottleReply): string {
  return replyOf(reply[0], reply[1], reply[2], reply[3], reply[4]);
}

/** Who is denied asks again at once, and hears the same. */
const last = { limited: -1, limit: 0, remaining: 0, retryAfter: 0, resetAfter: 0, text: '' };

function replyOf(
  limited: number,
  limit: number,
  remaining: number,
  retryAfter: number,
  resetAfter: number,
): string {
  const isSame =
    resetAfter === last.resetAfter &&
    retryAfter === last.retryAfter &&
    remaining === last.remaining &&
    limit === last.limit &&
    limited === last.limited;
  if (isSame) {
    // Puts its parts together, for this time and those to come.
    last.text.charCodeAt(0);
    return last.text;
  }
  // Of few parts: those that are put together here are taken apart again when the answer is written.
  const middle = retryAfter === -1 ? '\r\n:-1\r\n:' : `\r\n:${retryAfter}\r\n:`;
  const text = `${headOf(limited, limit)}${remaining}${middle}${resetAfter}\r\n`;
  last.limited = limited;
  last.limit = limit;
  last.remaining = remaining;
  last.retryAfter = retryAfter;
  last.resetAfter = resetAfter;
  last.text = text;
  return text;
}

/** Most answers begin like one before. */
const heads = [
  { limit: Number.NaN, text: '' },
  { limit: Number.NaN, text: '' },
];

function headOf(limited: number, limit: number): string {
  const head = heads[limited];
  if (head.limit !== limit) {
    head.limit = limit;
    head.text = Buffer.from(`*5\r\n:${limited}\r\n:${limit}\r\n:`).toString('latin1');
  }
  return head.text;
}

/** Times are whole seconds, rounded up; -1: not limited, or never. */
function decisionReply({ allowed, limit, remaining, retryAfter, resetAfter }: Decision): string {
  return replyOf(
    allowed ? 0 : 1,
    wholeOf(limit),
    wholeOf(remaining),
    allowed ? -1 : secondsOf(retryAfter),
    secondsOf(resetAfter),
  );
}

function wholeOf(value: number): number {
  return Math.max(0, Math.min(Math.floor(value), NO_BOUND));
}

function secondsOf(span: Millis): number {
  return span === Infinity ? -1 : Math.ceil(span / 1000);
}

function optionsOf(words: readonly string[]): { cost: number | undefined; tier: string | undefined } {
  const isCost = words.length === 1 || words.length === 3;
  const [name, tier] = isCost ? words.slice(1) : words;
  if (name !== undefined && name.toLowerCase() !== 'tier') throw new RespError('ERR', 'syntax error');
  const cost = isCost ? words[0] : undefined;
  if (cost !== undefined && !/^\d{1,15}(\.\d{1,15})?$/.test(cost))
    throw new RespError('ERR', `cost is not a number, 0 or more: ${cost.slice(0, 40)}`);
  return {
    cost: cost === undefined ? undefined : Number(cost),
    tier: tier === undefined ? undefined : textOf(tier),
  };
}

/** The same text as the other doors read; bytes that are no UTF-8 become text that no other bytes become. */
function textOf(bytes: string): string {
  if (isAscii(bytes)) return bytes;
  const buffer = Buffer.from(bytes, 'latin1');
  const text = buffer.toString('utf8');
  return Buffer.from(text, 'utf8').equals(buffer) ? text : `\u0000${bytes}`;
}

function isAscii(bytes: string): boolean {
  for (let i = 0; i < bytes.length; i++) if (bytes.charCodeAt(i) > 127) return false;
  return true;
}

/** Digits as a number; the rest as it is, for whoever refuses it. */
function numberOf(word: string): number | string {
  if (word.length === 0 || word.length > 15) return word;
  let value = 0;
  for (let i = 0; i < word.length; i++) {
    const digit = word.charCodeAt(i) - 48;
    if (digit < 0 || digit > 9) return word;
    value = value * 10 + digit;
  }
  return value;
}
