/**
 * Turns the failures of a request into errors. A wrong URL, an old server and a missing permission do not resolve themselves, so
 * they are configuration errors, which callers get regardless of `onFailure`. Everything else is an outage.
 */
import type { Hit } from '../../engine/contract.ts';
import { type ErrorCode, ERRORS, SluiceError, StoreError } from '../../internal/errors.ts';
import { failureOf } from '../wire/pending.ts';
import { answersIn } from '../wire/wire.ts';

/** Problem details of a sluice-server (RFC 9457). */
interface Problem {
  readonly type: string;
  readonly detail?: unknown;
  readonly fault?: unknown;
}

/** Codes of errors that mean that the server's store failed. */
const OUTAGES: ReadonlySet<string> = new Set<ErrorCode>(['ERR_STORE', 'ERR_STORE_UNAVAILABLE', 'ERR_CLOSED']);

/** Returns the answers in a response. Throws if there are none, because a server that is not a sluice-server may send anything. */
export function answersTo(text: string): readonly unknown[] {
  try {
    return answersIn(text);
  } catch {
    throw new StoreError('the answer of the server does not contain decisions. Check the URL of remote()');
  }
}

/** Creates the error for a hit that the server answered with an error message instead of a decision. */
export function errorOf(message: string, hit: Hit): Error {
  const code = /\[(ERR_\w+)\]$/.exec(message)?.[1];
  if (code === undefined || code === 'ERR_INSTANT' || OUTAGES.has(code) || !Object.hasOwn(ERRORS, code))
    return failureOf(message, hit);
  return new SluiceError(code as ErrorCode, 'remote', hit.plan.name, message, 'was refused by the server');
}

/** The error for a response that is not a success. */
export function refusalOf(status: number, text: string, endpoint: string): Error {
  const problem = problemIn(text);
  const said = typeof problem?.detail === 'string' ? problem.detail : undefined;
  if (problem !== undefined && (status === 401 || status === 403))
    return new SluiceError(
      'ERR_PERMISSION',
      'remote.token',
      `status ${status}`,
      said ?? 'pass a server token that is permitted to reset and block keys',
    );
  if (problem !== undefined && status >= 400 && status < 500 && status !== 429)
    return new SluiceError(
      'ERR_OPTIONS',
      'remote.url',
      endpoint,
      said ?? 'update the server, and start it with --remote',
      'must be a sluice-server that decides for remote stores',
    );
  const fault = typeof problem?.fault === 'string' ? `, ${problem.fault}` : '';
  const who = problem === undefined ? `${endpoint}, which is not a sluice-server,` : 'the server';
  return new StoreError(
    `${who} answered with status ${status}${fault}${said === undefined ? '' : `: ${said}`}`,
  );
}

function problemIn(text: string): Problem | undefined {
  try {
    const problem = JSON.parse(text) as Partial<Problem> | null;
    return String(problem?.type).startsWith('urn:sluice:') ? (problem as Problem) : undefined;
  } catch {
    return undefined;
  }
}
