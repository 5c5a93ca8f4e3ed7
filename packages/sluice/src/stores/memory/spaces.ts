/**
 * The tables of a store. If a store has many tables, it must drop unused ones. So whenever tables or rows are added, the store
 * examines some slots of its other tables, and drops a table once all of its rows are fully replenished.
 */
import type { Millis, Plan } from '../../engine/contract.ts';
import { randomSeed } from '../table/fingerprint.ts';
import { type Group, Space } from './space.ts';

/**
 * A store with at most this many tables drops none of them, because they most likely belong to the program's permanent limiters.
 */
const FEW = 8;
/** Number of slots to examine with each new table, and with every ROWS new rows. */
const SLOTS = 512;
const ROWS = 64;
/** Visiting a table costs as much as examining this many of its slots. */
const VISIT = 8;

export class Spaces {
  readonly maxKeys: number;
  readonly #onDrop: () => void;
  #seed: Int32Array | undefined;
  readonly groups: Map<string, Group> = new Map();
  /** The number of tables, not counting the tables of manual blocks. */
  #count = 0;
  /** Number of rows in use that were evicted from tables that have been dropped since. */
  #evictedBefore = 0;
  /** Number of rows that were added since the last sweep. */
  #rows = 0;
  /** Iterates over all groups. `#visited` is the current group, if some of its slots are not examined yet. */
  #round: Iterator<Group> = this.groups.values();
  #visited: Group | undefined;

  /** `onDrop` is called after tables were dropped, because a space that `of` returned earlier may be one of them. */
  constructor(maxKeys: number, onDrop: () => void, seed?: Int32Array) {
    this.maxKeys = maxKeys;
    this.#seed = seed;
    this.#onDrop = onDrop;
  }

  /**
   * The seed of all fingerprints. Created on first use, because Cloudflare Workers provide no random numbers while modules load.
   */
  get seed(): Int32Array {
    this.#seed ??= randomSeed();
    return this.#seed;
  }

  /** The table of the plan's rows. */
  of(plan: Plan, now: Millis): Space {
    const known = this.groups.get(plan.name)?.spaces.get(plan.signature);
    if (known !== undefined) {
      known.join(plan);
      return known;
    }
    if (this.#count >= FEW) this.#sweep(now);
    const group = this.group(plan.name);
    const space = new Space(plan, this.maxKeys, this.seed, group, this.#added);
    group.spaces.set(plan.signature, space);
    this.#count++;
    return space;
  }

  group(name: string): Group {
    const group = this.groups.get(name) ?? { name, spaces: new Map(), blocks: undefined };
    this.groups.set(name, group);
    return group;
  }

  /** Drops all tables. */
  drop(): void {
    for (const { spaces } of this.groups.values()) for (const space of spaces.values()) space.drop();
  }

  get size(): number {
    let size = 0;
    for (const { spaces, blocks } of this.groups.values()) {
      size += blocks?.size ?? 0;
      for (const { table } of spaces.values()) size += table.size;
    }
    return size;
  }

  /** Number of rows in use, and of manual blocks, that were evicted. It never decreases. */
  get evictions(): number {
    let evictions = this.#evictedBefore;
    for (const { spaces, blocks } of this.groups.values()) {
      evictions += blocks?.generations.evictions ?? 0;
      for (const { table } of spaces.values()) evictions += table.generations.evictions;
    }
    return evictions;
  }

  readonly #added = (space: Space, now: Millis): void => {
    if (this.#count <= FEW || ++this.#rows < ROWS) return;
    this.#rows = 0;
    this.#sweep(now, space);
  };

  /** Examines some slots. `asking` is a table that must not be dropped, because it is about to get a row. */
  #sweep(now: Millis, asking?: Space): void {
    const before = this.#count;
    let slots = SLOTS;
    for (let groups = this.groups.size; groups > 0 && slots > 0; groups--) {
      const group = this.#visited ?? this.#next();
      slots -= this.#visit(group, now, slots, asking);
      this.#visited = slots > 0 ? undefined : group;
    }
    if (this.#count < before) this.#onDrop();
  }

  /** The next group, or the first one again after the last. There must be at least one group. */
  #next(): Group {
    const { value, done } = this.#round.next();
    if (done !== true) return value;
    this.#round = this.groups.values();
    return this.#next();
  }

  /** Examines slots of a group, and drops its unused tables. Returns how many slots it examined. */
  #visit(group: Group, now: Millis, slots: number, asking: Space | undefined): number {
    let looked = 0;
    for (const [signature, space] of group.spaces) {
      looked += VISIT + space.table.generations.sweep(now, slots - looked);
      if (space.table.size === 0 && space !== asking) {
        space.drop();
        this.#evictedBefore += space.table.generations.evictions;
        group.spaces.delete(signature);
        this.#count--;
      }
      if (looked >= slots) return looked;
    }
    if (group.blocks !== undefined) {
      looked += VISIT + group.blocks.generations.sweep(now, slots - looked);
      if (group.blocks.size === 0) {
        this.#evictedBefore += group.blocks.generations.evictions;
        group.blocks = undefined;
      }
    }
    if (group.spaces.size === 0 && group.blocks === undefined) this.groups.delete(group.name);
    return looked;
  }
}
