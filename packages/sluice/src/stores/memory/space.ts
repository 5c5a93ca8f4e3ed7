/** The rows of one table: of all plans that have a name and a signature in common, and so read each other's rows. */
import type { Cells, Decision, Hit, Millis, Plan } from '../../engine/contract.ts';
import { clearIn, decide, worth } from '../../engine/decide.ts';
import { RowHeap } from '../table/variable-length-rows.ts';
import { type RowKind, Table } from '../table/table.ts';

/** What all limiters of a name share. */
export interface Group {
  readonly name: string;
  /** By signature. */
  readonly spaces: Map<string, Space>;
  /** Manual blocks are rare, so they have a table of their own instead of a cell in every row. */
  blocks: Table | undefined;
}

const BLOCK: RowKind = { width: 1, worth: (cells, at, now) => Math.min(0, now - cells[at]), forget() {} };

export function blockTable(maxKeys: number, seed: Int32Array): Table {
  return new Table(BLOCK, maxKeys, seed);
}

/** Up to this many plans are asked one by one whether a row may be forgotten. With more of them, each row says it itself. */
const ASKED = 4;
/** Cells behind a row that says it itself: until when it is needed, and its eviction weight per millisecond until then. */
export const NOTE = 2;
/** Weights must stay finite, in milliseconds. */
const LONGEST = 1e15;

export class Space implements RowKind {
  width: number;
  readonly table: Table;
  /** The first plans that were seen here, at most ASKED. */
  readonly plans: Plan[];
  #hasNotes = false;
  readonly grown: RowHeap = new RowHeap();
  readonly #group: Group;
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
    this.#group = group;
    this.#maxKeys = maxKeys;
    this.#onAdd = onAdd;
  }

  /** Must be called before the plan's first hit. */
  join(plan: Plan): void {
    const plans = this.plans;
    if (this.#hasNotes || plans.some(({ id }) => id === plan.id)) return;
    if (plans.length < ASKED) {
      plans.push(plan);
      return;
    }
    this.beginNotes();
  }

  /** From here on each row says how long it is needed. */
  beginNotes(): void {
    this.#hasNotes = true;
    this.width += NOTE;
    this.table.widen();
  }

  apply(hit: Hit, now: Millis): Decision {
    const { verb, key } = hit;
    const { table } = this;
    const until = this.#blockedUntil(hit, now);

    // A reset reaches every version of the limiter, as a manual block does.
    if (verb === 'reset') for (const space of this.#group.spaces.values()) space.#clear(key, now);
    let at = this.#find(key, now);
    if (at < 0 && (verb === 'take' || verb === 'reserve' || verb === 'renew')) {
      this.#onAdd(this, now);
      at = table.add(now);
    }
    // A hit that takes nothing, and has nothing to give back, leaves no row.
    if (at < 0) return decide(hit, new Float64Array(this.width), 0, now, until, this.grown);
    if (this.#hasNotes) return this.#decideAndNote(hit, at, now, until);
    return decide(hit, table.cells, at, now, until, this.grown);
  }

  #find(key: string, now: Millis): number {
    return this.#hasNotes ? this.table.findWide(key, now) : this.table.find(key);
  }

  /** Makes the key's row one of zeros. */
  #clear(key: string, now: Millis): void {
    const at = this.#find(key, now);
    if (at < 0) return;
    const { cells } = this.table;
    this.forget(cells, at);
    cells.fill(0, at, at + this.width);
  }

  #decideAndNote(hit: Hit, at: number, now: Millis, until: Millis): Decision {
    const { cells } = this.table;
    const decision = decide(hit, cells, at, now, until, this.grown);
    if (hit.verb !== 'peek') this.#note(hit.plan, cells, at, now);
    return decision;
  }

  /** When a manual block ends, after the hit has changed it. */
  #blockedUntil({ verb, key, span }: Hit, now: Millis): Millis {
    const group = this.#group;
    if (verb === 'block') group.blocks ??= blockTable(this.#maxKeys, this.#seed);
    const table = group.blocks;
    if (table === undefined) return 0;
    let at = table.find(key);
    if (verb === 'block') {
      // To unblock a key (span 0) must not evict another key's block.
      if (at < 0 && span > 0) at = table.add(now);
      if (at >= 0) table.cells[at] = now + span;
    }
    if (at >= 0 && verb === 'reset') table.cells[at] = 0;
    return at < 0 ? 0 : table.cells[at];
  }

  /** Notes that a plan wrote the row: it is needed at least until it is fully replenished by this plan. */
  #note(plan: Plan, cells: Cells, at: number, now: Millis): void {
    const clear = clearIn(plan, cells, at, now, this.grown);
    if (clear > 0) this.#write(cells, at, now, clear, worth(plan, cells, at, now, this.grown));
  }

  /** The row is needed for as long as the plan needs it that needs it longest; it weighs what it weighs by the last one. */
  #write(cells: Cells, at: number, now: Millis, clear: Millis, weight: number): void {
    const note = at + this.width - NOTE;
    cells[note] = Math.max(cells[note], now + clear);
    cells[note + 1] = weight / Math.min(clear, LONGEST);
  }

  /** A row from before there were notes may have been written by any of the first plans. */
  extend(cells: Cells, at: number, now: Millis): void {
    let longest = 0;
    for (const plan of this.plans) longest = Math.max(longest, clearIn(plan, cells, at, now, this.grown));
    if (longest > 0) this.#write(cells, at, now, longest, this.#worthToPlans(cells, at, now));
  }

  worth(cells: Cells, at: number, now: Millis, width: number): number {
    if (width === this.plans[0].width) return this.#worthToPlans(cells, at, now);
    const note = at + width - NOTE;
    const left = cells[note] - now;
    return left > 0 ? cells[note + 1] * Math.min(left, LONGEST) : 0;
  }

  #worthToPlans(cells: Cells, at: number, now: Millis): number {
    let most = 0;
    for (const plan of this.plans) {
      const own = worth(plan, cells, at, now, this.grown);
      if (Math.abs(own) > Math.abs(most)) most = own;
    }
    return most;
  }

  forget(cells: Cells, at: number): void {
    for (const { grows, offset } of this.plans[0].slots) if (grows) this.grown.forget(cells[at + offset]);
  }
}
