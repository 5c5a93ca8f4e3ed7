/** Creates the lean path of a script, which decides the most frequent hits. It is lua/lean.lua with the policies' code inlined. */
import { SHELL } from './lua.ts';
import type { Layout, Slot } from './script-layout.ts';

export interface LeanPath {
  /** The names of the policies' numbers in the script's head argument, in order, up to the last one that the lean path uses. */
  readonly numbers: readonly string[];
  /** Code that runs once per call, after the head was read. */
  readonly setup: string;
  /** Code that runs once per hit. */
  readonly lean: string;
}

/** Lua allows 200 locals and 250 registers in a function. A plan that would need more has only the full path. */
const MOST_LOCALS = 150;
const NONE: LeanPath = { numbers: [], setup: '', lean: '' };

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

  const doubles = 'd'.repeat(cells.length);
  const constants: Readonly<Record<string, string>> = {
    LENGTH: String(3 + 8 + 8 * cells.length),
    FRESH: `'${'\\0'.repeat(8 * cells.length)}'`,
  };
  const shell = SHELL.lean.replaceAll(/\b(?:LENGTH|FRESH)\b/g, (name) => constants[name] ?? name);
  const lean = inserted(shell, {
    cells: `local ${names} = ${cells.map(() => '0').join(', ')}`,
    read: `found, expires, ${names} = unpack_struct('<c3d${doubles}', value)`,
    convert: each(signed, (slot, k) => `is_lean = is_lean and (${isOwn(slot, k)})`),
    wait: each(asked, (slot) => longest(slot, 'wait_for', 'wait')),
    charge:
      each(charged, (slot) => code(slot, 'take')) +
      each(signed, ({ own }, k) =>
        Object.keys(own)
          .map((name) => `\ns${k}_${name} = o${k}_${name}`)
          .join(''),
      ),
    strike: each(
      struck,
      (slot) => `if not is_peek then\nlocal cost = 1\n${code(slot, 'take')}\nchanged = true\nend`,
    ),
    clear: each(asked, (slot) => longest(slot, 'clear_in', 'longest')),
    'pack cells': `report = pack('<${doubles}', ${names})`,
    'pack row': `report = pack('<c3d${doubles}', mark, expires, ${names})`,
    'is fresh': others.length === 0 ? '' : `is_fresh = is_fresh and not (${others.join(' or ')})`,
  });
  const check = each(asked, (slot) => code(slot, 'check_clock'));
  const sent = [
    ...asked.flatMap((slot) => Object.keys(slot.params).map((name) => `p${idOf(slot)}_${name}`)),
    ...asked.flatMap((slot) => Object.keys(slot.own).map((name) => `o${idOf(slot)}_${name}`)),
  ];
  const last = sent.findLastIndex((name) => new RegExp(`\\b${name}\\b`).test(check + lean));
  const numbers = sent.slice(0, last + 1);
  if (numbers.length + 2 * cells.length > MOST_LOCALS) return NONE;

  // One MGET costs less than many GETs, but can be used only if no hit must see what another hit has written.
  const values = "local values = distinct and call('MGET', unpack(KEYS))";
  return { numbers, setup: `${check}\n${values}`, lean };
}

/**
 * The source of a Lua condition that is true if the policy's cells are unsigned, or signed with the policy's own numbers. It
 * mirrors `isOwn` in policy/inherit.ts.
 */
function isOwn({ own }: Slot, k: number): string {
  const names = Object.keys(own);
  return `s${k}_${names[0]} == 0 or (${names.map((name) => `s${k}_${name} == o${k}_${name}`).join(' and ')})`;
}

/** Replaces the comments `-- @insert <name>` in a text with code. */
export function inserted(text: string, code: Readonly<Record<string, string>>): string {
  return text.replaceAll(/^-- @insert (.+)$/gm, (_, name: string) => code[name] ?? '');
}
