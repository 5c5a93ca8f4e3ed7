/** All in this process, answered at once. */
import { clockOf, type GivenClock } from '../../clock.ts';
import type { Cells, Decision, Hit, Millis, Plan, Store } from '../../contract.ts';
import { clearIn, decide } from '../../engine.ts';
import { bound, known } from '../../options.ts';
import { RowHeap } from '../table/grown-rows.ts';
import { type RowKind, Table } from '../table/table.ts';

export interface MemoryOptions {
  /** Keys kept per limiter (and as many blocks by hand); when all of them live, the one nearest to clear makes room. Default: no bound. */
  readonly maxKeys?: number | undefined;
  /** Where the time comes from; default: a monotonic clock. One without `after` is waited for with setTimeout. */
  readonly clock?: GivenClock | undefined;
}

export interface MemoryStore extends Store<Decision> {
  /** Rows kept now, over all limiters. */
  readonly size: number;
}

export function memory(options: MemoryOptions = {}): MemoryStore {
  const { maxKeys = Infinity, clock: given } = known('memory', options, ['maxKeys', 'clock']);
  bound('memory.maxKeys', maxKeys);
  const clock = clockOf('memory.clock', given);
  const spaces = new Map<string, Space>();
  const blocks = new Map<string, Blocks>();
  let byPlan = new WeakMap<Plan, Space>();
  let lastPlan: Plan | undefined;
  let lastSpace: Space | undefined;

  function spaceOf(plan: Plan): Space {
    if (plan === lastPlan) return lastSpace as Space;
    const space = byPlan.get(plan) ?? spaceFor(plan);
    byPlan.set(plan, space);
    lastPlan = plan;
    lastSpace = space;
    return space;
  }

  /** Plans of one name and signature share their rows, up to a bound; what comes after has rows of its own. */
  function spaceFor(plan: Plan): Space {
    const blocked = blocks.get(plan.name) ?? new Blocks(maxKeys);
    blocks.set(plan.name, blocked);
    for (let i = 0; ; i++) {
      const id = JSON.stringify([plan.name, plan.signature, i]);
      const space = spaces.get(id) ?? new Space(plan, maxKeys, blocked);
      spaces.set(id, space);
      if (space.admits(plan)) return space;
    }
  }

  return {
    clock,
    apply: (hit) => spaceOf(hit.plan).apply(hit, clock.now()),
    close() {
      spaces.clear();
      blocks.clear();
      byPlan = new WeakMap();
      lastPlan = undefined;
    },
    get size() {
      let size = 0;
      for (const { table } of spaces.values()) size += table.size;
      for (const { table } of blocks.values()) size += table?.size ?? 0;
      return size;
    },
  };
}

/** Blocks by hand, of all plans of a name. They are rare, so they have a table of their own instead of a cell in every row. */
class Blocks implements RowKind {
  readonly width = 1;
  table: Table | undefined;
  private readonly maxKeys: number;

  constructor(maxKeys: number) {
    this.maxKeys = maxKeys;
  }

  set(key: string, now: Millis, until: Millis): void {
    this.table ??= new Table(this, this.maxKeys);
    const found = this.table.find(key);
    const at = found < 0 ? this.table.add(key, now) : found;
    this.table.cells[at] = until;
  }

  until(key: string): Millis {
    if (this.table === undefined) return 0;
    const at = this.table.find(key);
    return at < 0 ? 0 : this.table.cells[at];
  }

  clearIn(cells: Cells, at: number, now: Millis): Millis {
    return cells[at] - now;
  }

  forget(): void {}
}

/** So many plans share rows at most: a row may be forgotten only when it is clear by all of them. */
const SHARING = 16;

/** The rows of one limiter, or of some that share a name and read each other's rows. */
class Space implements RowKind {
  readonly width: number;
  readonly table: Table;
  private readonly plans: Plan[] = [];
  private readonly grown = new RowHeap();
  private readonly fresh: Cells;
  private readonly blocks: Blocks;

  constructor(plan: Plan, maxKeys: number, blocks: Blocks) {
    this.width = plan.width;
    this.fresh = new Float64Array(plan.width);
    this.table = new Table(this, maxKeys);
    this.blocks = blocks;
  }

  /** Whether this plan's rows are here. */
  admits(plan: Plan): boolean {
    if (this.plans.some(({ id }) => id === plan.id)) return true;
    return this.plans.length < SHARING && this.plans.push(plan) > 0;
  }

  apply(hit: Hit, now: Millis): Decision {
    const { verb, key } = hit;
    const { table } = this;
    if (verb === 'block') this.blocks.set(key, now, now + hit.span);
    else if (verb === 'reset') this.blocks.set(key, now, 0);
    const until = this.blocks.until(key);

    let at = table.find(key);
    if (at < 0 && (verb === 'take' || verb === 'reserve')) at = table.add(key, now);
    if (at >= 0 && verb === 'reset') {
      this.forget(table.cells, at);
      table.cells.fill(0, at, at + this.width);
    }
    if (at >= 0) return decide(hit, table.cells, at, now, until, this.grown);
    // A key without a row has nothing to give back, and needs no row to say so.
    const peek: Hit = { ...hit, verb: 'peek', cost: verb === 'peek' ? hit.cost : 1 };
    return decide(peek, this.fresh, 0, now, until, this.grown);
  }

  clearIn(cells: Cells, at: number, now: Millis): Millis {
    let longest = 0;
    for (let i = 0; i < this.plans.length; i++) {
      const wait = clearIn(this.plans[i], cells, at, now, this.grown);
      if (wait > longest) longest = wait;
    }
    return longest;
  }

  forget(cells: Cells, at: number): void {
    const [plan] = this.plans as [Plan];
    for (const { grows, offset } of plan.policies) if (grows) this.grown.forget(cells[at + offset]);
  }
}
