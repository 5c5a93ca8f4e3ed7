/** The rows of one table, which belong to all plans with the same name and signature. These plans read each other's rows. */
import type { Cells, Decision, Hit, Millis, Plan } from '../../engine/contract.ts';
import { decide } from '../../engine/decide.ts';
import { clearIn, evictionWeight } from '../../engine/row.ts';
import { RowHeap } from '../table/variable-length-rows.ts';
import type { RowKind } from '../table/generations.ts';
import { Table } from '../table/table.ts';

/** State that all limiters with the same name share. */
export interface Group {
  readonly name: string;
  /** The tables of this name, by the signature of their plans. */
  readonly spaces: Map<string, Space>;
  /** Manual blocks are rare, so they have a separate table instead of a cell in every row. */
  blocks: Table | undefined;
}

const BLOCK: RowKind = {
  width: 1,
  evictionWeight: (cells, at, now) => Math.min(0, now - cells[at]),
  forget() {},
};

export function blockTable(maxKeys: number, seed: Int32Array): Table {
  return new Table(BLOCK, maxKeys, seed);
}

/**
 * With at most this many plans, each plan is asked whether a row may be dropped. With more plans, each row has a note that says
 * until when the row is needed.
 */
const ASKED = 4;
/**
 * Number of cells in the note at the end of a row. They contain the time until which the row is needed, and the row's eviction
 * weight per millisecond of the remaining time.
 */
export const NOTE = 2;
/** Verbs that may charge a key that has no row yet. */
const ADDS_ROW: ReadonlySet<Hit['verb']> = new Set(['take', 'reserve', 'renew']);
/** The longest duration that a weight is computed from, in milliseconds, because weights must stay finite. */
const LONGEST = 1e15;

/** Whether a settlement charges something, because more was used than had been charged. */
function isCharging({ cost }: Hit): boolean {
  return typeof cost === 'number' ? cost > 0 : cost.some((units) => units > 0);
}

export class Space implements RowKind {
  width: number;
  readonly table: Table;
  /** The first plans that joined, at most ASKED of them. */
  readonly plans: Plan[];
  /** Whether each row has a note. */
  hasNotes = false;
  /** Whether the store has dropped these rows. If so, the plan's next hit must get a new space. */
  isDropped = false;
  readonly variableRows: RowHeap = new RowHeap();
  readonly group: Group;
  readonly #maxKeys: number;
  readonly #seed: Int32Array;
  readonly #onAdd: (space: Space, now: Millis) => void;

  /** `onAdd` is called before a row is added. */
  constructor(
    plan: Plan,
    maxKeys: number,
    seed: Int32Array,
    group: Group,
    onAdd: (space: Space, now: Millis) => void,
  ) {
    this.width = plan.width;
    this.table = new Table(this, maxKeys, seed);
    this.#seed = seed;
    this.plans = [plan];
    this.group = group;
    this.#maxKeys = maxKeys;
    this.#onAdd = onAdd;
  }

  /** Must be called before the plan's first hit. */
  join(plan: Plan): void {
    const plans = this.plans;
    if (this.hasNotes || plans.some(({ id }) => id === plan.id)) return;
    if (plans.length < ASKED) {
      plans.push(plan);
      return;
    }
    this.beginNotes();
  }

  /** Gives each row a note from now on. */
  beginNotes(): void {
    this.hasNotes = true;
    this.width += NOTE;
    this.table.generations.widen();
  }

  apply(hit: Hit, now: Millis): Decision {
    const { verb, key } = hit;
    const { table } = this;
    if (verb === 'block') this.#block(key, now, hit.span);
    else if (verb === 'reset') this.#reset(key, now);
    const until = this.#blockedUntil(key);
    let at = this.#find(key, now);
    if (at < 0 && (ADDS_ROW.has(verb) || (verb === 'settle' && isCharging(hit)))) at = this.add(key, now);
    // A hit that takes nothing and has nothing to give back does not add a row.
    if (at < 0) return decide(hit, new Float64Array(this.width), 0, now, until, this.variableRows);
    if (this.hasNotes) return this.#decideAndNote(hit, at, now, until);
    return decide(hit, table.cells, at, now, until, this.variableRows);
  }

  /** Adds a row for a key that has none, and returns where it starts in the table's cells. */
  add(key: string, now: Millis): number {
    this.#onAdd(this, now);
    return this.table.add(key, now);
  }

  /** Called when the store no longer uses these rows. Limiters may still refer to them, so the memory is freed here. */
  drop(): void {
    this.isDropped = true;
    this.table.clear();
  }

  #find(key: string, now: Millis): number {
    return this.hasNotes ? this.table.findWide(key, now) : this.table.find(key);
  }

  /** Fills the key's row with zeros. */
  #clear(key: string, now: Millis): void {
    const at = this.#find(key, now);
    if (at < 0) return;
    const { cells } = this.table;
    this.forget(cells, at);
    cells.fill(0, at, at + this.width);
  }

  #decideAndNote(hit: Hit, at: number, now: Millis, until: Millis): Decision {
    const { cells } = this.table;
    const decision = decide(hit, cells, at, now, until, this.variableRows);
    if (hit.verb !== 'peek') this.#note(hit.plan, cells, at, now);
    return decision;
  }

  /** When the key's manual block ends. 0 if the key is not blocked. */
  #blockedUntil(key: string): Millis {
    const table = this.group.blocks;
    if (table === undefined) return 0;
    const at = table.find(key);
    return at < 0 ? 0 : table.cells[at];
  }

  /**
   * Sets a manual block. To end a block (`span` is 0), 0 is stored, because the current time would still block the key if the clock
   * went back.
   */
  #block(key: string, now: Millis, span: Millis): void {
    const group = this.group;
    group.blocks ??= blockTable(this.#maxKeys, this.#seed);
    const table = group.blocks;
    let at = table.find(key);
    // Unblocking a key that has no block must not evict another key's block.
    if (at < 0 && span === 0) return;
    if (at < 0) at = table.add(key, now);
    table.cells[at] = span > 0 ? now + span : 0;
  }

  /** Ends a manual block and clears the key's rows. Like a block, a reset applies to all plans with the limiter's name. */
  #reset(key: string, now: Millis): void {
    const { blocks, spaces } = this.group;
    const at = blocks?.find(key) ?? -1;
    if (blocks !== undefined && at >= 0) blocks.cells[at] = 0;
    for (const space of spaces.values()) space.#clear(key, now);
  }

  /**
   * Records in the note that this plan wrote the row, so the row is needed at least until it is fully replenished under this plan.
   */
  #note(plan: Plan, cells: Cells, at: number, now: Millis): void {
    const clear = clearIn(plan, cells, at, now, this.variableRows);
    if (clear > 0)
      this.#write(cells, at, now, clear, evictionWeight(plan, cells, at, now, this.variableRows));
  }

  /**
   * Writes a note. A row is needed until no plan that wrote it needs it any longer. The row's weight is computed from the plan
   * that wrote the row last.
   */
  #write(cells: Cells, at: number, now: Millis, clear: Millis, weight: number): void {
    const note = at + this.width - NOTE;
    cells[note] = Math.max(cells[note], now + clear);
    cells[note + 1] = weight / Math.min(clear, LONGEST);
  }

  /**
   * Writes the note of a row that was added before rows had notes. It is not known which of `plans` wrote the row, so the note
   * covers all of them.
   */
  extend(cells: Cells, at: number, now: Millis): void {
    let longest = 0;
    for (const plan of this.plans)
      longest = Math.max(longest, clearIn(plan, cells, at, now, this.variableRows));
    if (longest > 0) this.#write(cells, at, now, longest, this.#weightForPlans(cells, at, now));
  }

  evictionWeight(cells: Cells, at: number, now: Millis, width: number): number {
    if (width === this.plans[0].width) return this.#weightForPlans(cells, at, now);
    const note = at + width - NOTE;
    const left = cells[note] - now;
    return left > 0 ? cells[note + 1] * Math.min(left, LONGEST) : 0;
  }

  #weightForPlans(cells: Cells, at: number, now: Millis): number {
    let most = 0;
    for (const plan of this.plans) {
      const own = evictionWeight(plan, cells, at, now, this.variableRows);
      if (Math.abs(own) > Math.abs(most)) most = own;
    }
    return most;
  }

  forget(cells: Cells, at: number): void {
    for (const { grows, offset } of this.plans[0].slots)
      if (grows) this.variableRows.forget(cells[at + offset]);
  }
}
