/** Writes a log line for each action that overrides a limit. */
import type { MaybePromise } from 'sluice';
import { isPromise } from '../core/maybe-promise.ts';
import type { Log } from '../log.ts';
import { Forbidden, type Grant, isAdminVerb, type TokenVerb } from './grants.ts';

/** Maximum number of characters of a key or limit in a log line, the same as in metrics. */
const MAX_SHOWN = 200;

export interface Action {
  readonly listener: 'http' | 'grpc' | 'resp';
  readonly verb: TokenVerb;
  readonly grant: Grant;
  readonly limit?: string | undefined;
  readonly key?: string | undefined;
  /** Identifies the request. Undefined if the protocol has no ids of requests. */
  readonly requestId?: string | undefined;
}

/** Runs an action, and logs it with its outcome if its verb is an admin verb. */
export function audited<T>(log: Log, action: Action, act: () => MaybePromise<T>): MaybePromise<T> {
  if (!isAdminVerb(action.verb)) return act();
  try {
    const result = act();
    if (isPromise(result))
      return result.then(
        (value) => {
          audit(log, action, 'done');
          return value;
        },
        (error: unknown) => {
          audit(log, action, outcomeOf(error));
          throw error;
        },
      );
    audit(log, action, 'done');
    return result;
  } catch (error) {
    audit(log, action, outcomeOf(error));
    throw error;
  }
}

type Outcome = 'done' | 'forbidden' | 'failed';

function outcomeOf(error: unknown): Outcome {
  if (!(error instanceof Forbidden)) return 'failed';
  error.isAudited = true;
  return 'forbidden';
}

/** Writes the log line of an action. The line contains the token's name, never the token itself. */
export function audit(
  log: Log,
  { listener, verb, grant, limit, key, requestId }: Action,
  outcome: Outcome,
): void {
  log.info('admin action', {
    listener,
    verb,
    by: grant.who,
    limit: limit?.slice(0, MAX_SHOWN),
    key: key?.slice(0, MAX_SHOWN),
    outcome,
    requestId,
  });
}

/**
 * Writes a line if a client was refused because it may not use an admin verb. The line has no limit and no key, because the
 * request's arguments were not read.
 */
export function auditRefusal(
  log: Log,
  listener: Action['listener'],
  error: unknown,
  requestIdOf: () => string | undefined = () => undefined,
): void {
  if (!(error instanceof Forbidden) || error.verb === undefined || !isAdminVerb(error.verb)) return;
  audit(log, { listener, verb: error.verb, grant: error.grant, requestId: requestIdOf() }, outcomeOf(error));
}
