/**
 * Encodes a key's value as bytes. The value consists of float64 numbers in little-endian order:
 *
 *   format  blocked-until  written  expires     then a section for each version of the limiter that uses the key:
 *   mark  length  expires  cells …              and for each variable-length row, its length and its cells
 *
 * The mark identifies the plan's signature, and a plan reads and writes only the section with its own mark. So two versions of a
 * limiter count independently of each other, and a manual block applies to both versions. `length` is the number of values that
 * follow it in the section.
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
const EXPIRES = 3;
/** Where the cells of the first section begin. */
const CELLS = HEADER + 3;
/** The longest time that a row is kept: a century. */
const LONGEST: Millis = 3_155_760_000_000;

/** Size in bytes of a buffer that small values share. */
const SHARED = 1024;
let shared = new ArrayBuffer(SHARED);
let used = 0;

/** Passed as the variable-length rows of a plan that has none. */
const NO_ROWS = new RowHeap();

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
  const aligned = value.byteOffset % 8 === 0 ? value : new Uint8Array(value);
  const numbers = new Float64Array(aligned.buffer, aligned.byteOffset, aligned.byteLength / 8);
  return numbers[0] === FORMAT ? numbers : undefined;
}

export function writtenAt(numbers: Cells | undefined): Millis {
  return numbers?.[WRITTEN] ?? 0;
}

/** How many more milliseconds a row must be kept. Used when the row is written again unchanged. */
export function expiresIn(numbers: Cells | undefined, now: Millis): Millis {
  return Math.max(Math.ceil((numbers?.[EXPIRES] ?? 0) - now), 1);
}

/** Applies the hits of one key in order. A row is kept for another `keep` milliseconds after it is fully replenished. */
export function decideAll(
  hits: readonly Hit[],
  stored: Cells | undefined,
  now: Millis,
  keep: Millis,
): Outcome {
  const [{ plan }] = hits;
  return isSimple(plan, stored) && hits.every((hit) => hit.plan === plan && isReadOrTake(hit))
    ? decideOnCopy(hits, stored, now, keep)
    : decideInOrder(hits, stored, now, keep);
}

const isReadOrTake = ({ verb }: Hit): boolean => verb === 'take' || verb === 'peek';

/** Whether the value has no section other than this plan's, and the plan has no variable-length rows. */
function isSimple(plan: Plan, stored: Cells | undefined): boolean {
  const { mark, isVariable } = layoutOf(plan);
  if (isVariable) return false;
  if (stored === undefined || stored.length === HEADER) return true;
  return (
    stored.length === CELLS + plan.width && stored[HEADER] === mark && stored[HEADER + 1] === plan.width + 1
  );
}

/** Makes the same decisions as `decideInOrder`, but faster, because it works on a single copy of the value. */
function decideOnCopy(hits: readonly Hit[], stored: Cells | undefined, now: Millis, keep: Millis): Outcome {
  const [{ plan }] = hits;
  const value = newValue(CELLS + plan.width);
  if (stored !== undefined) value.set(stored);
  const decisions = hits.map((hit) => decide(hit, value, CELLS, now, value[1], NO_ROWS));
  if (!isChanged(stored, value)) return { decisions, change: undefined };
  const clear = clearIn(plan, value, CELLS, now, NO_ROWS) + keep;
  const expires = Math.max(value[HEADER + 2], now + Math.min(clear, LONGEST));
  // A section that has expired is left out.
  if (!(expires > now))
    return { decisions, change: finished(value.subarray(0, HEADER), value[1], now, now, keep) };
  value[HEADER] = layoutOf(plan).mark;
  value[HEADER + 1] = plan.width + 1;
  value[HEADER + 2] = expires;
  return { decisions, change: finished(value, value[1], expires, now, keep) };
}

/** Whether the cells differ from the stored cells. If nothing is stored, each cell is compared with zero. */
function isChanged(stored: Cells | undefined, value: Cells): boolean {
  for (let i = CELLS; i < value.length; i++) if (value[i] !== (stored?.[i] ?? 0)) return true;
  return false;
}

function decideInOrder(hits: readonly Hit[], stored: Cells | undefined, now: Millis, keep: Millis): Outcome {
  const value = valueIn(stored);
  const decisions: Decision[] = [];
  let changed = false;
  for (const hit of hits) {
    const { plan, verb } = hit;
    const { mark } = layoutOf(plan);
    // A reset has an effect if a value is stored, or if an earlier hit of this round has changed the value.
    if (verb === 'reset' && (stored !== undefined || changed)) {
      value.blockedUntil = 0;
      value.sections.clear();
      changed = true;
    }
    if (verb === 'block') {
      // To end a block (`span` is 0), 0 is stored, because the current time would still block the key if the clock went back.
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
  const value = newValue(length);
  let last = now;
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
  return finished(value, blockedUntil, last, now, keep);
}

/** Fills in the header. `last` is when the last section expires. */
function finished(
  value: Cells,
  blockedUntil: Millis,
  last: Millis,
  now: Millis,
  keep: Millis,
): NonNullable<Outcome['change']> {
  const blocked = blockedUntil > now ? Math.min(blockedUntil, now + LONGEST) + keep : now;
  const expires = Math.max(blocked, last);
  value[0] = FORMAT;
  value[1] = blockedUntil;
  value[WRITTEN] = now;
  value[EXPIRES] = expires;
  return {
    value: new Uint8Array(value.buffer, value.byteOffset, value.byteLength),
    expiresIn: Math.max(Math.ceil(expires - now), 1),
  };
}

/**
 * Creates a value of zeros. Small values share a buffer, because creating a buffer takes longer than deciding. The shared buffer
 * is also small, because a remembered value keeps the whole buffer in memory.
 */
function newValue(length: number): Cells {
  const bytes = 8 * length;
  if (bytes > SHARED) return new Float64Array(length);
  if (used + bytes > SHARED) {
    shared = new ArrayBuffer(SHARED);
    used = 0;
  }
  used += bytes;
  return new Float64Array(shared, used - bytes, length);
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
  if (!layoutOf(plan).isVariable) return cells;
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

interface Layout {
  /** Identifies the plan's section in a value. */
  readonly mark: number;
  /** Whether the plan has variable-length rows. */
  readonly isVariable: boolean;
}

const layouts = new WeakMap<Plan, Layout>();

function layoutOf(plan: Plan): Layout {
  const known = layouts.get(plan);
  if (known !== undefined) return known;
  const layout = { mark: digest(plan.signature), isVariable: plan.slots.some(({ grows }) => grows) };
  layouts.set(plan, layout);
  return layout;
}
