/**
 * Creates the script of a plan. Its full path consists of the Lua files as they are, and a description of the plan. Its lean path
 * has the policies' code inlined, with params and cells as locals (see lua/lean.lua).
 */
import { createHash } from 'node:crypto';
import type { Millis, Plan } from '../../engine/contract.ts';
import { inserted, leanPath } from './lean-path.ts';
import { SHELL } from './lua.ts';
import { argsOf, codeOf, type Layout, layoutOf, type Slot } from './script-layout.ts';

export interface Script {
  readonly sha: string;
  readonly source: string;
}

/** A plan as its script needs it. */
export interface ScriptPlan extends Script {
  /** Three characters that distinguish rows of one signature from those of others. */
  readonly mark: string;
  /** The policies' numbers. They are strings, because clients take longer to convert them. */
  args(now: Millis): readonly string[];
}

const scripts = new Map<string, Script>();

export function scriptPlan(plan: Plan): ScriptPlan {
  const moving = plan.policies.some(({ algorithm }) => algorithm.redis !== undefined);
  const fixed = argsOf(plan, 0);
  const known = plan.policies.map(({ refill }) => (refill === undefined ? 0 : 1));
  const places = plan.policies.map(({ offset }) => offset);
  const shape = `${plan.signature} ${places.join(',')} ${known.join(',')}`;
  const script = scripts.get(shape) ?? assemble(plan);
  scripts.set(shape, script);
  const mark = createHash('sha1').update(plan.signature).digest('base64url').slice(0, 3);
  return { ...script, mark, args: moving ? (now) => argsOf(plan, now) : () => fixed };
}

function assemble(plan: Plan): Script {
  const layout = layoutOf(plan);
  const { setup, word, lean } = leanPath(layout);
  const source = inserted(SHELL.main, {
    setup: [fullPath(layout), `local FIRST_WORD = ${layout.lastNumber}`, setup].join('\n'),
    word,
    lean,
  });
  return { source, sha: createHash('sha1').update(source).digest('hex') };
}

/**
 * The full path as a Lua function. It uses no local variables of the script, because each of them would cost time at every call.
 */
function fullPath(layout: Layout): string {
  const names = layout.asked.map(({ policy }) => policy.algorithm.name);
  const needed = new Set(names.flatMap((name) => [...codeOf(name).includes, name]));
  return [
    'local function full_path(mark, clock, now, keep)',
    SHELL.arithmetic,
    SHELL.state,
    SHELL[layout.isVariable ? 'variable-rows' : 'fixed-rows'],
    ...[...needed].map((name) => `local ${nameInLua(name)} = (function()\n${codeOf(name).module}\nend)()`),
    descriptionOf(layout),
    layout.inherit === undefined ? '' : SHELL.inherit,
    SHELL.decide,
    'end',
  ].join('\n');
}

function nameInLua(algorithm: string): string {
  return algorithm.replaceAll('-', '_');
}

/** The description of the plan for the full path, which assigns the variables at the beginning of lua/state.lua. */
function descriptionOf(layout: Layout): string {
  const { slots, asked, inherit } = layout;
  const numbers = slots.reduce((sum, { cells, signature }) => sum + cells.length + signature.length, 1);
  const selected = (countsDenials: boolean): string => {
    const places = asked.flatMap(({ policy }, i) =>
      (policy.algorithm.countsDenials ?? false) === countsDenials ? [`policies[${i + 1}]`] : [],
    );
    return places.length === asked.length ? 'policies' : `{ ${places.join(', ')} }`;
  };
  return [
    `policies = { ${asked.map((slot) => described(slot, layout)).join(',\n')} }`,
    `slots = { ${slots
      .map((slot) =>
        slot.code === undefined ? described(slot, layout) : `policies[${asked.indexOf(slot) + 1}]`,
      )
      .join(', ')} }`,
    `charged, struck = ${selected(false)}, ${selected(true)}`,
    `NUMBERS, FORMAT = ${numbers}, ${quoted(`<${'d'.repeat(numbers)}`)}`,
    `inherit = ${inherit === undefined ? 'nil' : quoted(inherit)}`,
  ].join('\n');
}

function described(
  { policy, code, cells, signature, params, own }: Slot,
  { isVariable, inherit }: Layout,
): string {
  const isInherited = inherit !== undefined;
  const { algorithm, grows, refill } = policy;
  const numbers = (indexes: Readonly<Record<string, number>>): string[] =>
    Object.entries(indexes).map(([name, index]) => `${name} = ARGV[${index}] + 0`);
  const spent = code === undefined ? [] : (algorithm.inherit?.cells.map((cell) => cells[cell]) ?? []);
  const flags = {
    is_variable: grows,
    is_refill_unknown: isVariable && refill === undefined,
    bookable: algorithm.booking !== undefined,
    counts_denials: algorithm.countsDenials,
    holds: algorithm.hold !== undefined,
  };
  const fields = [
    ...(code === undefined ? [] : [`algorithm = ${nameInLua(algorithm.name)}`]),
    `params = { ${numbers(params).join(', ')} }`,
    ...numbers(own),
    `cells = ${list(cells)}, row = {}`,
    ...(isInherited ? [`signature = ${list(signature)}, spent = ${list(spent)}, signed = {}`] : []),
    ...Object.entries(flags).flatMap(([name, isSet]) => (isSet ? [`${name} = true`] : [])),
  ];
  return `{ ${fields.join(', ')} }`;
}

function list(words: readonly string[]): string {
  return `{ ${words.map(quoted).join(', ')} }`;
}

function quoted(word: string): string {
  return `'${word}'`;
}
