/**
 * Where everything lies in the buffer. Positions are in words of 4 bytes, or in cells of 8 bytes where they say so.
 *
 *   header   what all threads must agree on
 *   stripe   its head · buckets · links of slots · links of units · slots · units       as many as there are stripes
 *
 * A stripe is a table of its own under a lock of its own. A slot holds a key's fingerprint and the first cells of its
 * row; further cells are in a chain of units. Tags, slots and chains are the truth; buckets, counts and free lists
 * can be rebuilt from them.
 */
import { SluiceError } from '../../internal/errors.ts';

/** Also the layout's version: threads with another Sluice refuse the buffer. */
const MAGIC = 0x534c5533;

/** Words of the header. */
const STRIPES = 1;
const SLOTS = 2;
const UNITS = 3;
export const SEED = 4;
export const THREADS = 6;
/** 1 once any key was blocked by hand: until then nobody looks for blocks. */
export const BLOCKED = 7;
/** A cell: what is to be added to the machine's monotonic time to get epoch milliseconds. */
export const CLOCK_CELL = 4;
const HEADER = 32;

/** Words of a stripe's head. */
export const LOCK = 0;
export const WAITING = 1;
export const COUNT = 2;
export const HAND = 3;
/** First free slot or unit + 1; 0: none. Those from FRESH on were never used, and are in no list. */
export const FREE_SLOT = 4;
export const FRESH_SLOT = 5;
export const FREE_UNIT = 6;
export const FRESH_UNIT = 7;
export const UNITS_LEFT = 8;
/** The slot + 1 that the journal is for. */
export const JOURNAL_SLOT = 9;
/** A cell: the latest time that was used here. */
export const LATEST_CELL = 5;
/** A slot's next content. */
export const JOURNAL = 16;
const HEAD = 32;

/** Words and cells of a slot: tag (low, high), chain (first unit + 1, how many, and what it weighs), clear at, then the row. */
export const SLOT = 16;
export const TAG_HIGH = 1;
export const CHAIN = 2;
export const LENGTH_AND_WEIGHT = 3;
export const CLEAR_CELL = 2;
export const ROW_CELL = 3;
/** Cells of a row that lie in the slot: two policies of two cells, or one of each sort. */
export const INLINE = 5;

/** Cells of a unit. */
export const UNIT = 16;

/** More threads than this seldom ask at the same instant. */
const MOST_STRIPES = 64;
/** Below this a stripe would be too small to even out. */
const LEAST_SLOTS = 256;

export interface Layout {
  readonly words: Int32Array;
  readonly cells: Float64Array;
  readonly stripes: number;
  /** Per stripe. */
  readonly slots: number;
  readonly units: number;
  /** A power of two. */
  readonly buckets: number;
  /** Words of a stripe, and where its parts start from its head. */
  readonly stride: number;
  readonly bucketsAt: number;
  readonly slotLinksAt: number;
  readonly unitLinksAt: number;
  readonly slotsAt: number;
  readonly unitsAt: number;
}

/** A new buffer with room for so many keys, and so many entries of logs. */
export function createBuffer(maxKeys: number, logEntries: number): SharedArrayBuffer {
  let stripes = 1;
  while (stripes < MOST_STRIPES && maxKeys / (2 * stripes) >= LEAST_SLOTS) stripes *= 2;
  const mean = maxKeys / stripes;
  // Keys do not spread evenly: four standard deviations more.
  const slots = stripes === 1 ? maxKeys : Math.ceil(mean + 4 * Math.sqrt(mean));
  // An entry takes two cells, and a log has room for twice what it holds.
  const units = Math.ceil((4 * logEntries) / UNIT / stripes) + 2;
  const { stride } = measure(slots, units);
  const words = 4 * (HEADER + stripes * stride);
  let buffer: SharedArrayBuffer;
  try {
    buffer = new SharedArrayBuffer(words);
  } catch {
    throw new SluiceError('ERR_NUMBER', 'sharedMemory.maxKeys', maxKeys, `${words} bytes cannot be had`);
  }
  const header = new Int32Array(buffer);
  header[STRIPES] = stripes;
  header[SLOTS] = slots;
  header[UNITS] = units;
  const seed = crypto.getRandomValues(new Uint32Array(2));
  header.set(seed, SEED);
  for (let i = 0; i < stripes; i++) header[HEADER + i * stride + UNITS_LEFT] = units;
  Atomics.store(header, 0, MAGIC);
  return buffer;
}

export function layoutOf(buffer: unknown): Layout {
  if (!(buffer instanceof SharedArrayBuffer) || new Int32Array(buffer, 0, 1)[0] !== MAGIC)
    throw new SluiceError('ERR_OPTIONS', 'handle', buffer, 'the handle of a sharedMemory() of this version');
  const words = new Int32Array(buffer);
  const [stripes, slots, units] = [words[STRIPES], words[SLOTS], words[UNITS]];
  return { words, cells: new Float64Array(buffer), stripes, slots, units, ...measure(slots, units) };
}

/** Units that a chain may have: a word holds their number, what the row weighs, and whether it denied when it was written. */
export const MOST_UNITS: number = 2 ** 23 - 1;
/** The least weight that is told from others, as a power of two; 255 quarters of one above it, the greatest. */
const LIGHTEST = -56;

/** Units of a slot's chain. */
export function chainLength({ words }: Layout, slot: number): number {
  return words[slot + LENGTH_AND_WEIGHT] & MOST_UNITS;
}

/** Beside the length: the weight to the next quarter of a power of two. */
export function weightBits(weight: number, denies: boolean): number {
  const level = Math.round(4 * (Math.log2(weight) - LIGHTEST));
  return (Math.min(Math.max(level, 0), 255) << 23) | (denies ? 1 << 31 : 0);
}

export function weightIn({ words }: Layout, slot: number): number {
  return 2 ** (((words[slot + LENGTH_AND_WEIGHT] >>> 23) & 255) / 4 + LIGHTEST);
}

export function deniedIn({ words }: Layout, slot: number): boolean {
  return words[slot + LENGTH_AND_WEIGHT] < 0;
}

/** Where a stripe's head is. */
export function headOf({ stride, stripes }: Layout, high: number): number {
  return HEADER + (((high >>> 0) * (stripes / 0x1_0000_0000)) | 0) * stride;
}

export function headsOf({ stride, stripes }: Layout): number[] {
  return Array.from({ length: stripes }, (_, i) => HEADER + i * stride);
}

function measure(
  slots: number,
  units: number,
): Pick<Layout, 'buckets' | 'bucketsAt' | 'slotLinksAt' | 'unitLinksAt' | 'slotsAt' | 'unitsAt' | 'stride'> {
  let buckets = 1;
  while (buckets < slots) buckets *= 2;
  const bucketsAt = HEAD;
  const slotLinksAt = bucketsAt + buckets;
  const unitLinksAt = slotLinksAt + slots;
  const slotsAt = aligned(unitLinksAt + units);
  const unitsAt = slotsAt + slots * SLOT;
  const stride = aligned(unitsAt + units * 2 * UNIT);
  return { buckets, bucketsAt, slotLinksAt, unitLinksAt, slotsAt, unitsAt, stride };
}

/** To a cache line. */
function aligned(words: number): number {
  return Math.ceil(words / 16) * 16;
}
