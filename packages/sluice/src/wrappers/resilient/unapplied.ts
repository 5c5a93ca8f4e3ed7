/**
 * Which errors prove that a hit changed nothing. Only then may a release be sent again: after a lost reply it may have
 * been applied already, and a second one would free a place that somebody else holds.
 * docs/decisions/0029-late-answers-and-failed-releases.md has the reasons.
 */
import { type StoreFault, StoreUnavailable } from '../../internal/errors.ts';

/** A store below `resilient` reports these only for hits that it did not send, or that its server refused to run. */
const REFUSALS: ReadonlySet<StoreFault> = new Set([
  'deadline',
  'overloaded',
  'read-only',
  'loading',
  'out-of-memory',
  'no-permission',
]);

/** Replies with which Redis and Valkey refuse a command before it runs. A reply starts with its code. */
const REFUSED =
  /^(?:the store could not decide: )?-?(?:READONLY|LOADING|BUSY|OOM|CLUSTERDOWN|TRYAGAIN|MOVED|ASK|MASTERDOWN|NOPERM|NOAUTH|WRONGPASS|MISCONF|NOREPLICAS) /;

/** No connection was made, so nothing was sent. */
const UNREACHABLE = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

/** How clients word that they are offline and do not queue commands: ioredis and iovalkey, then node-redis. */
const OFFLINE = /isn't (?:writeable|ready) and enableOfflineQueue|^The client is (?:offline|closed)/;

/** Causes are followed this far. */
const DEPTH = 4;

/** Whether it is certain that the hit that failed with this error was not applied. */
export function isUnapplied(error: unknown, depth: number = DEPTH): boolean {
  if (!(error instanceof Error) || depth === 0) return false;
  if (error instanceof StoreUnavailable && REFUSALS.has(error.fault)) return true;
  const { code, syscall } = error as { code?: unknown; syscall?: unknown };
  if (UNREACHABLE.has(String(code)) || (code === 'ENOENT' && syscall === 'connect')) return true;
  if (REFUSED.test(error.message) || /connect ECONNREFUSED/.test(error.message) || isOffline(error))
    return true;
  if (error instanceof AggregateError && error.errors.length > 0)
    return error.errors.every((one) => isUnapplied(one, depth - 1));
  return isUnapplied(error.cause, depth - 1);
}

/** Whether a client did not send the hit because it has no connection, or none yet. */
export function isOffline(error: unknown): boolean {
  return error instanceof Error && OFFLINE.test(error.message);
}
