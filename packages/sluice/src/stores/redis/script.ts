/**
 * Creates the script of a plan, which has two ways to decide. The full path is general: it consists of the unchanged Lua files and a
 * description of the plan. The lean path has the policies' code inlined, with params and cells as locals (see lua/lean.lua).
 */
import { createHash } from 'node:crypto';
import type { Millis, Plan } from '../../engine/contract.ts';
import { boundedCache } from '../../internal/bounded-cache.ts';
import { inserted, leanPath } from './lean-path.ts';
import { SHELL } from './lua.ts';
import { codeOf, headOf, type Layout, layoutOf, type Slot } from './script-layout.ts';

export interface Script {
  readonly sha: string;
  readonly source: string;
}

/** A plan in the form that its script needs. */
export interface ScriptPlan extends Script {
  /** Plans with the same shape have the same script. */
  readonly shape: string;
  /**
   * The head of a call, as described in `lua/main.lua`. The cost is -1 unless every hit is a take in mode 'whole' with the same
   * cost. `now` is the caller's time, from which a policy may compute the numbers that it sends.
   */
  head(cost: number, options: string, now: Millis): Buffer;
}

const scripts = new Map<string, Script>();

/** The constants of lua/arithmetic.lua, by name. */
const CONSTANTS = new Map(
  Array.from(SHELL.arithmetic.matchAll(/^local (\w+) = (.+)$/gm), ([, name, value]) => [name, value]),
);

export function scriptPlan(plan: Plan): ScriptPlan {
  const known = plan.policies.map(({ refill }) => (refill === undefined ? 0 : 1));
  const places = plan.policies.map(({ offset }) => offset);
  const shape = `${plan.signature} ${places.join(',')} ${known.join(',')}`;
  const script = scripts.get(shape) ?? assemble(plan);
  scripts.set(shape, script);
  // Distinguishes the rows of this signature from the rows of other signatures.
  const mark = createHash('sha1').update(plan.signature).digest('base64url').slice(0, 3);
  const isMoving = plan.policies.some(({ algorithm }) => algorithm.redis !== undefined);
  let last: { readonly cost: number; readonly options: string; readonly head: Buffer } | undefined;
  return {
    ...script,
    shape,
    head(cost, options, now) {
      if (!isMoving && last?.cost === cost && last.options === options) return last.head;
      const head = headOf(plan, mark, cost, options, now);
      last = { cost, options, head };
      return head;
    },
  };
}

function assemble(plan: Plan): Script {
  const layout = layoutOf(plan);
  const { numbers, setup, lean } = leanPath(layout);
  const format = formatOf(layout, numbers);
  const main = inserted(SHELL.main, {
    setup: `local ${['mark', 'cost', ...numbers].join(', ')} = unpack_struct('${format}', head)\n${setup}`,
    lean,
    'full path': fullPath(layout),
  });
  return scriptOf(`local HEAD_LENGTH = ${layout.headLength}\n${main}`);
}

/** The cache keeps the scripts of at least this many combinations of plans. */
const COMBINATIONS = 1000;
const allScripts = boundedCache<Script>(COMBINATIONS);

/** The script that decides takes of several plans in one step. The plans must have different shapes. */
export function allScript(plans: readonly Plan[], shapes: readonly string[]): Script {
  const id = shapes.join('\n');
  const known = allScripts.get(id);
  if (known !== undefined) return known;
  const paths = plans.map((plan, i) => {
    const layout = layoutOf(plan);
    return `${leanFunction(layout, i + 1)}\nfull_paths[${i + 1}] = (function()\n${fullPath(layout)}\nreturn full_path\nend)()`;
  });
  return allScripts.set(id, scriptOf(inserted(SHELL.all, { paths: paths.join('\n') })));
}

/**
 * The lean path as the source of a Lua function, which takes a head, a key, a cost and whether to peek. Empty if the plan has no
 * lean path.
 */
function leanFunction(layout: Layout, index: number): string {
  const { numbers, setup, lean } = leanPath(layout);
  if (lean === '') return '';
  return [
    `lean_paths[${index}] = function(head, key, cost, is_peek)`,
    'local outcome, report, failure, distinct, j',
    `local ${['mark', '_', ...numbers].join(', ')} = unpack_struct('${formatOf(layout, numbers)}', head)`,
    setup,
    lean,
    'return outcome, report, failure',
    'end',
  ].join('\n');
}

/** The format with which the script unpacks a head: the mark, the cost, and then these numbers. */
function formatOf({ headFormat }: Layout, numbers: readonly string[]): string {
  return headFormat.slice(0, '<c3d'.length + numbers.length);
}

function scriptOf(text: string): Script {
  const source = withConstants(text);
  return { source, sha: createHash('sha1').update(source).digest('hex') };
}

/**
 * Replaces the names of constants with their values. As locals, they would make the script slower, because a function that refers
 * to a local outside it takes longer to create, and Redis creates all functions again at each call.
 */
function withConstants(source: string): string {
  return source
    .replaceAll(/^local (\w+) = .+\n/gm, (line, name: string) => (CONSTANTS.has(name) ? '' : line))
    .replaceAll(/(?<![\w.])\w+\b(?! = )/g, (name) => CONSTANTS.get(name) ?? name);
}

/**
 * The full path as a Lua function. It uses no locals of the surrounding script, because Lua limits how many outer locals a
 * function may use.
 */
function fullPath(layout: Layout): string {
  const names = layout.asked.map(({ policy }) => policy.algorithm.name);
  const needed = new Set(names.flatMap((name) => [...codeOf(name).includes, name]));
  return [
    'local function full_path(mark, clock, now, keep, head)',
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
    `local sent = { unpack_struct('${layout.headFormat}', head) }`,
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

function described(slot: Slot, { isVariable, inherit, asked }: Layout): string {
  const { policy, code, cells, signature, params, own } = slot;
  const index = asked.indexOf(slot) + 1;
  const isInherited = inherit !== undefined;
  const { algorithm, grows, refill } = policy;
  const numbers = (indexes: Readonly<Record<string, number>>): string[] =>
    Object.entries(indexes).map(([name, index]) => `${name} = sent[${index}]`);
  const spent = code === undefined ? [] : (algorithm.inherit?.cells.map((cell) => cells[cell]) ?? []);
  const flags = {
    is_variable: grows,
    is_refill_unknown: isVariable && refill === undefined,
    bookable: algorithm.booking !== undefined,
    counts_denials: algorithm.countsDenials,
    holds: algorithm.hold !== undefined,
  };
  const fields = [
    ...(code === undefined ? [] : [`algorithm = ${nameInLua(algorithm.name)}, index = ${index}, taken = 0`]),
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
