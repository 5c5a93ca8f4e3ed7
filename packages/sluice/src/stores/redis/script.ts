/**
 * The script of a plan: the shell with the policies' code written out where it is needed. Numbers and cells become
 * locals, because Redis makes every function and table of a script anew at each call.
 */
import { createHash } from 'node:crypto';
import type { Millis, PlacedPolicy, Plan } from '../../engine/contract.ts';
import { SluiceError } from '../../internal/errors.ts';
import { ALGORITHMS, SHELL } from './lua.ts';

export interface Script {
  readonly sha: string;
  readonly source: string;
}

/** A plan as its script wants it. */
export interface ScriptPlan extends Script {
  /** Three characters that tell rows of one signature from others'. */
  readonly mark: string;
  /** The policies' numbers. Strings: a client that has to make them costs more. */
  args(now: Millis): readonly string[];
}

/** Of Lua's 200 locals some are the shell's. A plan that needs more than this has all but its cells in a table. */
const MOST_LOCALS = 100;
/** The same for Lua's 250 registers: a cell takes one, and another while it is packed. */
const MOST_REGISTERS = 160;
/** The names that policies bring along, but for those of cells. */
const OWN = /\b(?:p\d+_\d+|(?:g|f|u|free|wait|clear|more)\d+)\b/g;

const scripts = new Map<string, Script>();

export function scriptPlan(plan: Plan): ScriptPlan {
  const moving = plan.policies.some(({ algorithm }) => algorithm.redis !== undefined);
  const fixed = argsOf(plan, 0);
  const counts = plan.policies.map((policy) => numbersOf(policy, 0).length);
  const known = plan.policies.map(({ refill }) => (refill === undefined ? 0 : 1));
  const places = plan.policies.map(({ offset }) => offset);
  const shape = `${plan.signature} ${places.join(',')} ${counts.join(',')} ${known.join(',')}`;
  const script = scripts.get(shape) ?? assemble(plan, counts);
  scripts.set(shape, script);
  const mark = createHash('sha1').update(plan.signature).digest('base64url').slice(0, 3);
  return { ...script, mark, args: moving ? (now) => argsOf(plan, now) : () => fixed };
}

function argsOf({ policies, inherit }: Plan, now: Millis): string[] {
  const numbers = policies.flatMap((policy) => numbersOf(policy, now));
  if (inherit !== undefined) {
    for (const { algorithm, params } of policies) {
      const { inherit: spending } = algorithm;
      if (spending === undefined || !inherit.isSigned(algorithm)) continue;
      if (inherit.keeps !== 'additive') numbers.push(spending.full(params));
      numbers.push(spending.unit?.(params) ?? 1);
    }
  }
  return numbers.map(String);
}

function numbersOf({ algorithm, params }: PlacedPolicy, now: Millis): readonly number[] {
  return algorithm.redis?.args(params, now) ?? Object.values(params).map(Number);
}

/** A policy's place in the script: the names of its locals. */
interface Part {
  readonly code: Readonly<Record<string, string>>;
  readonly numbers: readonly string[];
  readonly cells: readonly string[];
  /** The local of a row that grows. */
  readonly row: string;
  readonly id: number;
  /** False: only other tiers ask it. The script keeps its cells and has none of its code. */
  readonly isAsked: boolean;
}

/** The plan's own policies in their order, then those that only other tiers have. */
function partsOf({ policies, slots }: Plan, counts: readonly number[]): Part[] {
  return [...policies, ...othersOf({ policies, slots })].map((policy, k) => {
    const { algorithm, params, grows } = policy;
    const isAsked = k < policies.length;
    return {
      code: isAsked ? codeOf(algorithm.name) : grows ? { grows: '' } : {},
      numbers: Array.from({ length: isAsked ? counts[k] : 0 }, (_, i) => `p${k}_${i + 1}`),
      cells: grows ? [] : Array.from({ length: algorithm.width(params) }, (_, i) => `c${k}_${i + 1}`),
      row: `g${k}`,
      id: k,
      isAsked,
    };
  });
}

/** By offset: leased plans have other objects for the same policies. */
function othersOf({ policies, slots }: Pick<Plan, 'policies' | 'slots'>): PlacedPolicy[] {
  const asked = new Set(policies.map(({ offset }) => offset));
  return slots.filter(({ offset }) => !asked.has(offset));
}

function codeOf(algorithm: string): Part['code'] {
  const own = ALGORITHMS[algorithm];
  if (own === undefined)
    throw new SluiceError('ERR_POLICY', 'policies', algorithm, 'this algorithm has no script');
  const like = Object.keys(own)
    .find((name) => name.startsWith('like '))
    ?.slice('like '.length);
  return like === undefined ? own : { ...ALGORITHMS[like], ...own };
}

/** A section of a policy's code, in a block of its own, with its locals in place of @n, $n and $. */
function block({ code, numbers, cells, row, id }: Part, section: string): string {
  const body = (code[section] ?? '')
    .replaceAll(/@(\d)/g, (_, n: string) => numbers[Number(n) - 1])
    .replaceAll(/\$(\d)/g, (_, n: string) => cells[Number(n) - 1])
    .replaceAll('$', row)
    .replaceAll(/\b(free|wait|clear)\b/g, `$1${id}`);
  return body === '' ? '' : `do\n${body}end\n`;
}

function assemble(plan: Plan, counts: readonly number[]): Script {
  const all = partsOf(plan, counts);
  /** As they lie in the row. */
  const placed = plan.slots.map(({ offset }) => all[placeOf(plan, offset)]);
  const parts = all.filter(({ isAsked }) => isAsked);
  const inherited = inheritance(plan, placed);
  const has = (flag: string) => (part: Part) => flag in part.code;
  const each = (of: readonly Part[], write: (part: Part) => string): string => of.map(write).join('');
  const grown = placed.filter(has('grows'));
  /** Those whose next unit only the server can foresee. */
  const unknown = grown.length > 0 ? parts.filter(({ id }) => plan.policies[id].refill === undefined) : [];
  const charged = parts.filter((part) => !has('counts_denials')(part));
  const holding = parts.filter(has('holds'));
  const dating = parts.find(has('taken_at'));
  const struck = parts.filter(has('counts_denials'));
  const cells = [...placed.flatMap((part) => part.cells), ...inherited.cells];
  const others = all.filter(({ isAsked }) => !isAsked);
  const stored = ['expires', ...cells];
  const numbers = [...parts.flatMap((part) => part.numbers), ...inherited.numbers];
  const shell = grown.length > 0 ? SHELL.grown : SHELL.narrow;
  const needed = numbers.length + grown.length + 3 * parts.length + unknown.length;
  const isWide = stored.length + needed > MOST_LOCALS;
  const packed = Math.max(stored.length, grown.length > 0 ? 3 * parts.length : 0);
  if (stored.length + packed > MOST_REGISTERS)
    throw new SluiceError('ERR_POLICY', 'policies', parts.length, 'more policies than a script has room for');
  /** The mark and what is stored; with variable-length rows also the frame and the section's size. */
  const length = 3 + 8 * stored.length + (grown.length > 0 ? 26 : 0);

  const code: Readonly<Record<string, string>> = {
    locals: [
      `local ${stored.join(', ')}`,
      ...(isWide
        ? ['local L = {}', ...numbers.map((name, i) => `${name} = ARGV[${i + 3}] + 0`)]
        : [
            `local ${numbers.join(', ')} = ${numbers.map((_, i) => `ARGV[${i + 3}] + 0`).join(', ')}`,
            ...grown.map(({ row }) => `local ${row}`),
            ...parts.map(({ id }) => `local free${id}, wait${id}, clear${id} = 0, 0, 0`),
            ...unknown.map(({ id }) => `local more${id}`),
          ]),
    ].join('\n'),
    all: shell['all'] ?? '',
    load: shell['load'],
    convert: inherited.convert,
    kept: inherited.kept,
    report: shell['report'],
    save: shell['save'],
    alone: shell['alone'].trim(),
    split: SHELL.tail['split'],
    renew: holding.length > 0 ? SHELL.tail['renew'] : '',
    full: each(holding, ({ id }) => `if wait${id} > 0 then full = true end\n`),
    hold: each(holding, (part) => block(part, 'take')),
    'taken at':
      dating === undefined
        ? ''
        : `local taken_at = 0\n${block(dating, 'taken_at')}report = report .. pack('<d', taken_at)`,
    look: each(
      parts,
      (part) => `${block(part, 'look')}if wait${part.id} > longest then longest = wait${part.id} end\n`,
    ),
    // Of what a charge has left, narrow rows need only how long it lasts.
    'look again': each(parts, (part) =>
      block(part, grown.length === 0 && has('clear')(part) ? 'clear' : 'look'),
    ),
    charge: each(charged, (part) => block(part, 'take')) + inherited.sign,
    overdraw:
      each(
        charged,
        (part) =>
          `do\nlocal cost = amount\n${block(part, 'overdraft')}if cost > 0 then\n${block(part, 'take')}end\n` +
          'if cost < taken then taken = cost end\nend\n',
      ) + inherited.sign,
    strike: each(struck, (part) => `${block(part, 'take')}write = true\n`),
    give: each(charged, (part) => block(part, 'give')),
    release: each(holding, (part) => block(part, 'give')),
    least: each(parts, ({ id }) => `if free${id} < units then units = free${id} end\n`),
    fixed: each(parts, (part) =>
      has('bookable')(part) ? '' : `if wait${part.id} > 0 then fixed = true end\n`,
    ),
    longest:
      each(parts, ({ id }) => `if clear${id} > longest then longest = clear${id} end\n`) + inherited.longest,
    numbers: parts.map(({ id }) => `free${id}, wait${id}, clear${id}`).join(', '),
    mores: unknown.length === 0 ? '' : ` .. pack(MORE, ${unknown.map(({ id }) => `more${id}`).join(', ')})`,
    // The wait for one unit more than is free: the same look, for another cost.
    more: each(
      unknown,
      (part) =>
        `do\nlocal cost, was = max(0, floor(free${part.id})) + 1, wait${part.id}\n${block(part, 'look')}` +
        `more${part.id}, wait${part.id} = wait${part.id}, was\nend\n`,
    ),
    cells: cells.join(', '),
    /** Not fresh. */
    used: usedIn(cells, grown),
    // A policy that only other tiers have may still need the row.
    'others clear':
      others.length === 0
        ? ''
        : ` and not (${usedIn(
            others.flatMap((part) => part.cells),
            others.filter(has('grows')),
          )})`,
    stored: stored.join(', '),
    zeros: stored.map(() => '0').join(', '),
    rows: grown.map(({ row }) => row).join(', '),
    'new rows': each(grown, ({ row }) => `${row} = new_row(key, mark, clock)\n`),
    'read rows': grown.map(({ row }, i) => `row_at(${row}, value, ${length + 40 * i + 1})\n`).join(''),
    'row bytes': grown.map(({ row }) => `row_bytes(${row})`).join(' .. '),
  };
  const functions = new Set(grown.map((part) => part.code['functions'] ?? ''));
  const text = [
    SHELL.head['text'],
    `local CELLS, STORED, REPORT = ${[cells.length, stored.length, 3 * parts.length].map(format).join(', ')}`,
    `local MORE = ${format(unknown.length)}`,
    `local WHOLE = '<c3' .. string.sub(STORED, 2)`,
    `local LENGTH, FIRST_WORD = ${length + 40 * grown.length}, ${2 + numbers.length}`,
    ...(grown.length > 0 ? [written(SHELL.grown['functions'], code), ...functions] : []),
    // Three times: what is put in has places of its own.
    written(written(written(SHELL.tail['text'], code), code), code),
  ].join('\n');
  const source = isWide ? text.replaceAll(OWN, 'L.$&') : text;
  return { source, sha: createHash('sha1').update(source).digest('hex') };
}

function placeOf({ policies, slots }: Plan, offset: number): number {
  return [...policies, ...othersOf({ policies, slots })].findIndex((policy) => policy.offset === offset);
}

/** Whether any of these cells and rows holds something. */
function usedIn(cells: readonly string[], grown: readonly Part[]): string {
  return [...cells.map((cell) => `${cell} ~= 0`), ...grown.map(({ row }) => `${row}.tail > 0`)].join(' or ');
}

interface InheritanceCode {
  readonly numbers: readonly string[];
  readonly cells: readonly string[];
  readonly convert: string;
  readonly sign: string;
  readonly kept: string;
  readonly longest: string;
}

/** What inherit.ts does: pieces of tail.lua, written out for each policy that is signed. `placed`: as they lie in the row. */
function inheritance({ slots, inherit }: Plan, placed: readonly Part[]): InheritanceCode {
  if (inherit === undefined) return { numbers: [], cells: [], convert: '', sign: '', kept: '', longest: '' };
  const { keeps } = inherit;
  const isAsIs = keeps === 'as-is';
  const all = placed.flatMap((part, i) => {
    const { algorithm } = slots[i];
    if (!inherit.isSigned(algorithm)) return [];
    const spent = algorithm.inherit?.cells.map((cell) => part.cells[cell]) ?? [];
    return [{ part, names: inheritanceNames(part, spent, keeps) }];
  });
  const asked = all.filter(({ part }) => part.isAsked);
  const pieces = (section: string, of = asked): string =>
    of.map(({ names }) => written(SHELL.tail[section], names)).join('');
  return {
    // In the order of the plan's policies, as `argsOf` sends them.
    numbers: [...asked]
      .sort((a, b) => a.part.id - b.part.id)
      .flatMap(({ names }) => (keeps === 'additive' ? [names['unit']] : [names['full'], names['unit']])),
    cells: all.flatMap(({ names }) => [
      ...(keeps === 'additive' ? [] : [names['was full']]),
      names['was unit'],
      ...(isAsIs ? [names['until']] : []),
    ]),
    convert: (isAsIs ? pieces('fresh') : '') + pieces('convert'),
    sign: pieces('sign'),
    kept: isAsIs ? pieces('kept') : '',
    longest: isAsIs ? pieces('longest', all) : '',
  };
}

function inheritanceNames(
  part: Part,
  spent: readonly string[],
  keeps: string,
): Readonly<Record<string, string>> {
  const { id, cells } = part;
  const isAdditive = keeps === 'additive';
  const [full, unit, wasFull, wasUnit] = [`f${id}`, `u${id}`, `wf${id}`, `wu${id}`];
  const until = `wt${id}`;
  const own = [...cells, wasFull, wasUnit, until];
  const names = {
    'was full': wasFull,
    'was unit': wasUnit,
    until,
    full,
    unit,
    'is other': isAdditive
      ? `${wasUnit} ~= 0 and ${wasUnit} ~= ${unit}`
      : `${wasFull} ~= 0 and (${wasFull} ~= ${full} or ${wasUnit} ~= ${unit})`,
    signature: isAdditive ? `${wasUnit} = ${unit}` : `${wasFull}, ${wasUnit} = ${full}, ${unit}`,
    free: `free${id}`,
    clear: `clear${id}`,
    own: own.join(', '),
    zeros: own.map(() => '0').join(', '),
    look: part.isAsked ? block(part, 'look') : '',
    settle: part.isAsked ? block(part, 'take') : '',
    spent: spent[0],
  };
  const forEach = (section: string): string =>
    spent
      .map((cell) => written(SHELL.tail[section] + SHELL.tail['round'], { ...names, spent: cell }))
      .join('');
  if (keeps !== 'as-is' || spent.length === 1) return { ...names, keep: forEach(keeps) };
  const several = written(SHELL.tail['as-is of several'], {
    ...names,
    'to target': forEach('to target'),
    round: written(SHELL.tail['round'], names),
  });
  return { ...names, keep: several };
}

/** So many doubles. */
function format(count: number): string {
  return `'<${'d'.repeat(count)}'`;
}

function written(text: string, code: Readonly<Record<string, string>>): string {
  return text.replaceAll(/«([^»]+)»/g, (_, name: string) => code[name]);
}
