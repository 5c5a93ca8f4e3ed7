/**
 * The layout of the shared buffer. Positions are in words of 4 bytes, or in cells of 8 bytes where the name says so.
 *
 *   header   values on which all threads must agree
 *   stripe   its head · buckets · links of slots · links of units · slots · units       repeated for each stripe
 *
 * Each stripe is a separate table with its own lock. A slot holds a key's fingerprint and the first cells of its row; further
 * cells are in a chain of units, which are blocks of 16 cells. Tags, slots and chains are the source of truth; buckets, counts and
 * free lists can be rebuilt from them.
 */
import { SluiceError } from '../../internal/errors.ts';

/** Identifies the buffer and the version of its layout. Threads that run another version of Sluice reject it. */
const MAGIC = 0x534c5533;

/** Words of the header. */
const STRIPES = 1;
const SLOTS = 2;
const UNITS = 3;
export const SEED = 4;
export const THREADS = 6;
/** Word that is 1 once any key has had a manual block. Until then, no check looks for manual blocks. */
export const BLOCKED = 7;
/** Cell with the difference between epoch milliseconds and the machine's monotonic time. */
export const CLOCK_CELL = 4;
const HEADER = 32;

/** Words of a stripe's head. */
export const LOCK = 0;
export const WAITING = 1;
export const COUNT = 2;
export const HAND = 3;
/**
 * The first free slot or unit, plus 1, or 0 if there is none. The slots from FRESH_SLOT on and the units from FRESH_UNIT on were
 * never used and are not in any list.
 */
export const FREE_SLOT = 4;
export const FRESH_SLOT = 5;
export const FREE_UNIT = 6;
export const FRESH_UNIT = 7;
export const UNITS_LEFT = 8;
/** The slot that the journal belongs to, plus 1. */
export const JOURNAL_SLOT = 9;
/** Cell with the latest time at which a check in this stripe was decided. */
export const LATEST_CELL = 5;
/** The next content of the slot that is being changed. */
export const JOURNAL = 16;
const HEAD = 32;

/**
 * Words and cells of a slot: the tag (low, high), the chain (first unit plus 1; then length and eviction weight in one
 * word), the instant at which the row is fully replenished, then the row.
 */
export const SLOT = 16;
export const TAG_HIGH = 1;
export const CHAIN = 2;
export const LENGTH_AND_WEIGHT = 3;
export const CLEAR_CELL = 2;
export const ROW_CELL = 3;
/**
 * Cells of a row that fit into the slot itself: enough for two policies with two cells each, or for a policy with two cells and a
 * policy with three.
 */
export const INLINE = 5;

/** Number of cells in a unit, which is one block of a chain. */
export const UNIT = 16;

/** The maximum number of stripes. More threads than this are rarely active at the same instant. */
const MOST_STRIPES = 64;
/** The minimum number of slots per stripe. With fewer, keys would be spread too unevenly over the stripes. */
const LEAST_SLOTS = 256;

export interface Layout {
  readonly words: Int32Array;
  readonly cells: Float64Array;
  readonly stripes: number;
  /** Number of slots per stripe. */
  readonly slots: number;
  readonly units: number;
  /** Number of buckets per stripe, which is a power of two. */
  readonly buckets: number;
  /** The number of words in a stripe, and the offsets of its parts from its head. */
  readonly stride: number;
  readonly bucketsAt: number;
  readonly slotLinksAt: number;
  readonly unitLinksAt: number;
  readonly slotsAt: number;
  readonly unitsAt: number;
}

/** Creates a buffer for at most `maxKeys` keys and `logEntries` log entries. */
export function createBuffer(maxKeys: number, logEntries: number): SharedArrayBuffer {
  let stripes = 1;
  while (stripes < MOST_STRIPES && maxKeys / (2 * stripes) >= LEAST_SLOTS) stripes *= 2;
  const mean = maxKeys / stripes;
  // Keys do not spread evenly over the stripes, so each stripe gets four standard deviations of extra room.
  const slots = stripes === 1 ? maxKeys : Math.ceil(mean + 4 * Math.sqrt(mean));
  // An entry takes two cells, and a log reserves room for twice the entries that it holds.
  const units = Math.ceil((4 * logEntries) / UNIT / stripes) + 2;
  const { stride } = measure(slots, units);
  const bytes = 4 * (HEADER + stripes * stride);
  let buffer: SharedArrayBuffer;
  try {
    buffer = new SharedArrayBuffer(bytes);
  } catch {
    throw new SluiceError(
      'ERR_NUMBER',
      'sharedMemory.maxKeys',
      maxKeys,
      '',
      `needs ${bytes} bytes, which cannot be allocated`,
    );
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
    throw new SluiceError(
      'ERR_OPTIONS',
      'handle',
      buffer,
      '',
      'must be the handle of a sharedMemory() store of the same version of Sluice',
    );
  const words = new Int32Array(buffer);
  const [stripes, slots, units] = [words[STRIPES], words[SLOTS], words[UNITS]];
  return { words, cells: new Float64Array(buffer), stripes, slots, units, ...measure(slots, units) };
}

/**
 * The maximum number of units in a chain. One word holds their number, the row's eviction weight, and whether its key was denied
 * when the row was written.
 */
export const MOST_UNITS: number = 2 ** 23 - 1;
/** Eviction weights are stored as levels, which start at 2 ** SMALLEST_POWER. Four levels double the weight. */
const LEVELS = 256;
const SMALLEST_POWER = -56;
const WEIGHTS = Float64Array.from({ length: LEVELS }, (_, level) => 2 ** (level / 4 + SMALLEST_POWER));
/** For each level, the weight from which weights are rounded up to the next level. */
const ROUNDED_UP = Float64Array.from(
  { length: LEVELS },
  (_, level) => 2 ** ((level + 0.5) / 4 + SMALLEST_POWER),
);
/** The level of the largest weights. */
export const HIGHEST_LEVEL: number = LEVELS - 1;

/** The number of units in a slot's chain. */
export function chainLength({ words }: Layout, slot: number): number {
  return words[slot + LENGTH_AND_WEIGHT] & MOST_UNITS;
}

/** The bits next to the length, which hold the eviction weight and whether the key is denied. */
export function weightBits(level: number, denies: boolean): number {
  return (level << 23) | (denies ? 1 << 31 : 0);
}

/**
 * The level closest to this weight. The search starts from a guess, because a logarithm would take a large part of the time of a
 * check.
 */
export function levelOf(weight: number, guess: number): number {
  let level = guess;
  while (level < HIGHEST_LEVEL && weight >= ROUNDED_UP[level]) level++;
  while (level > 0 && weight < ROUNDED_UP[level - 1]) level--;
  return level;
}

export function levelIn({ words }: Layout, slot: number): number {
  return (words[slot + LENGTH_AND_WEIGHT] >>> 23) & HIGHEST_LEVEL;
}

export function weightIn(layout: Layout, slot: number): number {
  return WEIGHTS[levelIn(layout, slot)];
}

export function deniedIn({ words }: Layout, slot: number): boolean {
  return words[slot + LENGTH_AND_WEIGHT] < 0;
}

/** The position of the head of a fingerprint's stripe. */
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

/** Rounds up to a whole cache line. */
function aligned(words: number): number {
  return Math.ceil(words / 16) * 16;
}
