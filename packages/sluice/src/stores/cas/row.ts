/**
 * A key's row as bytes: float64 numbers, little-endian.
 *
 *   mark  blocked-until  written  expires   cells …   then for each row that grows: its length, its cells …
 *
 * The mark stands for the names of the algorithms. Bytes with another mark, or of another length, are no state: the row
 * is fresh, but a block by hand holds.
 */
import type { Cells, Decision, Hit, Millis, Plan } from '../../contract.ts';
import { clearIn, decide } from '../../engine.ts';
import { RowHeap } from '../table/grown-rows.ts';

interface Row {
  mark: number;
  blockedUntil: Millis;
  /** When it was last written. */
  written: Millis;
  /** When it is clear by all plans that wrote to it. */
  expires: Millis;
  cells: Cells;
  grown: RowHeap;
}

const HEADER = 4;
const WRITTEN = 2;
/** The longest that a row is kept: a century. */
const LONGEST: Millis = 3_155_760_000_000;

export interface Outcome {
  readonly decisions: readonly Decision[];
  /** What has to be written, and for how long it must be kept; undefined: nothing has changed. */
  readonly change: { readonly value: Uint8Array; readonly expiresIn: Millis } | undefined;
}

/** The numbers in some bytes, wherever in memory these begin; undefined if they are no row. */
export function numbersIn(value: Uint8Array | undefined): Cells | undefined {
  if (value === undefined || value.byteLength % 8 !== 0 || value.byteLength < 8 * HEADER) return undefined;
  const aligned = new Uint8Array(value.byteLength);
  aligned.set(value);
  return new Float64Array(aligned.buffer);
}

export function writtenAt(numbers: Cells | undefined): Millis {
  return numbers?.[WRITTEN] ?? 0;
}

/** Applies hits of one key in order. `keep`: how much longer than until it is clear a row is kept. */
export function decideAll(
  hits: readonly Hit[],
  stored: Cells | undefined,
  now: Millis,
  keep: Millis,
): Outcome {
  let numbers = stored;
  let expiresIn: Millis | undefined;
  const decisions: Decision[] = [];
  for (let i = 0; i < hits.length; ) {
    const { plan } = hits[i];
    const row = rowIn(numbers, plan);
    const before = encode(row, plan);
    for (; i < hits.length && hits[i].plan === plan; i++) decisions.push(apply(row, hits[i], now));
    if (!differ(before, encode(row, plan))) continue;
    row.mark = markOf(plan);
    row.written = now;
    const clear = Math.max(clearIn(plan, row.cells, 0, now, row.grown), row.blockedUntil - now) + keep;
    row.expires = Math.max(row.expires, now + Math.min(clear, LONGEST));
    expiresIn = Math.max(Math.ceil(row.expires - now), 1);
    numbers = encode(row, plan);
  }
  if (expiresIn === undefined || numbers === undefined) return { decisions, change: undefined };
  return { decisions, change: { value: new Uint8Array(numbers.buffer as ArrayBuffer), expiresIn } };
}

function apply(row: Row, hit: Hit, now: Millis): Decision {
  const { verb } = hit;
  if (verb === 'block') row.blockedUntil = now + hit.span;
  if (verb === 'reset') {
    // A row that was ever written has an expiry: so this also clears what another plan left there.
    row.blockedUntil = row.expires = 0;
    row.cells.fill(0);
    row.grown = new RowHeap();
  }
  return decide(hit, row.cells, 0, now, row.blockedUntil, row.grown);
}

/** The row as this plan reads it. */
function rowIn(numbers: Cells | undefined, plan: Plan): Row {
  const [mark, blockedUntil, written, expires] = numbers ?? [0, 0, 0, 0];
  const row = { mark, blockedUntil, written, expires };
  const state = numbers !== undefined && mark === markOf(plan) ? stateIn(numbers, plan) : undefined;
  return { ...row, ...(state ?? { cells: new Float64Array(plan.width), grown: new RowHeap() }) };
}

function stateIn(numbers: Cells, plan: Plan): Pick<Row, 'cells' | 'grown'> | undefined {
  let at = HEADER + plan.width;
  if (numbers.length < at) return undefined;
  const cells = numbers.slice(HEADER, at);
  const grown = new RowHeap();
  for (const { grows, offset } of plan.policies) {
    if (!grows) continue;
    const end = at + 1 + numbers[at];
    if (!(end <= numbers.length)) return undefined;
    cells[offset] = end === at + 1 ? 0 : grown.put(0, numbers.slice(at + 1, end));
    at = end;
  }
  return at === numbers.length ? { cells, grown } : undefined;
}

function encode({ mark, blockedUntil, written, expires, cells, grown }: Row, plan: Plan): Cells {
  const rows = plan.policies
    .filter(({ grows }) => grows)
    .map(({ offset }) => (cells[offset] === 0 ? [] : grown.get(cells[offset])));
  const length = rows.reduce((sum, row) => sum + 1 + row.length, HEADER + plan.width);
  const numbers = new Float64Array(length);
  numbers.set([mark, blockedUntil, written, expires]);
  numbers.set(cells, HEADER);
  // A pointer means nothing elsewhere.
  for (const { grows, offset } of plan.policies) if (grows) numbers[HEADER + offset] = 0;
  let at = HEADER + plan.width;
  for (const row of rows) {
    numbers[at] = row.length;
    numbers.set(row, at + 1);
    at += 1 + row.length;
  }
  return numbers;
}

function differ(a: Cells, b: Cells): boolean {
  return a.length !== b.length || a.some((number, i) => number !== b[i]);
}

const marks = new WeakMap<Plan, number>();

/** FNV-1a of the algorithms' names, never 0. */
function markOf(plan: Plan): number {
  const known = marks.get(plan);
  if (known !== undefined) return known;
  let hash = 0x811c9dc5;
  for (let i = 0; i < plan.signature.length; i++)
    hash = Math.imul(hash ^ plan.signature.charCodeAt(i), 0x01000193);
  const mark = (hash >>> 0) + 1;
  marks.set(plan, mark);
  return mark;
}
