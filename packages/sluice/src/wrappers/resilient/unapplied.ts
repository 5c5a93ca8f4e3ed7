/**
 * Recognizes errors that prove that the store did not apply a hit. Only after such an error may a release be sent again. After a
 * lost reply, the store may have applied the release, and a second release would free a place of another holder.
 * docs/decisions/0029-late-answers-and-failed-releases.md has the reasons.
 */
import { type StoreFault, StoreUnavailable } from '../../internal/errors.ts';

/** Faults that stores report only for hits that they did not send or that their server refused to run. */
const REFUSALS: ReadonlySet<StoreFault> = new Set([
  'deadline',
  'overloaded',
  'read-only',
  'loading',
  'out-of-memory',
  'no-permission',
]);

/** Replies by which Redis and Valkey refuse a command before running it. A reply starts with its code. */
const REFUSED =
  /^(?:the store could not decide: )?-?(?:READONLY|LOADING|BUSY|OOM|CLUSTERDOWN|TRYAGAIN|MOVED|ASK|MASTERDOWN|NOPERM|NOAUTH|WRONGPASS|MISCONF|NOREPLICAS) /;

/** Error codes of connection attempts that failed, so that nothing was sent. */
const UNREACHABLE = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

/** Messages of clients that are offline and do not queue commands: ioredis and iovalkey, then node-redis. */
const OFFLINE = /isn't (?:writeable|ready) and enableOfflineQueue|^The client is (?:offline|closed)/;

/** Maximum number of nested causes to examine. */
const MAX_DEPTH = 4;

/** Whether it is certain that the store did not apply the hit that failed with this error. */
export function isUnapplied(error: unknown, depth: number = MAX_DEPTH): boolean {
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

/** Whether the client did not send the hit because the client is not connected. */
export function isOffline(error: unknown): boolean {
  return error instanceof Error && OFFLINE.test(error.message);
}
