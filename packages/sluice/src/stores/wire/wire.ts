/**
 * Encodes hits and decisions as lines of JSON. A line holds all hits of a tick, and its answer holds their decisions in the same
 * order. JSON has no Infinity, so Infinity is sent as null.
 *
 *   ask      [ [plan …], [hit …], client, number of the line, whether it was sent before, and true if all hits must be decided in
 *            one step ]
 *   hit      [index of the plan, verb, key, cost or costs, mode or 'lease', span; then optionally: the `at` of the decision that
 *            the hit refers to, or false; whether a caller passed that instant itself; and the units to keep free]
 *   plan     text: [name, [ [name of the policy, name of the algorithm, params, limit, window, index or −1] … ], inherit or false]
 *            with an entry for each policy that has cells in the row, in order; −1: the plan does not use this policy
 *   answer   [ [allowed, taken, limit, remaining, retryAfter, resetAfter, policy, source, at or false, held or `expiresAfter`, then per policy:
 *              remaining, retryAfter, resetAfter and, unless the client's plan implies it for every policy, refill or '' and,
 *              unless every policy was charged the same, taken]
 *              or the text of an error … ]
 *            or [] if the hits could not be decided in one step
 */
import type { AlgorithmsByName } from '../../algorithms/by-name.ts';
import type { Cost, Decision, Hit, Mode, Params, Plan, Refill, Verb } from '../../engine/contract.ts';
import { heldDecision, makeDecision, policyState } from '../../engine/decision.ts';
import { SluiceError } from '../../internal/errors.ts';
import { type Inherit, inheriting } from '../../policy/inherit.ts';
import { type Place, planInRow, signatureOf } from '../../policy/layout.ts';

export type HitLine = readonly [
  plan: number,
  verb: Verb,
  key: string,
  cost: Cost,
  mode: Mode | 'lease',
  span: number | null,
  at?: number | false,
  isGiven?: boolean,
  keep?: readonly number[],
];
/** A line of hits. `number` counts a client's lines from 1. A line that is sent again keeps its number. */
export type Ask = readonly [
  plans: readonly string[],
  hits: readonly HitLine[],
  client: string,
  number: number,
  isAgain: boolean,
  isAll?: boolean,
];

const toWire = (_: string, value: unknown): unknown => (value === Infinity ? null : value);
const fromWire = (_: string, value: unknown): unknown => (value === null ? Infinity : value);

/**
 * The text of a plan, which is the same in every process. `known` says which algorithms the serving process knows, for the message
 * about another algorithm.
 */
export function planText(
  { name, signature, policies, slots, inherit }: Plan,
  algorithms: AlgorithmsByName,
  known = 'that are in ipc.algorithms',
): string {
  const lines = slots.map((slot) => {
    // Slots and policies are matched by offset, because a derived plan has the same policies with different numbers.
    const index = policies.findIndex(({ offset }) => offset === slot.offset);
    const { name: policy, algorithm, params, limit, window } = index < 0 ? slot : policies[index];
    if (!algorithms.has(algorithm.name))
      throw new SluiceError('ERR_POLICY', 'policies', algorithm.name, '', `must use algorithms ${known}`);
    return [policy, algorithm.name, params, limit, window, index];
  });
  const keeps = inherit?.keeps ?? (signature === signatureOf(slots) ? false : 'reset');
  return JSON.stringify([name, lines, keeps], toWire);
}

/** Parses the text of a plan in the serving process. `known` is the same as for `planText`. */
export function planFrom(
  text: string,
  algorithms: AlgorithmsByName,
  known = 'that are in ipc.algorithms of the serving process',
): Plan {
  const [name, lines, inherit] = JSON.parse(text, fromWire) as [
    string,
    [string, string, Params, number, number, number][],
    Inherit | false,
  ];
  let asked = 0;
  const places = lines.map(([policy, algorithmName, params, limit, window, index]): Place => {
    const algorithm = algorithms.get(algorithmName);
    if (algorithm === undefined)
      throw new SluiceError('ERR_POLICY', 'policies', algorithmName, '', `must use algorithms ${known}`);
    if (index >= 0) asked++;
    return { policy: { algorithm, params, limit, window, name: policy }, index };
  });
  const plan = planInRow(name, places);
  // Each index must appear once, starting at 0.
  if (asked === 0 || plan.policies.length !== asked || plan.policies.includes(undefined as never))
    throw new SluiceError('ERR_POLICY', 'policies', text);
  return inherit === false ? plan : inheriting(plan, inherit);
}

export function askOf(
  hits: readonly { readonly hit: Hit; readonly plan: string }[],
  client: string,
  number: number,
  isAgain = false,
  isAll = false,
): Ask {
  const plans = new Map<string, number>();
  const lines = hits.map(({ hit: { verb, key, cost, mode, span, of, keep, isLease }, plan }): HitLine => {
    if (!plans.has(plan)) plans.set(plan, plans.size);
    const line = [plans.get(plan) as number, verb, key, cost, isLease ? 'lease' : mode, span] as const;
    // A hit of a lease needs `at` only if it is the end of the outer lease.
    const at = (isLease && of?.source !== 'lease' ? undefined : of?.at) ?? false;
    if (keep !== undefined) return [...line, at, of?.isGiven === true, keep];
    if (of?.isGiven === true) return [...line, at, true];
    return at === false ? line : [...line, at];
  });
  const ask = [[...plans.keys()], lines, client, number, isAgain] as const;
  return isAll ? [...ask, true] : ask;
}

export function hitFrom(
  [, verb, key, cost, mode, span, at = false, isGiven, keep]: HitLine,
  plan: Plan,
): Hit {
  const source = mode === 'lease' ? ('lease' as const) : ('store' as const);
  const of = at === false ? undefined : { source, at, ...(isGiven && { isGiven }) };
  const hit = { plan, verb, key, cost, span: span ?? Infinity, of, keep };
  return mode === 'lease'
    ? { ...hit, mode: verb === 'take' ? 'partial' : 'whole', isLease: true }
    : { ...hit, mode };
}

type DecisionLine = (number | string | boolean | null)[];

export function answerLine(answers: readonly (Decision | { error: string })[]): string {
  const lines = answers.map((answer): DecisionLine | string => {
    if ('error' in answer) return answer.error;
    const { allowed, taken, limit, remaining, retryAfter, resetAfter, policy, source, policies } = answer;
    const { at = false, held = false, expiresAfter = held } = answer;
    const line: DecisionLine = [
      allowed,
      taken,
      limit,
      remaining,
      retryAfter,
      resetAfter,
      policy,
      source,
      at,
      expiresAfter,
    ];
    const isEqual = policies.every((state) => state.taken === taken);
    const isKnown =
      isEqual && source === 'store' && policies.every(({ refill }) => typeof refill === 'string');
    for (const { remaining, retryAfter, resetAfter, refill = '', taken: part } of policies) {
      line.push(remaining, retryAfter, resetAfter);
      if (!isKnown) line.push(refill);
      if (!isEqual) line.push(part);
    }
    return line;
  });
  return `${JSON.stringify(lines)}\n`;
}

/** The answers in a line, one for each hit. Throws if the line is not a list of answers. */
export function answersIn(line: string): readonly unknown[] {
  const answers: unknown = JSON.parse(line);
  if (!Array.isArray(answers)) throw new TypeError('not a list of answers');
  return answers;
}

/** Whether an answer is a decision on this hit. An answer that is a string is an error message. */
export function isDecisionLine(answer: unknown, { plan }: Hit): answer is DecisionLine {
  if (!Array.isArray(answer)) return false;
  const members = membersOf(answer, plan);
  if (members !== 3 && members !== 4 && members !== 5) return false;
  return answer.every((value: unknown, i) => {
    if (i === 0) return typeof value === 'boolean';
    if (i === 9) return typeof value === 'boolean' || typeof value === 'number';
    if (i === 6 || i === 7) return typeof value === 'string';
    if (i === 8) return value === false || typeof value === 'number';
    if (i >= STATES && (i - STATES) % members === 3 && REFILLS.has(value)) return true;
    return value === null || typeof value === 'number';
  });
}

/** The index at which the members of the policies begin. */
const STATES = 10;
/**
 * The number of members per policy. It is 3, or 4 if the refill is included, or 5 if the amount that the policy was charged is also
 * included.
 */
function membersOf(line: DecisionLine, { policies }: Plan): number {
  return (line.length - STATES) / policies.length;
}
/** The values of a policy's refill that are not numbers. '' means that the refill is missing. */
const REFILLS: ReadonlySet<unknown> = new Set(['even', 'whole', '']);

export function decisionFrom(line: DecisionLine, { plan }: Hit): Decision {
  const number = (i: number): number => (line[i] ?? Infinity) as number;
  const members = membersOf(line, plan);
  const at = line[8] === false ? undefined : (line[8] as number);
  const taken = number(1);
  const numbers = {
    name: line[6] as string,
    limit: number(2),
    remaining: number(3),
    retryAfter: number(4),
    resetAfter: number(5),
  };
  const states = plan.policies.map((policy, i) => {
    const from = STATES + members * i;
    const refill = members === 3 ? policy.refill : refillFrom(line[from + 3]);
    const part = members === 5 ? number(from + 4) : taken;
    return policyState(policy, number(from), number(from + 1), number(from + 2), refill, part);
  });
  const source = line[7] as Decision['source'];
  const decision = makeDecision(numbers, states, line[0] as boolean, taken, source, at);
  if (typeof line[9] === 'number') return { ...decision, expiresAfter: line[9] };
  return line[9] === true ? heldDecision(decision, at) : decision;
}

function refillFrom(value: DecisionLine[number]): Refill | undefined {
  return value === '' ? undefined : ((value ?? Infinity) as Refill);
}

/** Assembles complete lines from the pieces of a stream. */
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
