/**
 * The tables of a store. Where there are many, unused ones must not stay: while tables or rows are added, the store looks
 * at some slots of its other tables, and drops a table once all of its rows are fully replenished.
 */
import type { Millis, Plan } from '../../engine/contract.ts';
import { randomSeed } from '../table/fingerprint.ts';
import { type Group, Space } from './space.ts';

/** A store with no more tables than this drops none: these are a program's own limiters. */
const FEW = 8;
/** Slots looked at with each new table, and as often as ROWS rows are new. */
const SLOTS = 512;
const ROWS = 64;
/** To visit a table at all takes as long as to look at this many of its slots. */
const VISIT = 8;

export class Spaces {
  readonly maxKeys: number;
  readonly #onDrop: () => void;
  #seed: Int32Array | undefined;
  readonly groups: Map<string, Group> = new Map();
  /** Tables, without those of manual blocks. */
  #count = 0;
  /** Rows that were added since slots were looked at. */
  #rows = 0;
  /** Goes around all groups; `#visited` is the one that it is at, if there is more to look at. */
  #round: Iterator<Group> = this.groups.values();
  #visited: Group | undefined;

  /** `onDrop` is called when tables were dropped: `of` may answer differently for any plan from then on. */
  constructor(maxKeys: number, onDrop: () => void, seed?: Int32Array) {
    this.maxKeys = maxKeys;
    this.#seed = seed;
    this.#onDrop = onDrop;
  }

  /** Of all fingerprints. Drawn when it is first needed: while modules load, Workers have no random numbers to give. */
  get seed(): Int32Array {
    this.#seed ??= randomSeed();
    return this.#seed;
  }

  /** Where the plan's rows are. */
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

  get size(): number {
    let size = 0;
    for (const { spaces, blocks } of this.groups.values()) {
      size += blocks?.size ?? 0;
      for (const { table } of spaces.values()) size += table.size;
    }
    return size;
  }

  readonly #added = (space: Space, now: Millis): void => {
    if (this.#count <= FEW || ++this.#rows < ROWS) return;
    this.#rows = 0;
    this.#sweep(now, space);
  };

  /** `asking`: a table that is about to get a row. */
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

  /** There is at least one group. */
  #next(): Group {
    const { value, done } = this.#round.next();
    if (done !== true) return value;
    this.#round = this.groups.values();
    return this.#next();
  }

  /** Returns how many slots it looked at. */
  #visit(group: Group, now: Millis, slots: number, asking: Space | undefined): number {
    let looked = 0;
    for (const [signature, space] of group.spaces) {
      looked += VISIT + space.table.sweep(now, slots - looked);
      if (space.table.size === 0 && space !== asking) {
        group.spaces.delete(signature);
        this.#count--;
      }
      if (looked >= slots) return looked;
    }
    if (group.blocks !== undefined) {
      looked += VISIT + group.blocks.sweep(now, slots - looked);
      if (group.blocks.size === 0) group.blocks = undefined;
    }
    if (group.spaces.size === 0 && group.blocks === undefined) this.groups.delete(group.name);
    return looked;
  }
}
