/** Validates requests of `remote`. A server must not trust them, because any client can write them. */
import type { Cost, Hit, Verb } from '../../engine/contract.ts';
import { SluiceError } from '../../internal/errors.ts';
import { INHERIT } from '../../policy/inherit.ts';
import type { HitOf } from '../wire/decider.ts';
import type { Ask, HitLine } from '../wire/wire.ts';

/** Maximum number of hits in a request, which is also the maximum number of plans. */
const MAX_HITS = 1000;
/** Maximum length of the text of a plan, in UTF-16 code units. */
const MAX_PLAN = 16_384;
/** Maximum number of policies in a plan, and of costs in a hit. */
const MAX_POLICIES = 64;
/** Maximum length of names and of params that are text. */
const MAX_NAME = 512;
/** The maximum cost, the same as in the library. */
const MAX_COST = 2 ** 53;

const VERBS: ReadonlySet<unknown> = new Set<Verb>([
  'take',
  'peek',
  'refund',
  'settle',
  'release',
  'renew',
  'reserve',
  'block',
  'reset',
]);
const MODES: ReadonlySet<unknown> = new Set<HitLine[4]>(['whole', 'partial', 'always', 'lease']);

/** Returns the plans and hits in a request body. Throws if the body is not a valid request. */
export function askFrom(body: unknown): Ask {
  if (!Array.isArray(body) || body.length < 2)
    throw invalid('body', body, 'must be a list of plans and hits');
  const [plans, hits, , , , isAll] = body as unknown[];
  if (!Array.isArray(plans) || plans.length > MAX_HITS || !plans.every((plan) => typeof plan === 'string'))
    throw invalid('plans', plans, `must be a list of at most ${MAX_HITS} texts`);
  if (!Array.isArray(hits) || hits.length > MAX_HITS)
    throw invalid('hits', hits, `must be a list of at most ${MAX_HITS} hits`);
  for (const [i, hit] of hits.entries())
    if (!isHitLine(hit, plans.length)) throw invalid(`hits[${i}]`, hit, 'must be a hit');
  return [plans, hits as HitLine[], '', 0, false, isAll === true];
}

function isHitLine(line: unknown, plans: number): boolean {
  if (!Array.isArray(line)) return false;
  const [plan, verb, key, cost, mode, span, at = false, isGiven = false, keep] = line as unknown[];
  return (
    isIndex(plan, plans) &&
    VERBS.has(verb) &&
    typeof key === 'string' &&
    isCost(cost, verb === 'settle') &&
    MODES.has(mode) &&
    (span === null || isAmount(span)) &&
    (at === false || isAmount(at)) &&
    typeof isGiven === 'boolean' &&
    (keep === undefined || (Array.isArray(keep) && isCost(keep, false)))
  );
}

function isIndex(value: unknown, length: number): boolean {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) < length;
}

function isAmount(value: unknown): boolean {
  return typeof value === 'number' && value >= 0;
}

function isCost(value: unknown, mayBeNegative: boolean): value is Cost {
  if (Array.isArray(value))
    return (
      value.length <= MAX_POLICIES &&
      value.every((part) => !Array.isArray(part) && isCost(part, mayBeNegative))
    );
  return typeof value === 'number' && value <= MAX_COST && value >= (mayBeNegative ? -MAX_COST : 0);
}

/** Throws unless the text is a valid plan. Does not check the names of its algorithms. */
export function checkPlanText(text: string): void {
  if (text.length > MAX_PLAN) throw invalid('policies', text, `must have at most ${MAX_PLAN} characters`);
  let plan: unknown;
  try {
    plan = JSON.parse(text);
  } catch {
    plan = undefined;
  }
  const [name, lines, inherit] = Array.isArray(plan) ? (plan as unknown[]) : [];
  const isPlan =
    isName(name) &&
    Array.isArray(lines) &&
    lines.length <= MAX_POLICIES &&
    lines.every((line) => isPolicyLine(line, lines.length)) &&
    (inherit === false || (INHERIT as readonly unknown[]).includes(inherit));
  if (!isPlan) throw new SluiceError('ERR_POLICY', 'policies', text);
}

function isPolicyLine(line: unknown, policies: number): boolean {
  if (!Array.isArray(line)) return false;
  const [name, algorithm, params, limit, window, index] = line as unknown[];
  return (
    isName(name) &&
    isName(algorithm) &&
    typeof params === 'object' &&
    params !== null &&
    !Array.isArray(params) &&
    Object.values(params).every(isParam) &&
    (limit === null || isAmount(limit)) &&
    (window === null || isAmount(window)) &&
    (index === -1 || isIndex(index, policies))
  );
}

/** A param may be null, because Infinity is sent as null. */
function isParam(value: unknown): boolean {
  return value === null || typeof value === 'number' || typeof value === 'boolean' || isName(value);
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value.length <= MAX_NAME;
}

/** Throws if the hit has a list of costs whose length differs from the number of its plan's policies. */
export function checkForPlan({ plan, cost, keep }: Hit): void {
  for (const list of [cost, keep])
    if (typeof list === 'object' && list.length !== plan.policies.length)
      throw invalid('cost', list, 'must have a number for each policy');
}

/** Throws unless the hits are takes or peeks of different rows, because a store can decide only such hits in one step. */
export function checkGroup([plans, lines]: Ask, hitOf: HitOf): void {
  const rows = new Set<string>();
  for (const line of lines) {
    const { verb, mode, plan, key } = hitOf(line, plans);
    rows.add(`${plan.name}\0${plan.signature}\0${key}`);
    if ((verb !== 'take' && verb !== 'peek') || mode !== 'whole')
      throw invalid('hits', verb, 'must be takes in mode whole to be decided in one step');
  }
  if (rows.size < lines.length)
    throw invalid('hits', lines, 'must have different keys to be decided in one step');
}

function invalid(what: string, value: unknown, words: string): SluiceError {
  return new SluiceError('ERR_OPTIONS', what, value, '', words);
}
