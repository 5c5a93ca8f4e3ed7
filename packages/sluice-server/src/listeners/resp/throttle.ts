/** The commands CL.THROTTLE, whose limit is given in each call, and THROTTLE, which names a limit of the configuration. */
import { CELL, type Core } from '../../core/core.ts';
import type { AskOptions } from '../../core/limit.ts';
import { chain, isPromise } from '../../core/maybe-promise.ts';
import { detachedCopy } from '../../core/detached-copy.ts';
import { checkLimit, checkVerb } from '../grants.ts';
import { type Command, RespError } from './command.ts';
import { encodeReply, replyOf } from './throttle-reply.ts';

/** Returns the function that decodes and validates keys. Only CL.THROTTLE accepts an empty key, as the redis-cell module does. */
export function keyReader(core: Core, maxKey: number): (bytes: string) => string {
  return (bytes) => {
    if (bytes === '') throw new RespError('ERR', 'key must not be empty');
    if (bytes.length > maxKey) throw new RespError('ERR', `key must have at most ${maxKey} bytes`);
    const key = textOf(bytes);
    return core.keepsKeys ? detachedCopy(key) : key;
  };
}

export function throttleCommands(core: Core, maxKey: number): readonly (readonly [string, Command])[] {
  const keyOf = keyReader(core, maxKey);
  return [
    [
      'cl.throttle',
      {
        summary: 'Checks a GCRA limit that is given in the arguments, as the redis-cell module does.',
        usage: 'key max_burst count period [quantity]',
        arity: [4, 5],
        hasKey: true,
        run(words, { grant }) {
          checkVerb(grant, words.length > 5 && words[5].startsWith('-') ? 'refund' : 'take');
          checkLimit(grant, CELL);
          const reply = core.clThrottle(
            words[1] === '' ? '' : keyOf(words[1]),
            numberOf(words[2]),
            numberOf(words[3]),
            numberOf(words[4]),
            words.length > 5 ? numberOf(words[5]) : 1,
          );
          return chain(reply, encodeReply);
        },
      },
    ],
    [
      'throttle',
      {
        summary: 'Checks a limit of the configuration. The reply has the same format as that of CL.THROTTLE.',
        usage: 'key limit [cost] [TIER tier] [CLASS class]',
        arity: [2, 7],
        hasKey: true,
        verb: 'take',
        run(words, { grant }) {
          const options = words.length > 3 ? optionsOf(words.slice(3), TAKE_OPTIONS) : undefined;
          const limit = textOf(words[2]);
          checkLimit(grant, limit);
          const verdict = core.take(limit, keyOf(words[1]), options);
          return isPromise(verdict)
            ? verdict.then((decision) => encodeReply(replyOf(decision)))
            : encodeReply(replyOf(verdict));
        },
      },
    ],
  ];
}

/** The options that may follow the cost. A value follows the name of each option. */
export const TAKE_OPTIONS = ['tier', 'class'] as const;

type Option = 'tier' | 'class' | 'maxdelay';

/** Parses an optional cost and the options after it. */
export function optionsOf(words: readonly string[], names: readonly Option[]): AskOptions {
  const hasCost = words.length % 2 === 1;
  const found = new Map<Option, string>();
  for (let i = hasCost ? 1 : 0; i < words.length; i += 2) {
    const name = names.find((one) => one === words[i].toLowerCase());
    if (name === undefined || found.has(name))
      throw new RespError(
        'ERR',
        `syntax error at '${words[i].slice(0, 40)}'; accepts ${names.join(', ').toUpperCase()}, each once and with a value`,
      );
    found.set(name, textOf(words[i + 1]));
  }
  const delay = found.get('maxdelay');
  if (delay !== undefined && !/^\d{1,15}$/.test(delay))
    throw new RespError('ERR', `MAXDELAY must be an integer, in milliseconds; got '${delay.slice(0, 40)}'`);
  return {
    ...(hasCost && { cost: costOf(words[0]) }),
    tier: found.get('tier'),
    class: found.get('class'),
    maxDelay: delay === undefined ? undefined : Number(delay),
  };
}

const UNITS = /^\d{1,15}(\.\d{1,15})?$/;

/** Parses a cost, which is a number such as '3', or a list of policies with their numbers such as 'requests=1,tokens=4200'. */
export function costOf(word: string): NonNullable<AskOptions['cost']> {
  if (UNITS.test(word)) return Number(word);
  const parts = word.split(',').map((part) => {
    // Names may contain '=', but numbers cannot.
    const end = part.lastIndexOf('=');
    return [textOf(part.slice(0, Math.max(end, 0))), part.slice(end + 1)] as const;
  });
  const names = new Set(parts.map(([name]) => name));
  if (names.has('') || names.size < parts.length || !parts.every(([, units]) => UNITS.test(units)))
    throw new RespError(
      'ERR',
      `cost must be a number of 0 or more, or a list of policies such as requests=1,tokens=4200; got '${word.slice(0, 40)}'`,
    );
  return Object.fromEntries(parts.map(([name, units]) => [name, Number(units)]));
}

/**
 * Decodes UTF-8, so that keys are the same on all listeners. Bytes that are not valid UTF-8 are decoded to text that
 * differs from every valid key.
 */
export function textOf(bytes: string): string {
  if (isAscii(bytes)) return bytes;
  const buffer = Buffer.from(bytes, 'latin1');
  const text = buffer.toString('utf8');
  return Buffer.from(text, 'utf8').equals(buffer) ? text : `\u0000${bytes}`;
}

function isAscii(bytes: string): boolean {
  for (let i = 0; i < bytes.length; i++) if (bytes.charCodeAt(i) > 127) return false;
  return true;
}

/** Parses digits quickly. Returns anything else unchanged, for CL.THROTTLE itself to parse or reject. */
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
