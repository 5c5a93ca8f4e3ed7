/** One table for all threads of a process, in a SharedArrayBuffer, answered at once. */
import { clockOf, type GivenClock } from '../../internal/clock.ts';
import type { Decision, Hit, Millis, PlacedPolicy, Plan, Store } from '../../engine/contract.ts';
import { decide } from '../../engine/decide.ts';
import { lossOf } from '../../engine/row.ts';
import { SluiceError } from '../../internal/errors.ts';
import { checkOptionNames, whole } from '../../internal/options.ts';
import { fingerprint, high, low } from '../table/fingerprint.ts';
import {
  BLOCKED,
  createBuffer,
  INLINE,
  LATEST_CELL,
  type Layout,
  layoutOf,
  MOST_UNITS,
  SEED,
  THREADS,
  UNIT,
  weightBits,
  weightIn,
} from './layout.ts';
import { Rows } from './rows.ts';
import { Scratch } from './scratch.ts';
import { setEpoch, threadClock } from './thread-clock.ts';
import { unitsFor } from './units.ts';

export interface AttachOptions {
  /** Where the time comes from; default: a monotonic clock on which all threads agree. */
  readonly clock?: GivenClock | undefined;
}

export interface SharedMemoryOptions extends AttachOptions {
  /** Keys kept, over all limiters, blocks by hand included; when all of them live, one with much left, and soon clear, makes room. */
  readonly maxKeys: number;
  /** Entries of logs (slidingLog, concurrency) kept, over all keys; default 8 × maxKeys. */
  readonly logEntries?: number | undefined;
}

/** What is posted to another thread. */
export type SharedMemoryHandle = SharedArrayBuffer;

export interface SharedMemoryStore extends Store<Decision> {
  /** For `attachSharedMemory` in another thread; its `byteLength` is all the memory there is. */
  readonly handle: SharedMemoryHandle;
  /** Rows kept now, over all limiters. */
  readonly size: number;
}

/** Makes the memory. Other threads get `store.handle` and open it with `attachSharedMemory`. */
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

/** The same memory in another thread. */
export function attachSharedMemory(
  handle: SharedMemoryHandle,
  options: AttachOptions = {},
): SharedMemoryStore {
  const { clock } = checkOptionNames('attachSharedMemory', options, ['clock']);
  return open(handle, clock);
}

/** What is made once for a plan. The same in all threads. */
interface Space {
  /** Seeds of the fingerprints by which its rows are found, and its name's blocks. */
  readonly row: Int32Array;
  readonly block: Int32Array;
  /** What losses are divided by, so that those of several limiters compare. */
  readonly measure: number;
}

function open(handle: SharedMemoryHandle, given: AttachOptions['clock']): SharedMemoryStore {
  const layout = layoutOf(handle);
  const { words, cells } = layout;
  const rows = new Rows(layout, Atomics.add(words, THREADS, 1));
  const scratch = new Scratch(layout);
  const clock = clockOf('sharedMemory.clock', given);
  const time = given === undefined ? threadClock(layout) : () => clock.now();
  const block = new Float64Array(1);
  const spaces = new WeakMap<Plan, Space>();
  /** Where versions of a limiter have their rows, by name and signature, so that a reset in this thread reaches all of them. */
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

  /** The time in the stripe that is open: no thread sees it go back. A clock that was given may. */
  function now(): Millis {
    const latest = rows.head / 2 + LATEST_CELL;
    cells[latest] = given === undefined ? Math.max(cells[latest], time()) : time();
    return cells[latest];
  }

  /** Reads or writes under the key's lock; again if the lock was lost, which only a thread that was stopped sees. */
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

  /** The end of a block by hand, after the hit has changed it. */
  function blockedUntil({ verb, key, span }: Hit, space: Space): Millis {
    if (verb === 'block') Atomics.store(words, BLOCKED, 1);
    else if (Atomics.load(words, BLOCKED) === 0) return 0;
    return locked(key, space.block, (slot) => {
      if (verb === 'block') {
        block[0] = now() + span;
        rows.write(slot, block[0], weightBits(Infinity, true), block, 1);
        return block[0];
      }
      if (slot < 0) return 0;
      if (verb === 'reset') rows.forget(slot);
      return verb === 'reset' ? 0 : rows.clearAt(slot);
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
    // Another plan that reads this row may need it more: until it is clear, its end never comes nearer, nor does it weigh less.
    const lives = slot >= 0 && rows.clearAt(slot) > at;
    let clearAt = lives ? rows.clearAt(slot) : 0;
    let weight = lives ? weightIn(layout, slot) : 0;
    let loss = 0;
    let denies = false;
    for (const { limit, remaining, resetAfter } of decision.policies) {
      clearAt = Math.max(clearAt, at + resetAfter);
      loss = Math.max(loss, lossOf(limit, remaining, resetAfter));
      if (remaining === 0) denies = true;
    }
    weight = Math.max(weight, loss / measure / (Math.min(clearAt - at, 1e15) || 1));
    rows.write(slot, clearAt, weightBits(weight, denies), scratch.next, scratch.length);
    return decision;
  }

  return {
    clock,
    backend: handle,
    handle,
    accept: (plan) => void spaceFor(plan, layout),
    apply(hit) {
      const space = spaceOf(hit.plan);
      const until = blockedUntil(hit, space);
      if (hit.verb === 'reset') resetAll(hit);
      return locked(hit.key, space.row, (slot) => decideAt(slot, hit, until, space.measure));
    },
    /** The memory is there as long as any thread holds it. */
    close() {},
    get size() {
      return rows.size;
    },
  };
}

/** What surely wrote nothing need not be compared: with long logs, a denial is then half the work. */
function isUntouched({ verb, plan, mode }: Hit, { taken }: Decision): boolean {
  if (verb === 'peek') return true;
  if (taken > 0 || mode === 'always' || (verb !== 'take' && verb !== 'reserve')) return false;
  return !plan.policies.some(({ algorithm }) => algorithm.countsDenials);
}

function spaceFor(plan: Plan, layout: Layout): Space {
  let widest = plan.width;
  for (const { algorithm, params } of plan.slots) widest += algorithm.variableLength?.maxWidth(params) ?? 0;
  // A row and its next version, side by side.
  const units = 2 * unitsFor(widest);
  if (units > Math.min(layout.units, 2 * MOST_UNITS)) {
    const entries = Math.ceil((units * layout.stripes * UNIT) / 4);
    const room = INLINE + Math.min(Math.floor(layout.units / 2), MOST_UNITS) * UNIT;
    throw new SluiceError(
      'ERR_POLICY',
      'policies',
      plan.signature,
      `logEntries: ${entries}, or a log with a coarser resolution`,
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
 * Between weighing the share of a limit and weighing its time: by shares alone, whoever is denied by `1/s` would outweigh
 * who is denied by `5/day`; by time, one request of `1000/day` who is denied by `5/min`.
 */
function measureOf({ limit, window }: PlacedPolicy): number {
  // A penalty has no limit: its strikes count as one unit.
  return (limit === Infinity ? 1 : limit) * Math.sqrt(window);
}
