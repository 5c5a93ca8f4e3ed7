/**
 * Hits and decisions as lines of JSON. A line holds all hits of a tick, its answer their decisions in the same order.
 * JSON has no Infinity: it crosses as null.
 *
 *   ask      [ [plan …], [ [plan's index, verb, key, cost, mode, span] … ] ]
 *   plan     text: [name, [ [policy's name, algorithm's name, params, limit, window] … ], inherit or false]
 *   answer   [ [allowed, taken, limit, remaining, retryAfter, resetAfter, policy, source, then per policy: remaining,
 *              retryAfter, resetAfter and, unless the asker's plan says it of every policy, refill or '']
 *              or an error's text … ]
 */
import type { AlgorithmsByName } from '../../algorithms/by-name.ts';
import type { Decision, Hit, Mode, Params, Plan, Policy, Refill, Verb } from '../../contract.ts';
import { SluiceError } from '../../errors.ts';
import type { Inherit } from '../../inherit.ts';
import { signatureOf } from '../../placement.ts';
import { planOf } from '../../plan.ts';

type HitLine = [plan: number, verb: Verb, key: string, cost: number, mode: Mode, span: number | null];
export type Ask = readonly [plans: readonly string[], hits: readonly HitLine[]];

const toWire = (_: string, value: unknown): unknown => (value === Infinity ? null : value);
const fromWire = (_: string, value: unknown): unknown => (value === null ? Infinity : value);

/** A plan's text, the same in every process. */
export function planText({ name, signature, policies, inherit }: Plan, algorithms: AlgorithmsByName): string {
  return JSON.stringify(
    [
      name,
      policies.map(({ name: policy, algorithm, params, limit, window }) => {
        if (!algorithms.has(algorithm.name))
          throw new SluiceError('ERR_POLICY', 'policies', algorithm.name, 'not in ipc.algorithms');
        return [policy, algorithm.name, params, limit, window];
      }),
      inherit?.keeps ?? (signature === signatureOf(policies) ? false : 'reset'),
    ],
    toWire,
  );
}

/** The plan as the serving process uses it. */
export function planFrom(text: string, algorithms: AlgorithmsByName): Plan {
  const [name, lines, inherit] = JSON.parse(text, fromWire) as [
    string,
    [string, string, Params, number, number][],
    Inherit | false,
  ];
  // One may be called __proto__.
  const policies = Object.create(null) as Record<string, Policy>;
  for (const [policy, algorithmName, params, limit, window] of lines) {
    const algorithm = algorithms.get(algorithmName);
    if (algorithm === undefined)
      throw new SluiceError('ERR_POLICY', 'policies', algorithmName, 'not in ipc.algorithms of who serves');
    policies[policy] = { algorithm, params, limit, window };
  }
  return planOf(policies, name, inherit || undefined);
}

export function askLine(hits: readonly { readonly hit: Hit; readonly plan: string }[]): string {
  const plans = new Map<string, number>();
  const lines = hits.map(({ hit: { verb, key, cost, mode, span }, plan }): HitLine => {
    if (!plans.has(plan)) plans.set(plan, plans.size);
    return [plans.get(plan) as number, verb, key, cost, mode, span];
  });
  return `${JSON.stringify([[...plans.keys()], lines])}\n`;
}

export function hitFrom([, verb, key, cost, mode, span]: HitLine, plan: Plan): Hit {
  return { plan, verb, key, cost, mode, span: span ?? Infinity };
}

type DecisionLine = (number | string | boolean | null)[];

export function answerLine(answers: readonly (Decision | { error: string })[]): string {
  const lines = answers.map((answer): DecisionLine | string => {
    if ('error' in answer) return answer.error;
    const { allowed, taken, limit, remaining, retryAfter, resetAfter, policy, source, policies } = answer;
    const line: DecisionLine = [allowed, taken, limit, remaining, retryAfter, resetAfter, policy, source];
    const isKnown = source === 'store' && policies.every(({ refill }) => typeof refill === 'string');
    for (const { remaining, retryAfter, resetAfter, refill = '' } of policies) {
      line.push(remaining, retryAfter, resetAfter);
      if (!isKnown) line.push(refill);
    }
    return line;
  });
  return `${JSON.stringify(lines)}\n`;
}

/** What a line answers, one thing for each hit. Throws if it is no answer at all. */
export function answersIn(line: string): readonly unknown[] {
  const answers: unknown = JSON.parse(line);
  if (!Array.isArray(answers)) throw new TypeError('no list of answers');
  return answers;
}

/** Whether an answer is a decision on this hit. As text it is an error's. */
export function isDecisionLine(answer: unknown, { plan }: Hit): answer is DecisionLine {
  if (!Array.isArray(answer)) return false;
  const members = membersOf(answer, plan);
  if (members !== 3 && members !== 4) return false;
  return answer.every((value: unknown, i) => {
    if (i === 0) return typeof value === 'boolean';
    if (i === 6 || i === 7) return typeof value === 'string';
    if (i >= STATES && (i - STATES) % members === 3 && REFILLS.has(value)) return true;
    return value === null || typeof value === 'number';
  });
}

/** Where the policies' own members begin. */
const STATES = 8;
/** How many each policy has: 3, or 4 with its refill. */
function membersOf(line: DecisionLine, { policies }: Plan): number {
  return (line.length - STATES) / policies.length;
}
/** What a policy's refill may be, beside a number; '' if it is missing. */
const REFILLS: ReadonlySet<unknown> = new Set(['even', 'whole', '']);

export function decisionFrom(line: DecisionLine, { plan }: Hit): Decision {
  const number = (i: number): number => (line[i] ?? Infinity) as number;
  const members = membersOf(line, plan);
  return {
    allowed: line[0] as boolean,
    taken: number(1),
    limit: number(2),
    remaining: number(3),
    retryAfter: number(4),
    resetAfter: number(5),
    policy: line[6] as string,
    source: line[7] as Decision['source'],
    policies: plan.policies.map(({ name, limit, window, refill }, i) => ({
      name,
      limit,
      window,
      remaining: number(STATES + members * i),
      retryAfter: number(STATES + 1 + members * i),
      resetAfter: number(STATES + 2 + members * i),
      refill: members === 3 ? refill : refillFrom(line[STATES + 3 + members * i]),
    })),
  };
}

function refillFrom(value: DecisionLine[number]): Refill | undefined {
  return value === '' ? undefined : ((value ?? Infinity) as Refill);
}

/** Whole lines out of a stream's pieces. */
export function lineReader(onLine: (line: string) => void): (piece: string) => void {
  let pieces: string[] = [];
  return (piece) => {
    let from = 0;
    for (let end = piece.indexOf('\n'); end >= 0; end = piece.indexOf('\n', from)) {
      pieces.push(piece.slice(from, end));
      const line = pieces.join('');
      pieces = [];
      from = end + 1;
      onLine(line);
    }
    if (from < piece.length) pieces.push(piece.slice(from));
  };
}
