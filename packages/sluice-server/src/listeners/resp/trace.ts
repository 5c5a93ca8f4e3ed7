/** Records spans and denials of the RESP listener. RESP has no headers, so each span starts a new trace. */
import type { Millis } from 'sluice';
import type { Asked, Tracer } from '../../telemetry/traces/tracer.ts';
import type { DeniedTake, RequestLog } from '../request-log.ts';
import type { Command } from './command.ts';
import { isLimited } from './throttle-reply.ts';

interface Recorders {
  readonly tracer?: Tracer | undefined;
  readonly requestLog?: RequestLog | undefined;
}

/** Returns a function that records a command, given its reply. Undefined if neither a span nor a log line is needed. */
export function replyRecorder(
  { tracer, requestLog }: Recorders,
  command: Command | undefined,
  words: readonly string[],
  start: Millis,
  connection: number,
): ((reply: string) => void) | undefined {
  const span = tracer && spanRecorder(tracer, command, words, start);
  const logDenial = requestLog?.denied;
  if (logDenial === undefined || command?.hasKey !== true) return span;
  return (reply) => {
    span?.(reply);
    if (isLimited(reply) !== true) return;
    const takes = (): readonly DeniedTake[] => {
      const { limit = '', key = '' } = askedOf(words[0].toUpperCase(), words, reply);
      return [{ limit, key }];
    };
    logDenial(takes, () => ({ listener: 'resp', connection }));
  };
}

/** Returns a function that records the span of a command, given its reply. Undefined if the command is not sampled. */
export function spanRecorder(
  tracer: Tracer,
  command: Command | undefined,
  words: readonly string[],
  start: Millis,
): ((reply: string) => void) | undefined {
  const context = command?.hasKey === true ? tracer.contextOf(undefined) : undefined;
  if (context === undefined) return undefined;
  const name = words[0].toUpperCase();
  return (reply) =>
    tracer.record(context, {
      name,
      start,
      attributes: { 'sluice.listener': 'resp', 'db.response.status_code': codeOf(reply) },
      asked: askedOf(name, words, reply),
      error: /^-(UNAVAILABLE|ERR internal server error)/.test(reply) ? reply.slice(1).trimEnd() : undefined,
    });
}

function codeOf(reply: string): string {
  return /^-(\w+)/.exec(reply)?.[1] ?? 'OK';
}

/** Describes the command. The limit and the outcome are unknown if the reply is an error. */
function askedOf(name: string, words: readonly string[], reply: string): Asked {
  const key = copyOf(words[1]);
  const limited = isLimited(reply);
  if (limited === undefined) return { key };
  const limit = name.startsWith('THROTTLE') ? copyOf(words[2]) : name.toLowerCase();
  if (name.startsWith('THROTTLE.')) return { limit, key };
  return { limit, key, outcome: limited ? 'denied' : 'allowed' };
}

/** Copies a word. A word is a slice of the input, and a queued span must not keep the whole input in memory. */
function copyOf(word: string | undefined): string | undefined {
  return word === undefined ? undefined : Buffer.from(word, 'latin1').toString('utf8');
}
