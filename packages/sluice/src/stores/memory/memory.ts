/** All in this process, answered at once. */
import { clockFrom, systemClock } from '../../clock.ts';
import type { Cells, Clock, Decision, Hit, Millis, Plan, Store } from '../../contract.ts';
import { clearIn, decide } from '../../engine.ts';
import { SluiceError } from '../../errors.ts';
import { bound, known } from '../../options.ts';
import { RowHeap } from '../table/grown-rows.ts';
import { type RowKind, Table } from '../table/table.ts';

export interface MemoryOptions {
  /** Keys kept per limiter; when all of them live, the one nearest to clear makes room. Default: no bound. */
  readonly maxKeys?: number | undefined;
  /** Where the time comes from; default: a monotonic clock. One without `after` is waited for with setTimeout. */
  readonly clock?: { now(): Millis; after?: Clock['after'] } | undefined;
}

export interface MemoryStore extends Store<Decision> {
  /** Rows kept now, over all limiters. */
  readonly size: number;
}

export function memory(options: MemoryOptions = {}): MemoryStore {
  const { maxKeys = Infinity, clock: given } = known('memory', options, ['maxKeys', 'clock']);
  bound('memory.maxKeys', maxKeys);
  const clock = given === undefined ? systemClock : clockOf(given);
  const spaces = new Map<string, Space>();
  let lastPlan: Plan | undefined;
  let lastSpace: Space | undefined;

  function spaceOf(plan: Plan): Space {
    if (plan === lastPlan) return lastSpace as Space;
    const id = JSON.stringify([plan.name, plan.signature]);
    let space = spaces.get(id);
    if (space === undefined) spaces.set(id, (space = new Space(plan, maxKeys)));
    // Limits may have changed under the same name: rows are judged by the newest.
    space.plan = plan;
    lastPlan = plan;
    lastSpace = space;
    return space;
  }

  return {
    clock,
    apply: (hit) => spaceOf(hit.plan).apply(hit, clock.now()),
    close() {
      spaces.clear();
      lastPlan = undefined;
    },
    get size() {
      let size = 0;
      for (const space of spaces.values()) size += space.size;
      return size;
    },
  };
}

function clockOf(given: NonNullable<MemoryOptions['clock']>): Clock {
  if (typeof given?.now !== 'function') throw new SluiceError('ERR_OPTIONS', 'memory.clock', given, 'with now()');
  return given.after === undefined ? clockFrom(() => given.now()) : (given as Clock);
}

/** A block by hand is rare, so it has a table of its own instead of a cell in every row. */
const BLOCK: RowKind = {
  width: 1,
  clearIn: (cells, at, now) => cells[at] - now,
  forget() {},
};

/** The rows of one limiter. */
class Space implements RowKind {
  plan: Plan;
  readonly width: number;
  private readonly grown = new RowHeap();
  private readonly table: Table;
  private readonly maxKeys: number;
  private readonly fresh: Cells;
  private blocks: Table | undefined;

  constructor(plan: Plan, maxKeys: number) {
    this.plan = plan;
    this.width = plan.width;
    this.maxKeys = maxKeys;
    this.fresh = new Float64Array(plan.width);
    this.table = new Table(this, maxKeys);
  }

  get size(): number {
    return this.table.size + (this.blocks?.size ?? 0);
  }

  apply(hit: Hit, now: Millis): Decision {
    const { verb, key } = hit;
    const { table } = this;
    let at = table.find(key);
    if (at < 0 && (verb === 'take' || verb === 'reserve')) at = table.add(key, now);
    if (at >= 0 && verb === 'reset') {
      this.forget(table.cells, at);
      table.cells.fill(0, at, at + this.width);
    }
    const cells = table.cells;
    if (verb === 'block' || verb === 'reset') this.block(key, now, verb === 'block' ? hit.span : 0);
    const until = this.blocks === undefined ? 0 : this.blockedUntil(key);
    if (at >= 0) return decide(hit, cells, at, now, until, this.grown);
    // A key without a row has nothing to give back, and needs no row to say so.
    const peek: Hit = { ...hit, verb: 'peek', cost: verb === 'peek' ? hit.cost : 1 };
    return decide(peek, this.fresh, 0, now, until, this.grown);
  }

  clearIn(cells: Cells, at: number, now: Millis): Millis {
    return clearIn(this.plan, cells, at, now, this.grown);
  }

  forget(cells: Cells, at: number): void {
    for (const { grows, offset } of this.plan.policies) {
      if (grows) this.grown.forget(cells[at + offset]);
    }
  }

  private block(key: string, now: Millis, span: Millis): void {
    if (this.blocks === undefined) {
      if (span === 0) return;
      this.blocks = new Table(BLOCK, this.maxKeys);
    }
    const found = this.blocks.find(key);
    const at = found < 0 ? this.blocks.add(key, now) : found;
    this.blocks.cells[at] = now + span;
  }

  private blockedUntil(key: string): Millis {
    const blocks = this.blocks as Table;
    const at = blocks.find(key);
    return at < 0 ? 0 : blocks.cells[at];
  }
}
