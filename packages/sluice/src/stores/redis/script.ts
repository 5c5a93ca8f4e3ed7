/** The script of a plan: the shell, and just the algorithms in use. */
import { createHash } from 'node:crypto';
import type { Millis, Plan, PlacedPolicy } from '../../contract.ts';
import { ALGORITHMS, SHELL } from './lua.ts';

export interface Script {
  readonly sha: string;
  readonly source: string;
}

/** A plan as its script wants it. */
export interface ScriptPlan extends Script {
  /** Two characters that tell rows of one signature from others'. */
  readonly mark: string;
  /** The policies' numbers. Strings: a client that has to make them costs more. */
  args(now: Millis): readonly string[];
}

const scripts = new Map<string, Script>();

export function scriptPlan(plan: Plan): ScriptPlan {
  const moving = plan.policies.some(({ algorithm }) => algorithm.args !== undefined);
  const fixed = argsOf(plan, 0);
  const counts = plan.policies.map((policy) => numbersOf(policy, 0).length);
  const shape = `${plan.signature} ${counts.join(',')}`;
  const script = scripts.get(shape) ?? assemble(plan.policies, counts);
  scripts.set(shape, script);
  const mark = createHash('sha1').update(plan.signature).digest('hex').slice(0, 2);
  return { ...script, mark, args: moving ? (now) => argsOf(plan, now) : () => fixed };
}

function argsOf(plan: Plan, now: Millis): string[] {
  return plan.policies.flatMap((policy) => numbersOf(policy, now).map(String));
}

function numbersOf({ algorithm, params }: PlacedPolicy, now: Millis): readonly number[] {
  return algorithm.args?.(params, now) ?? Object.values(params).map(Number);
}

function assemble(policies: readonly PlacedPolicy[], counts: readonly number[]): Script {
  const grown = policies.filter(({ grows }) => grows).length;
  let width = 0;
  const starts = policies.map(({ algorithm, params, grows }) => {
    if (grows) return 0;
    width += algorithm.width(params);
    return width - algorithm.width(params) + 1;
  });
  const names = [
    ...new Set(policies.flatMap(({ algorithm: { name } }) => [...(ALGORITHMS[name]?.needs ?? []), name])),
  ];
  const source = [
    SHELL.head,
    `local N, WIDTH, GROWN = ${policies.length}, ${width}, ${grown}`,
    `local HEADER, FORMAT = ${2 + 8 * (1 + width + 5 * grown)}, '<${'d'.repeat(width)}'`,
    `local COUNTS, AT = {${counts.join(',')}}, {${starts.join(',')}}`,
    ...(grown > 0 ? [SHELL.grown] : []),
    ...names.map((name) => ALGORITHMS[name]?.source ?? ''),
    `local ALGORITHMS = {${policies.map(({ algorithm }) => `A['${algorithm.name}']`).join(',')}}`,
    SHELL.tail,
  ].join('\n');
  return { source, sha: createHash('sha1').update(source).digest('hex') };
}
