/** POST /v1/take and its siblings: one question, or a list of them that is answered in order. */
import { type Decision, type MaybePromise, SluiceError } from 'sluice';
import { rateLimitHeaders } from 'sluice/http';
import { type Core, UnknownLimit, type Verdict } from '../../core/core.ts';
import { storeFaultIn } from '../store-failure.ts';
import type { Asked } from '../../telemetry/traces/tracer.ts';
import { type Operation, readOperation, type Verb } from './operations.ts';
import { HttpProblem, json, type Reply } from './reply.ts';

export interface V1Options {
  readonly maxKey: number;
  /** Questions in a list. */
  readonly maxBatch: number;
  /** The status of a denied take that stands alone: 200, or what the caller asked for. */
  readonly denied: number;
}

export async function answerV1(core: Core, verb: Verb, body: unknown, options: V1Options): Promise<Reply> {
  if (Array.isArray(body)) return answerList(core, verb, body, options);
  const question = readOperation(verb, body, options.maxKey);
  const decision = await ask(core, verb, question).catch((error: unknown) => {
    throw problemOf(error);
  });
  const { limit, key } = question;
  if (verb !== 'take') return { ...json(decision), asked: () => ({ limit, key }) };
  const status = decision.allowed ? 200 : options.denied;
  return {
    ...json(decision, status, rateLimitHeaders(decision)),
    asked: () => ({ limit, key, outcome: outcomeOf(decision) }),
  };
}

async function answerList(core: Core, verb: Verb, list: unknown[], options: V1Options): Promise<Reply> {
  const { maxKey, maxBatch } = options;
  if (list.length > maxBatch)
    throw new HttpProblem('too-large', `a list may hold ${maxBatch} questions; got ${list.length}`);
  const questions = checkAll(core, verb, list, maxKey);
  // They leave in one tick, so a store that can will answer them together.
  const answers = await Promise.all(
    questions.map((question) => ask(core, verb, question).catch((error: unknown) => problemOf(error).body)),
  );
  const isDown = answers.length > 0 && answers.every((answer) => 'status' in answer && answer.status === 503);
  if (isDown) throw new HttpProblem('store-unavailable');
  return { ...json(answers), asked: () => ({ count: list.length }) };
}

function outcomeOf({ allowed, shadowed }: Verdict): Asked['outcome'] {
  return shadowed ? 'shadowed' : allowed ? 'allowed' : 'denied';
}

/** One bad question refuses the list before anything is charged. */
function checkAll(core: Core, verb: Verb, list: unknown[], maxKey: number): Operation[] {
  const errors: unknown[] = [];
  const questions: Operation[] = [];
  for (const [index, item] of list.entries()) {
    try {
      const question = readOperation(verb, item, maxKey);
      if (!core.config.limits.has(question.limit)) throw new UnknownLimit(question.limit);
      questions.push(question);
    } catch (error) {
      errors.push({ index, ...problemOf(error).body });
    }
  }
  if (errors.length > 0)
    throw new HttpProblem('bad-request', `${errors.length} of ${list.length} questions are wrong`, {
      errors,
    });
  return questions;
}

async function ask(core: Core, verb: Verb, question: Operation): Promise<Verdict> {
  return answer(core, verb, question);
}

function answer(
  core: Core,
  verb: Verb,
  { limit, key, cost, tier, mode, duration = 0 }: Operation,
): MaybePromise<Decision> {
  switch (verb) {
    case 'take':
      return core.take(limit, key, { cost, tier, mode });
    case 'peek':
      return core.peek(limit, key, { cost, tier });
    case 'refund':
      return core.refund(limit, key, { cost, tier });
    case 'reset':
      return core.reset(limit, key);
    case 'block':
      return core.block(limit, key, duration);
  }
}

/** Whose mistake it was: the caller's, the store's, or ours. */
export function problemOf(error: unknown): HttpProblem {
  if (error instanceof HttpProblem) return error;
  if (error instanceof UnknownLimit) return new HttpProblem('unknown-limit', error.message);
  const fault = storeFaultIn(error);
  if (fault !== undefined) {
    const unavailable = new HttpProblem('store-unavailable', undefined, { fault }, [['Retry-After', '1']]);
    // The breaker's events report an outage; a mistake in the setup is reported here.
    if (error instanceof SluiceError) unavailable.cause = error;
    return unavailable;
  }
  if (error instanceof SluiceError)
    return new HttpProblem('bad-request', error.message, { code: error.code });
  const problem = new HttpProblem('internal-error');
  problem.cause = error;
  return problem;
}
