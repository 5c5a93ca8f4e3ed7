/** Spans of the RESP listener. It has no headers: each begins a trace of its own. */
import type { Millis } from 'sluice';
import type { Asked, Tracer } from '../../telemetry/traces/tracer.ts';
import type { Command } from './command.ts';
import { isLimited } from './throttle-reply.ts';

/** What is told of the reply; undefined: the command leaves no span. */
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
      attributes: { 'sluice.door': 'resp', 'db.response.status_code': codeOf(reply) },
      asked: askedOf(name, words, reply),
      error: /^-(UNAVAILABLE|ERR internal server error)/.test(reply) ? reply.slice(1).trimEnd() : undefined,
    });
}

function codeOf(reply: string): string {
  return /^-(\w+)/.exec(reply)?.[1] ?? 'OK';
}

/** Of a reply that is no error: five integers, the first of which says whether it was limited. */
function askedOf(name: string, words: readonly string[], reply: string): Asked {
  const key = copyOf(words[1]);
  const limited = isLimited(reply);
  if (limited === undefined) return { key };
  const limit = name === 'THROTTLE' ? copyOf(words[2]) : name.toLowerCase();
  return { limit, key, outcome: limited ? 'denied' : 'allowed' };
}

/** Spans wait for a while: they must not keep the text that the word was cut from. */
function copyOf(word: string | undefined): string | undefined {
  return word === undefined ? undefined : Buffer.from(word, 'latin1').toString('utf8');
}
