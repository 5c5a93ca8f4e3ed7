/** A store in a SharedArrayBuffer, with one table for all threads of a process. It answers synchronously. */
import { clockOf, type GivenClock } from '../../internal/clock.ts';
import type { Decision, Hit, Millis, PlacedPolicy, Plan, Store } from '../../engine/contract.ts';
import { decide } from '../../engine/decide.ts';
import { SluiceError } from '../../internal/errors.ts';
import { checkOptionNames, whole } from '../../internal/options.ts';
import { fingerprint, high, low } from '../table/fingerprint.ts';
import {
  BLOCKED,
  createBuffer,
  HIGHEST_LEVEL,
  INLINE,
  LATEST_CELL,
  type Layout,
  layoutOf,
  MOST_UNITS,
  SEED,
  THREADS,
  UNIT,
  weightBits,
} from './layout.ts';
import { inlinePolicies, inlineTake } from './inline-take.ts';
import { Rows } from './rows.ts';
import { isUntouched, Scratch } from './scratch.ts';
import { decideAll, type RowTake } from './take-all.ts';
import { setEpoch, threadClock } from './thread-clock.ts';
import { unitsFor } from './units.ts';
import { Weights } from './weights.ts';

export interface AttachOptions {
  /** The clock. Default: a monotonic clock that is the same in all threads. */
  readonly clock?: GivenClock | undefined;
}

export interface SharedMemoryOptions extends AttachOptions {
  /**
   * The maximum number of keys of all limiters, including manual blocks. When the table is full, the key closest to being fully
   * replenished is evicted.
   */
  readonly maxKeys: number;
  /** The maximum number of log entries (slidingLog, concurrency) of all keys. Default 8 × maxKeys. */
  readonly logEntries?: number | undefined;
}

/** The memory of a store, to post to another thread. */
export type SharedMemoryHandle = SharedArrayBuffer;

export interface SharedMemoryStore extends Store<Decision> {
  /** Pass this to `attachSharedMemory` in another thread. Its `byteLength` is all the memory that the store uses. */
  readonly handle: SharedMemoryHandle;
  /** The current number of rows of all limiters. */
  readonly size: number;
}

/** Creates a store in shared memory. Post `store.handle` to other threads, which open it with `attachSharedMemory`. */
export function sharedMemory(options: SharedMemoryOptions): SharedMemoryStore {
  const { maxKeys, logEntries, clock } = checkOptionNames('sharedMemory', options, [
    'maxKeys',
    'logEntries',
    'clock',
  ]);
  whole('sharedMemory.maxKeys', maxKeys);
  const entries = logEntries === undefined ? 8 * maxKeys : whole('sharedMemory.logEntries', logEntries);
  const handle = createBuffer(maxKeys, entries);
  setEpoch(layoutOf(handle));
  return open(handle, clock);
}

/** Opens the store of another thread by its `handle`, so that all threads count together. */
export function attachSharedMemory(
  handle: SharedMemoryHandle,
  options: AttachOptions = {},
): SharedMemoryStore {
  const { clock } = checkOptionNames('attachSharedMemory', options, ['clock']);
  return open(handle, clock);
}

/** Values computed once per plan. They are the same in all threads. */
interface Space {
  /** Seeds for the fingerprints of the plan's rows and of its limiter's manual blocks. */
  readonly row: Int32Array;
  readonly block: Int32Array;
  /** The divisor of eviction weights, which makes the weights of different limiters comparable. */
  readonly measure: number;
}

function open(handle: SharedMemoryHandle, given: AttachOptions['clock']): SharedMemoryStore {
  const layout = layoutOf(handle);
  const { words, cells } = layout;
  const rows = new Rows(layout, Atomics.add(words, THREADS, 1));
  const scratch = new Scratch(layout);
  /** Copies of the rows of a `takeMany`, one for each row. */
  const scratches: Scratch[] = [];
  const weights = new Weights(layout);
  const clock = clockOf('sharedMemory.clock', given);
  const time = given === undefined ? threadClock(layout) : () => clock.now();
  const thread = { layout, lock: rows.lock, weights, time, isGiven: given !== undefined };
  const take = inlineTake(thread);
  const block = new Float64Array(1);
  const spaces = new WeakMap<Plan, Space>();
  /**
   * The fingerprint seeds of rows, by the plan's name and then by its signature. A reset clears the key's rows of all signatures
   * that this thread has used with the limiter's name.
   */
  const versions = new Map<string, Map<string, Int32Array>>();
  let lastPlan: Plan | undefined;
  let lastSpace: Space | undefined;

  function spaceOf(plan: Plan): Space {
    if (plan === lastPlan) return lastSpace as Space;
    const space = spaces.get(plan) ?? spaceFor(plan, layout);
    spaces.set(plan, space);
    const named = versions.get(plan.name) ?? new Map<string, Int32Array>();
    versions.set(plan.name, named.set(plan.signature, space.row));
    lastPlan = plan;
    lastSpace = space;
    return space;
  }

  /**
   * The current time for hits on the locked stripe. This time never goes back for any thread, unless the store uses a clock that
   * the caller passed and that clock goes back.
   */
  function now(): Millis {
    const latest = (rows.head >> 1) + LATEST_CELL;
    cells[latest] = given === undefined ? Math.max(cells[latest], time()) : time();
    return cells[latest];
  }

  /**
   * Calls `act` while this thread holds the key's lock. Repeats the call if the lock was lost, which happens only to a thread
   * that was stopped.
   */
  function locked<T>(key: string, seed: Int32Array, act: (slot: number) => T): T {
    for (;;) {
      fingerprint(key, seed);
      const slot = rows.open(low, high);
      let result: T;
      let kept = false;
      try {
        result = act(slot);
      } finally {
        kept = rows.close();
      }
      if (kept) return result;
    }
  }

  /** Applies the hit to the key's manual block and returns when that block ends. */
  function blockedUntil({ verb, key, span }: Hit, space: Space): Millis {
    if (verb === 'block') Atomics.store(words, BLOCKED, 1);
    else if (Atomics.load(words, BLOCKED) === 0) return 0;
    return locked(key, space.block, (slot) => {
      if (verb === 'block' && span > 0) {
        block[0] = now() + span;
        rows.write(slot, block[0], weightBits(HIGHEST_LEVEL, true), block, 1);
        return block[0];
      }
      if (slot < 0) return 0;
      const ends = verb === 'reset' || verb === 'block';
      if (ends) rows.forget(slot);
      return ends ? 0 : rows.clearAt(slot);
    });
  }

  function resetAll({ plan, key }: Hit): void {
    for (const seed of versions.get(plan.name)?.values() ?? [])
      locked(key, seed, (slot) => {
        if (slot >= 0) rows.forget(slot);
      });
  }

  function decideAt(slot: number, hit: Hit, until: Millis, measure: number): Decision {
    const { plan } = hit;
    const at = now();
    scratch.load(plan, rows.head, slot);
    const decision = decide(hit, scratch.cells, 0, at, until, scratch);
    if (isUntouched(hit, decision) || !scratch.changed(plan)) return decision;
    const bits = weights.bitsFor(slot, at, decision.policies, measure);
    rows.write(slot, weights.clearAt, bits, scratch.next, scratch.length);
    return decision;
  }

  function apply(hit: Hit): Decision {
    const space = spaceOf(hit.plan);
    const until = blockedUntil(hit, space);
    if (hit.verb === 'reset') resetAll(hit);
    return locked(hit.key, space.row, (slot) => decideAt(slot, hit, until, space.measure));
  }

  function rowTakeOf(hit: Hit, i: number): RowTake {
    const space = spaceOf(hit.plan);
    const until = blockedUntil(hit, space);
    fingerprint(hit.key, space.row);
    scratches[i] ??= new Scratch(layout);
    const { measure } = space;
    return { hit, low, high, until, measure, scratch: scratches[i], decision: undefined, isWritten: false };
  }

  /** Decides on all hits in one step. Starts again if a lock was lost. */
  function takeAll(hits: readonly Hit[]): Decision[] {
    for (;;) {
      const takes = hits.map(rowTakeOf);
      let decisions: Decision[] | undefined;
      try {
        decisions = decideAll(rows, thread, takes);
      } finally {
        if (decisions === undefined) takes.forEach(giveBack);
      }
      if (decisions !== undefined) return decisions;
    }
  }

  /** Called if not all takes were written. If this take was written, gives back the units that it charged. */
  function giveBack({ hit, decision, isWritten, measure }: RowTake): void {
    if (!isWritten || decision?.at === undefined) return;
    const { at, policies } = decision;
    locked(hit.key, spaceOf(hit.plan).row, (slot) => {
      const elapsed = now() - at;
      // Units that have come back by themselves must not be given back, because other callers may have taken them since.
      const cost = policies.map(({ taken, resetAfter }) => (elapsed < resetAfter ? taken : 0));
      decideAt(slot, { ...hit, verb: 'refund', cost, of: decision }, 0, measure);
    });
  }

  return {
    clock,
    backend: handle,
    handle,
    accept: (plan) => void spaceFor(plan, layout),
    apply,
    taker(plan) {
      // A wrapper that copied this object and replaced `apply` must see every hit.
      if (this.apply !== apply) return undefined;
      const policies = inlinePolicies(plan);
      if (policies === undefined) return undefined;
      const inline = { ...spaceOf(plan), policies };
      return (key, cost) => {
        const decision = words[BLOCKED] === 0 ? take(inline, key, cost) : undefined;
        return decision ?? apply({ verb: 'take', plan, key, cost, mode: 'whole', span: 0 });
      };
    },
    allTaker(hits) {
      return this.apply === apply ? () => takeAll(hits) : undefined;
    },
    /** Does nothing, because the memory is freed once no thread references it. */
    close() {},
    get size() {
      return rows.size;
    },
  };
}

function spaceFor(plan: Plan, layout: Layout): Space {
  let widest = plan.width;
  for (const { algorithm, params } of plan.slots) widest += algorithm.variableLength?.maxWidth(params) ?? 0;
  // During a change, a row needs units for its old and for its new content.
  const units = 2 * unitsFor(widest);
  if (units > Math.min(layout.units, 2 * MOST_UNITS)) {
    const entries = Math.ceil((units * layout.stripes * UNIT) / 4);
    const room = INLINE + Math.min(Math.floor(layout.units / 2), MOST_UNITS) * UNIT;
    throw new SluiceError(
      'ERR_POLICY',
      'policies',
      plan.signature,
      `set logEntries: ${entries}, or use a sliding log with a coarser resolution`,
      `need up to ${widest} cells for a key, and sharedMemory has room for ${room}`,
    );
  }
  const seed = layout.words.slice(SEED, SEED + 2);
  const seedOf = (what: string): Int32Array => {
    fingerprint(what, seed);
    return Int32Array.of(high, low);
  };
  return {
    row: seedOf(`row ${plan.signature} ${plan.name}`),
    block: seedOf(`block ${plan.name}`),
    measure: Math.max(...plan.policies.map(measureOf)),
  };
}

/**
 * The divisor of a policy's weights. It is a compromise between weighing a row by the used fraction of its limit and by time. By
 * fraction alone, a key denied by `1/s` would outweigh one denied by `5/day`. By time alone, one request of `1000/day` would
 * outweigh a key denied by `5/min`.
 */
function measureOf({ limit, window }: PlacedPolicy): number {
  // A penalty has no limit, so its divisor is computed with a limit of 1.
  return (limit === Infinity ? 1 : limit) * Math.sqrt(window);
}
