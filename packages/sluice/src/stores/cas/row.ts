/**
 * Encodes a key's value as bytes, as float64 numbers in little-endian order:
 *
 *   format  blocked-until  written  expires     then a section for each version of the limiter that uses the key:
 *   mark  length  expires  cells …              and for each variable-length row, its length and its cells
 *
 * The mark identifies the plan's signature, and a plan reads and writes only the section with its own mark. So two versions of a
 * limiter count independently of each other, and a manual block applies to both versions. `length` is the number of values after
 * it.
 */
import type { Cells, Decision, Hit, Millis, Plan } from '../../engine/contract.ts';
import { digest } from '../../internal/hash.ts';
import { decide } from '../../engine/decide.ts';
import { clearIn } from '../../engine/row.ts';
import { RowHeap } from '../table/variable-length-rows.ts';

/** The first number of every value. A value that starts with a different number is ignored, and its key is treated as new. */
const FORMAT = 2;
const HEADER = 4;
const WRITTEN = 2;
/** The longest time that a row is kept: a century. */
const LONGEST: Millis = 3_155_760_000_000;

interface Value {
  blockedUntil: Millis;
  /** The sections by their marks. */
  sections: Map<number, Section>;
}

interface Section {
  /** When the row is fully replenished under every plan that wrote to it. */
  readonly expires: Millis;
  /** The cells and variable-length rows, which follow `expires`. */
  readonly numbers: Cells;
}

/** A section in the form that its plan reads. */
interface Row {
  readonly cells: Cells;
  readonly grown: RowHeap;
}

export interface Outcome {
  readonly decisions: readonly Decision[];
  /** The value to write and how long to keep it. Undefined if nothing has changed. */
  readonly change: { readonly value: Uint8Array; readonly expiresIn: Millis } | undefined;
}

/** Reads the bytes as numbers, at any alignment. Returns undefined if they are not a value that Sluice wrote. */
export function numbersIn(value: Uint8Array | undefined): Cells | undefined {
  if (value === undefined || value.byteLength % 8 !== 0 || value.byteLength < 8 * HEADER) return undefined;
  const aligned = value.byteOffset % 8 === 0 ? value : Uint8Array.from(value);
  const numbers = new Float64Array(aligned.buffer, aligned.byteOffset, aligned.byteLength / 8);
  return numbers[0] === FORMAT ? numbers : undefined;
}

export function writtenAt(numbers: Cells | undefined): Millis {
  return numbers?.[WRITTEN] ?? 0;
}

/** Applies the hits of one key in order. A row is kept for another `keep` milliseconds after it is fully replenished. */
export function decideAll(
  hits: readonly Hit[],
  stored: Cells | undefined,
  now: Millis,
  keep: Millis,
): Outcome {
  const value = valueIn(stored);
  const decisions: Decision[] = [];
  let changed = false;
  for (const hit of hits) {
    const { plan, verb } = hit;
    const mark = markOf(plan);
    // Earlier hits of the same round may also have changed the value.
    if (verb === 'reset' && (stored !== undefined || changed)) {
      value.blockedUntil = 0;
      value.sections.clear();
      changed = true;
    }
    if (verb === 'block') {
      // To end a block (`span` is 0), 0 is stored: the current time would still block the key if the clock went back.
      value.blockedUntil = hit.span > 0 ? now + hit.span : 0;
      changed = true;
    }
    const section = value.sections.get(mark);
    const row = rowIn(section?.numbers, plan);
    decisions.push(decide(hit, row.cells, 0, now, value.blockedUntil, row.grown));
    const numbers = encodeRow(row, plan);
    if (!differ(section?.numbers ?? new Float64Array(numbers.length), numbers)) continue;
    const clear = clearIn(plan, row.cells, 0, now, row.grown) + keep;
    const expires = Math.max(section?.expires ?? 0, now + Math.min(clear, LONGEST));
    value.sections.set(mark, { expires, numbers });
    changed = true;
  }
  return { decisions, change: changed ? encode(value, now, keep) : undefined };
}

/** Parses a value. A value whose sections do not fill it exactly is ignored. */
function valueIn(numbers: Cells | undefined): Value {
  const fresh = { blockedUntil: 0, sections: new Map<number, Section>() };
  if (numbers === undefined) return fresh;
  const sections = new Map<number, Section>();
  let at = HEADER;
  while (at < numbers.length) {
    const end = at + 2 + numbers[at + 1];
    if (!(end > at + 2 && end <= numbers.length)) return fresh;
    sections.set(numbers[at], { expires: numbers[at + 2], numbers: numbers.slice(at + 3, end) });
    at = end;
  }
  return { blockedUntil: numbers[1], sections };
}

/** Encodes a value. Leaves out sections that have expired. */
function encode(
  { blockedUntil, sections }: Value,
  now: Millis,
  keep: Millis,
): NonNullable<Outcome['change']> {
  let length = HEADER;
  for (const { expires, numbers } of sections.values()) if (expires > now) length += 3 + numbers.length;
  const value = new Float64Array(length);
  let last = blockedUntil > now ? Math.min(blockedUntil, now + LONGEST) + keep : now;
  let at = HEADER;
  for (const [mark, { expires, numbers }] of sections) {
    if (!(expires > now)) continue;
    value[at] = mark;
    value[at + 1] = numbers.length + 1;
    value[at + 2] = expires;
    value.set(numbers, at + 3);
    at += 3 + numbers.length;
    last = Math.max(last, expires);
  }
  value[0] = FORMAT;
  value[1] = blockedUntil;
  value[WRITTEN] = now;
  value[3] = last;
  return { value: new Uint8Array(value.buffer), expiresIn: Math.max(Math.ceil(last - now), 1) };
}

/** Returns the row in the form that this plan reads, or an empty row if the numbers do not fit the plan's layout. */
function rowIn(numbers: Cells | undefined, plan: Plan): Row {
  const state = numbers === undefined ? undefined : stateIn(numbers, plan);
  return state ?? { cells: new Float64Array(plan.width), grown: new RowHeap() };
}

function stateIn(numbers: Cells, plan: Plan): Row | undefined {
  let at = plan.width;
  if (numbers.length < at) return undefined;
  const cells = numbers.slice(0, at);
  const grown = new RowHeap();
  for (const { grows, offset } of plan.slots) {
    if (!grows) continue;
    const end = at + 1 + numbers[at];
    if (!(end <= numbers.length)) return undefined;
    cells[offset] = end === at + 1 ? 0 : grown.put(0, numbers.slice(at + 1, end));
    at = end;
  }
  return at === numbers.length ? { cells, grown } : undefined;
}

function encodeRow({ cells, grown }: Row, plan: Plan): Cells {
  if (!plan.slots.some(({ grows }) => grows)) return cells;
  const rows = plan.slots
    .filter(({ grows }) => grows)
    .map(({ offset }) => (cells[offset] === 0 ? [] : grown.get(cells[offset])));
  const length = rows.reduce((sum, row) => sum + 1 + row.length, plan.width);
  const numbers = new Float64Array(length);
  numbers.set(cells);
  // Pointers are valid only in this process.
  for (const { grows, offset } of plan.slots) if (grows) numbers[offset] = 0;
  let at = plan.width;
  for (const row of rows) {
    numbers[at] = row.length;
    numbers.set(row, at + 1);
    at += 1 + row.length;
  }
  return numbers;
}

function differ(a: Cells, b: Cells): boolean {
  if (a.length !== b.length) return true;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return true;
  return false;
}

const marks = new WeakMap<Plan, number>();

function markOf(plan: Plan): number {
  const known = marks.get(plan);
  if (known !== undefined) return known;
  const mark = digest(plan.signature);
  marks.set(plan, mark);
  return mark;
}
