/** Creates the lean path of a script, which is lua/lean.lua with the policies' code inlined. */
import { SHELL } from './lua.ts';
import type { Layout, Slot } from './script-layout.ts';

export interface LeanPath {
  /** Code that runs once per call. */
  readonly setup: string;
  /** Code that runs if a hit's word differs from that of the previous hit. */
  readonly word: string;
  /** Code that runs once per hit. */
  readonly lean: string;
}

/** Lua allows 200 locals and 250 registers in a function. A plan that would need more has only the full path. */
const MOST_LOCALS = 150;
const NONE: LeanPath = { setup: '', word: '', lean: '' };
/** Expressions for the constants of lua/arithmetic.lua. Only those that are used are looked up. */
const CONSTANTS: Readonly<Record<string, string>> = {
  floor: 'math.floor',
  ceil: 'math.ceil',
  max: 'math.max',
  min: 'math.min',
  INF: 'math.huge',
  TIME_EPSILON: '0.0005',
  SKEW: '10000',
};

export function leanPath(layout: Layout): LeanPath {
  const { slots, asked, inherit, isVariable } = layout;
  if (isVariable || inherit === 'as-is') return NONE;
  const cells = [
    ...slots.flatMap((slot, k) => slot.cells.map((name) => `c${k}_${name}`)),
    ...slots.flatMap((slot, k) => slot.signature.map((name) => `s${k}_${name}`)),
  ];
  const idOf = (slot: Slot): number => slots.indexOf(slot);
  const each = (of: readonly Slot[], write: (slot: Slot, id: number) => string): string =>
    of.map((slot) => write(slot, idOf(slot))).join('\n');
  const code = (slot: Slot, part: string): string =>
    (slot.code?.inlined[part] ?? '').replaceAll(/(?<![\w.])([pc])\.(\w+)/g, `$1${idOf(slot)}_$2`);
  const signed = asked.filter(({ signature }) => signature.length > 0);
  const charged = asked.filter(({ policy }) => policy.algorithm.countsDenials !== true);
  const struck = asked.filter((slot) => !charged.includes(slot));
  const others = slots.flatMap((slot, k) =>
    slot.code === undefined ? slot.cells.map((name) => `c${k}_${name} ~= 0`) : [],
  );
  const names = cells.join(', ');
  const longest = (slot: Slot, part: string, name: string): string =>
    `do\nlocal result = 0\n${code(slot, part)}\nif result > ${name} then ${name} = result end\nend`;

  const lean = inserted(SHELL.lean, {
    cells: `local ${names} = ${cells.map(() => '0').join(', ')}`,
    read: `found, expires, ${names} = unpack_struct(WHOLE, value)`,
    convert: each(signed, (slot, k) => `is_lean = is_lean and (${isOwn(slot, k)})`),
    wait: each(asked, (slot) => longest(slot, 'wait_for', 'wait')),
    charge:
      each(charged, (slot) => code(slot, 'take')) +
      each(signed, ({ own }, k) =>
        Object.keys(own)
          .map((name) => `\ns${k}_${name} = o${k}_${name}`)
          .join(''),
      ),
    strike: each(struck, (slot) => `do\nlocal cost = 1\n${code(slot, 'take')}\nchanged = true\nend`),
    clear: each(asked, (slot) => longest(slot, 'clear_in', 'longest')),
    report: `report = pack(CELLS, ${names})`,
    'is fresh': others.length === 0 ? '' : `is_fresh = is_fresh and not (${others.join(' or ')})`,
  });
  const check = each(asked, (slot) => code(slot, 'check_clock'));
  const uses = (name: string): boolean => new RegExp(`\\b${name}\\b`).test(check + lean);
  const numbers = [
    ...asked.flatMap((slot) =>
      Object.entries(slot.params).map(([name, index]) => [`p${idOf(slot)}_${name}`, index] as const),
    ),
    ...signed.flatMap((slot) =>
      Object.entries(slot.own).map(([name, index]) => [`o${idOf(slot)}_${name}`, index] as const),
    ),
  ].filter(([name]) => uses(name));
  if (numbers.length + 2 * cells.length > MOST_LOCALS) return NONE;

  const doubles = 'd'.repeat(cells.length);
  const constants = Object.entries(CONSTANTS).filter(([name]) => uses(name));
  const setup = [
    `local LENGTH, WHOLE, CELLS = ${3 + 8 + 8 * cells.length}, '<c3d${doubles}', '<${doubles}'`,
    `local FRESH = '${'\\0'.repeat(8 * cells.length)}'`,
    declaration(constants),
    declaration(numbers.map(([name, index]) => [name, `ARGV[${index}] + 0`])),
    check,
    // One command costs less than many, but can be used only if no hit must see what another has written.
    "local values = distinct and call('MGET', unpack(KEYS))",
    'local cost',
  ].join('\n');
  return { setup, word: 'cost = tonumber(word)', lean };
}

/** A condition that is true if the policy's cells are unsigned or signed with these numbers, like isOwn of policy/inherit.ts. */
function isOwn({ own }: Slot, k: number): string {
  const names = Object.keys(own);
  return `s${k}_${names[0]} == 0 or (${names.map((name) => `s${k}_${name} == o${k}_${name}`).join(' and ')})`;
}

function declaration(values: readonly (readonly [name: string, value: string])[]): string {
  if (values.length === 0) return '';
  return `local ${values.map(([name]) => name).join(', ')} = ${values.map(([, value]) => value).join(', ')}`;
}

/** Replaces the comments `-- @insert <name>` of a text by code. */
export function inserted(text: string, code: Readonly<Record<string, string>>): string {
  return text.replaceAll(/^-- @insert (.+)$/gm, (_, name: string) => code[name] ?? '');
}
