/** The commands CL.THROTTLE, whose limit is given in each call, and THROTTLE, which names a limit of the configuration. */
import type { Core } from '../../core/core.ts';
import { chain, isPromise } from '../../core/maybe-promise.ts';
import { detachedCopy } from '../../core/detached-copy.ts';
import { type Command, RespError } from './command.ts';
import { encodeReply, replyOf } from './throttle-reply.ts';

export function throttleCommands(core: Core, maxKey: number): readonly (readonly [string, Command])[] {
  function keyOf(bytes: string): string {
    if (bytes.length > maxKey) throw new RespError('ERR', `key must have at most ${maxKey} bytes`);
    const key = textOf(bytes);
    return core.keepsKeys ? detachedCopy(key) : key;
  }

  return [
    [
      'cl.throttle',
      {
        summary: 'Checks a GCRA limit that is given in the arguments, as the redis-cell module does.',
        usage: 'key max_burst count period [quantity]',
        arity: [4, 5],
        hasKey: true,
        run(words) {
          const reply = core.clThrottle(
            keyOf(words[1]),
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
        usage: 'key limit [cost] [TIER tier]',
        arity: [2, 5],
        hasKey: true,
        run(words) {
          const options = words.length > 3 ? optionsOf(words.slice(3)) : undefined;
          const verdict = core.take(textOf(words[2]), keyOf(words[1]), options);
          return isPromise(verdict)
            ? verdict.then((decision) => encodeReply(replyOf(decision)))
            : encodeReply(replyOf(verdict));
        },
      },
    ],
  ];
}

function optionsOf(words: readonly string[]): { cost: number | undefined; tier: string | undefined } {
  const isCost = words.length === 1 || words.length === 3;
  const [name, tier] = isCost ? words.slice(1) : words;
  if (name !== undefined && name.toLowerCase() !== 'tier') throw new RespError('ERR', 'syntax error');
  const cost = isCost ? words[0] : undefined;
  if (cost !== undefined && !/^\d{1,15}(\.\d{1,15})?$/.test(cost))
    throw new RespError('ERR', `cost must be a number, 0 or more; got '${cost.slice(0, 40)}'`);
  return {
    cost: cost === undefined ? undefined : Number(cost),
    tier: tier === undefined ? undefined : textOf(tier),
  };
}

/**
 * Decodes UTF-8, so that keys are the same on all listeners. Bytes that are not valid UTF-8 are decoded to text that
 * differs from every valid key.
 */
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
