/** Runs a command, and turns errors into error replies. */
import type { Log } from '../../log.ts';
import { UnknownLimit } from '../../core/core.ts';
import type { RefusalReason, RequestLog } from '../request-log.ts';
import { auditRefusal } from '../audit.ts';
import { checkVerb, Forbidden } from '../grants.ts';
import { storeFaultIn } from '../store-failure.ts';
import { type Command, RespError, type Session } from './command.ts';
import { failure, utf8 } from './reply.ts';

/** Throws a RespError if the client may not run the command, or if its arguments are invalid. */
export function answerTo(
  command: Command | undefined,
  words: readonly string[],
  session: Session,
): string | Promise<string> {
  const [name] = words;
  if (command === undefined) {
    if (!session.isAuthenticated) throw new RespError('NOAUTH', 'Authentication required.');
    throw new RespError('ERR', `unknown command '${name.slice(0, 100)}'`);
  }
  if (!session.isAuthenticated && command.needsNoAuth !== true)
    throw new RespError('NOAUTH', 'Authentication required.');
  if (command.verb !== undefined) checkVerb(session.grant, command.verb);
  const [fewest, most] = command.arity;
  const given = words.length - 1;
  if (given < fewest || given > most)
    throw new RespError('ERR', `wrong number of arguments for '${name.toLowerCase()}' command`);
  return command.run(words, session);
}

/** The logs of a listener. */
interface Logs {
  readonly log: Log;
  readonly requestLog?: RequestLog | undefined;
}

/** Codes of replies to clients that have not authenticated. */
const UNAUTHORIZED: readonly string[] = ['NOAUTH', 'WRONGPASS'];

function reasonOf(error: unknown): RefusalReason | undefined {
  if (error instanceof RespError) return UNAUTHORIZED.includes(error.code) ? 'unauthorized' : undefined;
  if (error instanceof Forbidden) return error.isAudited ? undefined : 'forbidden';
  return error instanceof UnknownLimit ? 'unknown-limit' : undefined;
}

/**
 * The error reply for an error that a command threw. A failure of the store has its own code, because the client did nothing
 * wrong.
 */
export function refusal(error: unknown, name: string, { log, requestLog }: Logs, session: Session): string {
  auditRefusal(log, 'resp', error);
  const reason = reasonOf(error);
  if (reason !== undefined)
    requestLog?.refused(reason, () => ({
      listener: 'resp',
      command: name,
      detail: (error as Error).message,
      client: session.client,
      connection: session.id,
    }));
  if (error instanceof RespError) return failure(error.code, error.message);
  if (error instanceof Forbidden) return failure('NOPERM', utf8(error.message));
  if (storeFaultIn(error) !== undefined) return failure('UNAVAILABLE', utf8((error as Error).message));
  const message = error instanceof Error ? error.message : String(error);
  // Errors about invalid arguments and unknown limits have messages that are meant for the client.
  const isExpected = error instanceof RangeError || error instanceof UnknownLimit;
  if (!isExpected) log.error('RESP command failed', { listener: 'resp', command: name, error: message });
  return failure('ERR', isExpected ? utf8(message) : 'internal server error');
}
