/** All commands for configured limits except THROTTLE: one command per verb, such as THROTTLE.REFUND, and THROTTLE.MANY. */
import type { Decision, MaybePromise } from 'sluice';
import type { Core } from '../../core/core.ts';
import type { Booking } from '../../core/limit.ts';
import { chain } from '../../core/maybe-promise.ts';
import type { Log } from '../../log.ts';
import { audited } from '../audit.ts';
import { checkLimit, type TokenVerb } from '../grants.ts';
import { type Command, RespError } from './command.ts';
import { integer, list } from './reply.ts';
import { costOf, keyReader, optionsOf, TAKE_OPTIONS, textOf } from './throttle.ts';
import { encodeReply, replyOf } from './throttle-reply.ts';

/** Maximum number of items of THROTTLE.MANY. */
const MAX_ITEMS = 100;
const FIVE = 'The reply has the same format as that of CL.THROTTLE';

export function verbCommands(core: Core, maxKey: number, log: Log): readonly (readonly [string, Command])[] {
  const keyOf = keyReader(core, maxKey);

  /** A command whose first arguments are a key and a limit. `ask` gets the remaining arguments. */
  function verbCommand(
    verb: TokenVerb,
    summary: string,
    more: string,
    [fewest, most]: readonly [number, number],
    ask: (limit: string, key: string, rest: readonly string[]) => MaybePromise<Decision>,
    encode: (decision: Decision) => string = encodeDecision,
  ): readonly [string, Command] {
    const command: Command = {
      summary,
      usage: `key limit${more}`,
      arity: [fewest + 2, most + 2],
      hasKey: true,
      verb,
      run([, first, second, ...rest], { grant }) {
        const [key, limit] = [keyOf(first), textOf(second)];
        const decision = audited(log, { listener: 'resp', verb, grant, limit, key }, () => {
          checkLimit(grant, limit);
          return ask(limit, key, rest);
        });
        return chain(decision, encode);
      },
    };
    return [`throttle.${verb}`, command];
  }

  const cost = ' [cost] [TIER tier]';
  return [
    verbCommand(
      'peek',
      `Returns the decision of THROTTLE without charging anything. ${FIVE}.`,
      `${cost} [CLASS class]`,
      [0, 5],
      (limit, key, rest) => core.peek(limit, key, optionsOf(rest, TAKE_OPTIONS)),
    ),
    verbCommand(
      'reserve',
      `Charges a key now for a turn that may be in the future. ${FIVE}, and a sixth integer is the delay in milliseconds, or -1 if nothing was booked.`,
      `${cost} [CLASS class] [MAXDELAY milliseconds]`,
      [0, 7],
      (limit, key, rest) => core.reserve(limit, key, optionsOf(rest, [...TAKE_OPTIONS, 'maxdelay'])),
      (decision) => encodeWith(decision, delayOf(decision as Booking)),
    ),
    verbCommand('refund', `Gives units back. ${FIVE}.`, cost, [0, 3], (limit, key, rest) =>
      core.refund(limit, key, optionsOf(rest, ['tier'])),
    ),
    verbCommand(
      'release',
      `Frees places of a concurrency limit. ${FIVE}.`,
      cost,
      [0, 3],
      (limit, key, rest) => core.release(limit, key, optionsOf(rest, ['tier'])),
    ),
    verbCommand(
      'settle',
      `Corrects a charge to what was used. ${FIVE}.`,
      ' charged used [TIER tier]',
      [2, 4],
      (limit, key, [charged, used, ...rest]) => {
        const { tier } = optionsOf(rest.length % 2 === 0 ? rest : [''], ['tier']);
        return core.settle(limit, key, { charged: costOf(charged), used: costOf(used), tier });
      },
    ),
    verbCommand(
      'block',
      `Denies a key for a number of milliseconds. ${FIVE}.`,
      ' milliseconds',
      [1, 1],
      (limit, key, [duration]) => {
        if (!/^[1-9]\d{0,14}$/.test(duration))
          throw new RespError(
            'ERR',
            `the duration must be an integer above 0, in milliseconds; got '${duration.slice(0, 40)}'`,
          );
        return core.block(limit, key, Number(duration));
      },
    ),
    verbCommand('unblock', `Ends the manual block of a key. ${FIVE}.`, '', [0, 0], (limit, key) =>
      core.unblock(limit, key),
    ),
    verbCommand(
      'reset',
      `Deletes the usage and the manual block of a key. ${FIVE}.`,
      '',
      [0, 0],
      (limit, key) => core.reset(limit, key),
    ),
    ['throttle.many', manyCommand(core, keyOf)],
  ];
}

function manyCommand(core: Core, keyOf: (bytes: string) => string): Command {
  return {
    summary: `Charges several keys: either all of them or none. ${FIVE}, and a sixth integer is 1 if all items were decided in one step, otherwise 0.`,
    usage: 'key limit cost [key limit cost ...]',
    arity: [3, 3 * MAX_ITEMS],
    hasKey: true,
    verb: 'take',
    run([, ...words], { grant }) {
      if (words.length % 3 !== 0)
        throw new RespError('ERR', 'syntax error; each item consists of a key, a limit and a cost');
      const items = [];
      for (let i = 0; i < words.length; i += 3) {
        const limit = textOf(words[i + 1]);
        checkLimit(grant, limit);
        items.push({ limit, key: keyOf(words[i]), cost: costOf(words[i + 2]) });
      }
      return chain(core.takeMany(items), (decision) => encodeWith(decision, decision.atomic ? 1 : 0));
    },
  };
}

function encodeDecision(decision: Decision): string {
  return encodeReply(replyOf(decision));
}

function encodeWith(decision: Decision, sixth: number): string {
  return list([...replyOf(decision), sixth].map(integer));
}

/** Whole milliseconds, rounded up; -1 if nothing was booked. */
function delayOf({ delay }: Booking): number {
  return delay === Infinity ? -1 : Math.ceil(delay);
}
