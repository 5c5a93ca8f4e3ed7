/**
 * Handles POST /v1/take and the routes of the other verbs. The body is one operation, or a list of operations that are answered
 * in order. Also handles /v1/take-many, which charges either all of its items or none.
 */
import type { IncomingMessage } from 'node:http';
import { type Decision, type MaybePromise, SluiceError } from 'sluice';
import { rateLimitHeaders } from 'sluice/http';
import { type Core, type CoreVerbs, type LimitRef, UnknownLimit, type Verdict } from '../../core/core.ts';
import { chain } from '../../core/maybe-promise.ts';
import { PoliciesRefused, REQUEST_POLICIES } from '../../core/request-policies.ts';
import type { Log } from '../../log.ts';
import { audited } from '../audit.ts';
import { checkLimit, Forbidden, type Grant, isAdminVerb } from '../grants.ts';
import { requestIdOf } from '../request-id.ts';
import type { DeniedTake } from '../request-log.ts';
import { storeFaultIn } from '../store-failure.ts';
import type { Asked } from '../../telemetry/traces/tracer.ts';
import { type Operation, readOperation, type Verb } from './operations.ts';
import { HttpProblem, json, JSON_TYPE, type ProblemBody, type Reply } from './reply.ts';

export interface V1Options {
  readonly maxKey: number;
  /** Maximum number of operations in a list. */
  readonly maxBatch: number;
  /** Status of the response to a single denied take. */
  readonly denied: number;
  /** What the client may do. */
  readonly grant: Grant;
  /** The request, which the log identifies by its id. */
  readonly request: Pick<IncomingMessage, 'headers'>;
  readonly log: Log;
}

/**
 * Maximum number of items of /v1/take-many. The store decides on all of them in one step, and other requests wait until that step
 * is complete.
 */
const MAX_ITEMS = 100;

/** Answers a single operation synchronously if the store decides synchronously. */
export function answerV1(core: Core, verb: Verb, body: unknown, options: V1Options): MaybePromise<Reply> {
  if (Array.isArray(body)) return answerList(core, verb, body, options);
  const operation = readOperation(verb, body, options.maxKey);
  return chain(ask(core, verb, operation, options), (decision) =>
    verb === 'take' ? takeReply(operation, decision, options.denied) : otherReply(operation, decision),
  );
}

/** Answers /v1/take-many, which charges either all items or none. */
export function answerMany(core: Core, body: unknown, options: V1Options): MaybePromise<Reply> {
  const { maxKey, denied, grant } = options;
  const { items, ...others } = (typeof body === 'object' && body !== null ? body : {}) as Record<
    string,
    unknown
  >;
  const [unknown] = Object.keys(others);
  if (!Array.isArray(items) || items.length === 0 || unknown !== undefined)
    throw new HttpProblem('bad-request', 'the body must be an object with a non-empty list: {"items": […]}');
  if (items.length > MAX_ITEMS)
    throw new HttpProblem('too-large', `the list must have at most ${MAX_ITEMS} items; got ${items.length}`);
  const operations = checkAll(core, 'item', items, maxKey, grant);
  const many = operations.map(({ limit, key, cost, tier, keep, class: name }) => ({
    limit,
    key,
    cost,
    tier,
    keep,
    class: name,
  }));
  return chain(core.takeMany(many), (decision) => ({
    status: decision.allowed ? 200 : denied,
    type: JSON_TYPE,
    body: JSON.stringify(decision),
    headers: rateLimitHeaders(decision),
    asked: () => ({ count: items.length, outcome: outcomeOf(decision) }),
    denied: decision.allowed ? undefined : () => deniedIn(operations, decision.decisions),
  }));
}

function takeReply({ limit, key }: Operation, decision: Verdict, denied: number): Reply {
  return {
    status: decision.allowed ? 200 : denied,
    type: JSON_TYPE,
    body: JSON.stringify(decision),
    headers: rateLimitHeaders(decision),
    asked: () => ({ limit: nameOf(limit), key, outcome: outcomeOf(decision) }),
    denied: decision.allowed ? undefined : () => [{ limit: nameOf(limit), key }],
  };
}

function otherReply({ limit, key }: Operation, decision: Decision): Reply {
  return { ...json(decision), asked: () => ({ limit: nameOf(limit), key }) };
}

async function answerList(core: Core, verb: Verb, list: unknown[], options: V1Options): Promise<Reply> {
  const { maxKey, maxBatch, grant } = options;
  if (list.length > maxBatch)
    throw new HttpProblem('too-large', `a list must have at most ${maxBatch} operations; got ${list.length}`);
  const operations = checkAll(core, verb, list, maxKey, grant);
  // All operations are sent in one tick, so that a store can batch them.
  const answers = await Promise.all(
    operations.map(async (operation) => {
      try {
        return await ask(core, verb, operation, options);
      } catch (error) {
        return problemOf(error).body;
      }
    }),
  );
  const isDown = answers.length > 0 && answers.every((answer) => 'status' in answer && answer.status === 503);
  if (isDown) throw new HttpProblem('store-unavailable');
  const isDenied = verb === 'take' && answers.some((answer) => answer.allowed === false);
  return {
    ...json(answers),
    asked: () => ({ count: list.length }),
    denied: isDenied ? () => deniedIn(operations, answers) : undefined,
  };
}

/** The operations whose answer is a denial. An answer may also be an error, which has no `allowed`. */
function deniedIn(
  operations: readonly Operation[],
  answers: readonly (Decision | ProblemBody)[],
): DeniedTake[] {
  return operations
    .filter((_, i) => answers[i]?.allowed === false)
    .map(({ limit, key }) => ({ limit: nameOf(limit), key }));
}

function outcomeOf({ allowed, shadowed }: Verdict): Asked['outcome'] {
  return shadowed ? 'shadowed' : allowed ? 'allowed' : 'denied';
}

/** Validates the whole list before anything is charged. One invalid operation rejects the list. */
function checkAll(
  core: Core,
  verb: Verb | 'item',
  list: unknown[],
  maxKey: number,
  grant: Grant,
): Operation[] {
  const errors: unknown[] = [];
  const operations: Operation[] = [];
  for (const [index, item] of list.entries()) {
    try {
      const operation = readOperation(verb, item, maxKey);
      const { limit } = operation;
      checkLimit(grant, nameOf(limit));
      void send(core.dry, verb === 'item' ? 'take' : verb, operation);
      operations.push(operation);
    } catch (error) {
      if (error instanceof Forbidden) throw error;
      errors.push({ index, ...problemOf(error).body });
    }
  }
  if (errors.length > 0)
    throw new HttpProblem('bad-request', `${errors.length} of ${list.length} operations are invalid`, {
      errors,
    });
  return operations;
}

/** The name of a limit in the restrictions of tokens, in spans and in the log. */
function nameOf(limit: LimitRef): string {
  return typeof limit === 'string' ? limit : REQUEST_POLICIES;
}

function ask(
  core: Core,
  verb: Verb,
  operation: Operation,
  { grant, log, request }: V1Options,
): MaybePromise<Verdict> {
  const { limit, key } = operation;
  const name = nameOf(limit);
  // Most operations are takes, which need no audit.
  if (verb === 'take') {
    checkLimit(grant, name);
    return send(core, verb, operation);
  }
  const requestId = isAdminVerb(verb) ? requestIdOf(request) : undefined;
  return audited(log, { listener: 'http', verb, grant, limit: name, key, requestId }, () => {
    checkLimit(grant, name);
    return send(core, verb, operation);
  });
}

function send(
  core: CoreVerbs,
  verb: Verb,
  {
    limit,
    key,
    cost,
    charged,
    used = 0,
    tier,
    mode,
    duration = 0,
    keep,
    class: name,
    at,
    maxDelay,
  }: Operation,
): MaybePromise<Verdict> {
  switch (verb) {
    case 'take':
      return core.take(limit, key, { cost, tier, mode, keep, class: name });
    case 'peek':
      return core.peek(limit, key, { cost, tier, keep, class: name });
    case 'reserve':
      return core.reserve(limit, key, { cost, tier, keep, class: name, maxDelay });
    case 'refund':
      return core.refund(limit, key, { cost, tier, at });
    case 'settle':
      return core.settle(limit, key, { charged, used, tier, at });
    case 'release':
      return core.release(limit, key, { cost, tier, at });
    case 'reset':
      return core.reset(nameOf(limit), key);
    case 'unblock':
      return core.unblock(nameOf(limit), key);
    case 'block':
      return core.block(nameOf(limit), key, duration);
  }
}

/** Turns an error into problem details: an invalid request, a failed store, or an internal error. */
export function problemOf(error: unknown): HttpProblem {
  if (error instanceof HttpProblem) return error;
  if (error instanceof UnknownLimit) return new HttpProblem('unknown-limit', error.message);
  if (error instanceof Forbidden) return new HttpProblem('forbidden', error.message);
  if (error instanceof PoliciesRefused) return refusedPolicies(error);
  const fault = storeFaultIn(error);
  if (fault !== undefined) {
    const unavailable = new HttpProblem('store-unavailable', undefined, { fault }, [['Retry-After', '1']]);
    // Outages are logged when the circuit breaker opens. An error in the store's setup is logged with the request.
    if (error instanceof SluiceError) unavailable.cause = error;
    return unavailable;
  }
  if (error instanceof SluiceError)
    return new HttpProblem('bad-request', error.message, { code: error.code });
  const problem = new HttpProblem('internal-error');
  problem.cause = error;
  return problem;
}

function refusedPolicies({ reason, message }: PoliciesRefused): HttpProblem {
  if (reason === 'off') return new HttpProblem('forbidden', message);
  return reason === 'too-long'
    ? new HttpProblem('bad-request', message)
    : new HttpProblem('unavailable', message, {}, [['Retry-After', '60']]);
}
