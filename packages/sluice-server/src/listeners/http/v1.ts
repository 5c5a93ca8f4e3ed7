/** Handles POST /v1/take, peek, refund, settle, block and reset, for one operation or a list that is answered in order. */
import { type Decision, type MaybePromise, SluiceError } from 'sluice';
import { rateLimitHeaders } from 'sluice/http';
import { type Core, UnknownLimit, type Verdict } from '../../core/core.ts';
import { chain } from '../../core/maybe-promise.ts';
import { storeFaultIn } from '../store-failure.ts';
import type { Asked } from '../../telemetry/traces/tracer.ts';
import { type Operation, readOperation, type Verb } from './operations.ts';
import { HttpProblem, json, JSON_TYPE, type Reply } from './reply.ts';

export interface V1Options {
  readonly maxKey: number;
  /** Maximum number of operations in a list. */
  readonly maxBatch: number;
  /** Status of the response to a single denied take. */
  readonly denied: number;
}

/** Answers a single operation synchronously if the store decides synchronously. */
export function answerV1(core: Core, verb: Verb, body: unknown, options: V1Options): MaybePromise<Reply> {
  if (Array.isArray(body)) return answerList(core, verb, body, options);
  const operation = readOperation(verb, body, options.maxKey);
  return chain(ask(core, verb, operation), (decision) =>
    verb === 'take' ? takeReply(operation, decision, options.denied) : otherReply(operation, decision),
  );
}

function takeReply({ limit, key }: Operation, decision: Verdict, denied: number): Reply {
  return {
    status: decision.allowed ? 200 : denied,
    type: JSON_TYPE,
    body: JSON.stringify(decision),
    headers: rateLimitHeaders(decision),
    asked: () => ({ limit, key, outcome: outcomeOf(decision) }),
  };
}

function otherReply({ limit, key }: Operation, decision: Decision): Reply {
  return { ...json(decision), asked: () => ({ limit, key }) };
}

async function answerList(core: Core, verb: Verb, list: unknown[], options: V1Options): Promise<Reply> {
  const { maxKey, maxBatch } = options;
  if (list.length > maxBatch)
    throw new HttpProblem('too-large', `a list must have at most ${maxBatch} operations; got ${list.length}`);
  const operations = checkAll(core, verb, list, maxKey);
  // All operations are sent in one tick, so that a store can batch them.
  const answers = await Promise.all(
    operations.map(async (operation) => {
      try {
        return await ask(core, verb, operation);
      } catch (error) {
        return problemOf(error).body;
      }
    }),
  );
  const isDown = answers.length > 0 && answers.every((answer) => 'status' in answer && answer.status === 503);
  if (isDown) throw new HttpProblem('store-unavailable');
  return { ...json(answers), asked: () => ({ count: list.length }) };
}

function outcomeOf({ allowed, shadowed }: Verdict): Asked['outcome'] {
  return shadowed ? 'shadowed' : allowed ? 'allowed' : 'denied';
}

/** Validates the whole list before anything is charged. One invalid operation rejects the list. */
function checkAll(core: Core, verb: Verb, list: unknown[], maxKey: number): Operation[] {
  const errors: unknown[] = [];
  const operations: Operation[] = [];
  for (const [index, item] of list.entries()) {
    try {
      const operation = readOperation(verb, item, maxKey);
      if (!core.config.limits.has(operation.limit)) throw new UnknownLimit(operation.limit);
      operations.push(operation);
    } catch (error) {
      errors.push({ index, ...problemOf(error).body });
    }
  }
  if (errors.length > 0)
    throw new HttpProblem('bad-request', `${errors.length} of ${list.length} operations are invalid`, {
      errors,
    });
  return operations;
}

function ask(
  core: Core,
  verb: Verb,
  { limit, key, cost, charged, used = 0, tier, mode, duration = 0, keep, class: name, at }: Operation,
): MaybePromise<Verdict> {
  switch (verb) {
    case 'take':
      return core.take(limit, key, { cost, tier, mode, keep, class: name });
    case 'peek':
      return core.peek(limit, key, { cost, tier, keep, class: name });
    case 'refund':
      return core.refund(limit, key, { cost, tier, at });
    case 'settle':
      return core.settle(limit, key, { charged, used, tier, at });
    case 'reset':
      return core.reset(limit, key);
    case 'block':
      return core.block(limit, key, duration);
  }
}

/** Turns an error into problem details: an invalid request, a failed store, or an internal error. */
export function problemOf(error: unknown): HttpProblem {
  if (error instanceof HttpProblem) return error;
  if (error instanceof UnknownLimit) return new HttpProblem('unknown-limit', error.message);
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
