/** All in this process, answered at once. */
import { clockOf, type GivenClock } from '../../clock.ts';
import type { Cells, Decision, Hit, Millis, Plan, Store } from '../../contract.ts';
import { decide, worth } from '../../engine.ts';
import { bound, known } from '../../options.ts';
import { RowHeap } from '../table/grown-rows.ts';
import { type RowKind, Table } from '../table/table.ts';

export interface MemoryOptions {
  /** Keys kept per limiter (and as many blocks by hand); when all of them live, one with much left, and soon clear, makes room. Default: no bound. */
  readonly maxKeys?: number | undefined;
  /** Where the time comes from; default: a monotonic clock. One without `after` is waited for with setTimeout. */
  readonly clock?: GivenClock | undefined;
}

export interface MemoryStore extends Store<Decision> {
  /** Rows kept now, over all limiters. */
  readonly size: number;
}

/** The default store: all in this process, answers at once. */
export function memory(options: MemoryOptions = {}): MemoryStore {
  const { maxKeys = Infinity, clock: given } = known('memory', options, ['maxKeys', 'clock']);
  bound('memory.maxKeys', maxKeys);
  const clock = clockOf('memory.clock', given);
  const groups = new Map<string, Group>();
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

  function spaceFor(plan: Plan): Space {
    const group = groups.get(plan.name) ?? { spaces: [], blocks: undefined };
    groups.set(plan.name, group);
    const known = group.spaces.find((space) => space.admits(plan));
    if (known !== undefined) return known;
    const space = new Space(plan, maxKeys, group);
    group.spaces.push(space);
    return space;
  }

  return {
    clock,
    apply: (hit) => spaceOf(hit.plan).apply(hit, clock.now()),
    close() {
      groups.clear();
      byPlan = new WeakMap();
      lastPlan = undefined;
    },
    get size() {
      let size = 0;
      for (const { spaces, blocks } of groups.values())
        size += spaces.reduce((sum, { table }) => sum + table.size, blocks?.size ?? 0);
      return size;
    },
  };
}

/** What all limiters of a name share. */
interface Group {
  readonly spaces: Space[];
  /** Blocks by hand are rare, so they have a table of their own instead of a cell in every row. */
  blocks: Table | undefined;
}

const BLOCK: RowKind = { width: 1, worth: (cells, at, now) => Math.min(0, now - cells[at]), forget() {} };

/** So many plans share rows at most: a row may be forgotten only when it is clear by all of them. */
const SHARING = 16;

/** The rows of plans that share a name and a signature, and read each other's rows. */
class Space implements RowKind {
  readonly width: number;
  readonly table: Table;
  readonly #plans: Plan[];
  readonly #grown = new RowHeap();
  readonly #group: Group;
  readonly #maxKeys: number;

  constructor(plan: Plan, maxKeys: number, group: Group) {
    this.width = plan.width;
    this.table = new Table(this, maxKeys);
    this.#plans = [plan];
    this.#group = group;
    this.#maxKeys = maxKeys;
  }

  /** Whether this plan's rows are here; from now on, if there is room for it. */
  admits(plan: Plan): boolean {
    const plans = this.#plans;
    if (plans[0].signature !== plan.signature) return false;
    return plans.some(({ id }) => id === plan.id) || (plans.length < SHARING && plans.push(plan) > 0);
  }

  apply(hit: Hit, now: Millis): Decision {
    const { verb, key } = hit;
    const { table } = this;
    const until = this.#blockedUntil(hit, now);

    let at = table.find(key);
    if (at < 0 && (verb === 'take' || verb === 'reserve')) at = table.add(now);
    if (at >= 0 && verb === 'reset') {
      this.forget(table.cells, at);
      table.cells.fill(0, at, at + this.width);
    }
    if (at >= 0) return decide(hit, table.cells, at, now, until, this.#grown);
    // What takes nothing, and has nothing to give back, leaves no row.
    return decide(hit, new Float64Array(this.width), 0, now, until, this.#grown);
  }

  /** The end of a block by hand, after the hit has changed it. */
  #blockedUntil({ verb, key, span }: Hit, now: Millis): Millis {
    const group = this.#group;
    if (verb === 'block') group.blocks ??= new Table(BLOCK, this.#maxKeys);
    const table = group.blocks;
    if (table === undefined) return 0;
    let at = table.find(key);
    if (verb === 'block') {
      if (at < 0) at = table.add(now);
      table.cells[at] = now + span;
    }
    if (at >= 0 && verb === 'reset') table.cells[at] = 0;
    return at < 0 ? 0 : table.cells[at];
  }

  worth(cells: Cells, at: number, now: Millis): number {
    let most = 0;
    for (const plan of this.#plans) {
      const own = worth(plan, cells, at, now, this.#grown);
      if (Math.abs(own) > Math.abs(most)) most = own;
    }
    return most;
  }

  forget(cells: Cells, at: number): void {
    for (const { grows, offset } of this.#plans[0].policies)
      if (grows) this.#grown.forget(cells[at + offset]);
  }
}
