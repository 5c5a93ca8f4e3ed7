/**
 * Reads and changes the rows of all keys. Most calls lock one stripe at a time; `openAll` locks several. A change is prepared
 * outside the slot: the cells that do not fit into the slot are written to unused units (blocks of cells, see units.ts) of the
 * stripe, and the slot's next content is written to the journal. Arming the lock is the single write that makes the change valid.
 * Then the content is copied to the slot. A thread that dies before it has armed the lock leaves the old row. A thread that dies
 * afterwards leaves the new row, which the next holder of the lock copies to the slot.
 */
import type { Millis } from '../../engine/contract.ts';
import { StoreError } from '../../internal/errors.ts';
import {
  CHAIN,
  chainLength,
  CLEAR_CELL,
  COUNT,
  deniedIn,
  FREE_SLOT,
  FRESH_SLOT,
  HAND,
  headOf,
  headsOf,
  INLINE,
  JOURNAL,
  JOURNAL_SLOT,
  LATEST_CELL,
  LENGTH_AND_WEIGHT,
  type Layout,
  ROW_CELL,
  SLOT,
  TAG_HIGH,
  UNITS_LEFT,
  weightIn,
} from './layout.ts';
import { Lock } from './lock.ts';
import { freeChain, rebuildUnits, unitsFor, writeChain } from './units.ts';

/**
 * Number of rows that are compared to choose the one to evict. As long as all of them are denied, further rows are compared, up
 * to MOST.
 */
const CANDIDATES = 16;
const MOST = 512;

export class Rows {
  readonly layout: Layout;
  readonly lock: Lock;
  /** The stripe that is locked, and the fingerprint for which it was locked. */
  head = 0;
  private low = 0;
  private high = 0;
  private armed = false;
  /** The stripes that `openAll` has locked, in ascending order. */
  heads: readonly number[] = [];

  constructor(layout: Layout, thread: number) {
    this.layout = layout;
    this.lock = new Lock(layout.words, thread);
  }

  /** Locks the stripe of this fingerprint. Returns the position of the key's slot in words, or −1 if the key has no slot. */
  open(low: number, high: number): number {
    this.low = low;
    this.high = high;
    this.head = headOf(this.layout, high);
    this.armed = false;
    this.hold();
    return this.find();
  }

  /**
   * Releases the lock. Returns false if the lock was lost before anything was changed, in which case the values that were read
   * may be wrong.
   */
  close(): boolean {
    if (this.lock.release(this.head, this.armed)) return true;
    if (!this.armed) return false;
    // The lock was lost during the change. The next holder has completed the change, but the free lists may be wrong now.
    this.hold();
    this.rebuild();
    this.lock.release(this.head, false);
    return true;
  }

  /**
   * Locks the stripes of all these fingerprints. Every thread locks them in ascending order, so that two threads never wait for
   * each other. Returns false if one of the locks was lost again while this thread was waiting for another one. `closeAll` must
   * follow in any case.
   */
  openAll(tags: readonly { readonly high: number }[]): boolean {
    this.heads = [...new Set(tags.map(({ high }) => headOf(this.layout, high)))].sort((a, b) => a - b);
    this.lock.nextToken();
    for (const head of this.heads) {
      this.head = head;
      if (!this.lock.tryTakeToo(head)) this.waitForLock();
    }
    return this.areOurs();
  }

  /** Whether this thread still holds all locks of `openAll`. If so, no other thread has changed the rows since `openAll`. */
  areOurs(): boolean {
    return this.heads.every((head) => this.lock.isOurs(head));
  }

  /** Selects a row in a stripe that `openAll` has locked. Returns the same as `open`, or −1 if the lock was lost. */
  select(low: number, high: number): number {
    this.low = low;
    this.high = high;
    this.head = headOf(this.layout, high);
    this.armed = false;
    // The links of a stripe must not be followed while another thread changes them.
    return this.lock.isOurs(this.head) ? this.find() : -1;
  }

  /**
   * Writes the selected row and keeps the lock, so that other rows of the stripe can be written afterwards. Returns false if the
   * lock was lost.
   */
  writeAndStay(...row: Parameters<Rows['write']>): boolean {
    this.write(...row);
    if (!this.armed) return false;
    this.lock.disarm(this.head);
    return true;
  }

  /** Releases the locks of `openAll`. */
  closeAll(): void {
    const lost = this.heads.toReversed().filter((head) => !this.lock.release(head, false));
    this.heads = [];
    // If a lock was lost during a change, the next holder has completed the change, but the free lists may be wrong now.
    for (const head of lost) {
      this.head = head;
      this.hold();
      this.rebuild();
      this.lock.release(head, false);
    }
  }

  clearAt(slot: number): Millis {
    return this.layout.cells[(slot >> 1) + CLEAR_CELL];
  }

  /**
   * Eviction weight: the row's weight times the time until it is fully replenished. 0 or less if the row is fully replenished.
   */
  private worth(slot: number): number {
    const now = this.layout.cells[(this.head >> 1) + LATEST_CELL];
    return weightIn(this.layout, slot) * (this.clearAt(slot) - now);
  }

  /**
   * Replaces the key's row, or adds it if the key has no slot. `weight` comes from `weightBits`.
   * Nothing changes if the lock was lost.
   */
  write(slot: number, clearAt: Millis, weight: number, row: Float64Array, length: number): void {
    const { layout, head } = this;
    const { words, cells } = layout;
    // The following steps take almost no time, so a slow thread can be presumed dead only before them.
    if (!this.lock.isOurs(head)) return;
    const units = unitsFor(length);
    if (units > 0) this.makeUnits(units, slot);
    const place = slot < 0 ? this.freeSlot() : slot;
    const oldChain = words[place + CHAIN];
    const oldUnits = slot < 0 ? 0 : chainLength(layout, place);
    const journal = head + JOURNAL;
    words[journal] = this.low;
    words[journal + TAG_HIGH] = this.high;
    words[journal + CHAIN] = units > 0 ? writeChain(layout, head, row, length) : 0;
    words[journal + LENGTH_AND_WEIGHT] = units | weight;
    cells[(journal >> 1) + CLEAR_CELL] = clearAt;
    for (let cell = 0; cell < INLINE; cell++)
      cells[(journal >> 1) + ROW_CELL + cell] = cell < length ? row[cell] : 0;
    words[head + JOURNAL_SLOT] = place + 1;
    if (!this.lock.arm(head)) return;
    this.armed = true;
    this.carryOut();
    if (slot < 0) this.link(place);
    freeChain(layout, head, oldChain, oldUnits);
  }

  /** Drops a row. Clears the tag first. If this thread then dies, the next holder of the lock rebuilds everything else. */
  forget(slot: number): void {
    const { words, slotLinksAt } = this.layout;
    const { head } = this;
    if (!this.lock.isOurs(head)) return;
    const link = this.linkTo(slot);
    Atomics.store(words, slot, 0);
    const index = this.indexOf(slot);
    words[link] = words[head + slotLinksAt + index];
    words[head + slotLinksAt + index] = words[head + FREE_SLOT];
    words[head + FREE_SLOT] = index + 1;
    words[head + COUNT]--;
    freeChain(this.layout, head, words[slot + CHAIN], chainLength(this.layout, slot));
  }

  get size(): number {
    return headsOf(this.layout).reduce((sum, head) => sum + Atomics.load(this.layout.words, head + COUNT), 0);
  }

  /** Waits for the lock, and completes the change of a holder that died. */
  private hold(): void {
    if (!this.lock.tryTake(this.head)) this.waitForLock();
  }

  private waitForLock(): void {
    const hold = this.lock.wait(this.head);
    if (hold === 'free') return;
    if (hold === 'dead and armed') this.carryOut();
    this.rebuild();
  }

  /** Copies the journal to its slot. May be repeated. */
  private carryOut(): void {
    const { words, cells } = this.layout;
    const journal = this.head + JOURNAL;
    const slot = words[this.head + JOURNAL_SLOT] - 1;
    for (let word = 0; word < 2 * CLEAR_CELL; word++) words[slot + word] = words[journal + word];
    for (let cell = CLEAR_CELL; cell < SLOT / 2; cell++)
      cells[(slot >> 1) + cell] = cells[(journal >> 1) + cell];
  }

  private find(): number {
    const { words, slotLinksAt } = this.layout;
    const { head, low, high } = this;
    for (let index = words[this.bucketOf(low)]; index !== 0; index = words[head + slotLinksAt + index - 1]) {
      const slot = this.slotAt(index - 1);
      if (words[slot] === low && words[slot + TAG_HIGH] === high) return slot;
    }
    return -1;
  }

  private bucketOf(low: number): number {
    return this.head + this.layout.bucketsAt + (low & (this.layout.buckets - 1));
  }

  private slotAt(index: number): number {
    return this.head + this.layout.slotsAt + index * SLOT;
  }

  private indexOf(slot: number): number {
    return (slot - this.head - this.layout.slotsAt) / SLOT;
  }

  /** The word that points to a slot: its bucket, or the link of the previous slot. */
  private linkTo(slot: number): number {
    const { words, slotLinksAt } = this.layout;
    let link = this.bucketOf(words[slot]);
    while (words[link] !== this.indexOf(slot) + 1) link = this.head + slotLinksAt + words[link] - 1;
    return link;
  }

  private link(slot: number): void {
    const { words, slotLinksAt } = this.layout;
    const bucket = this.bucketOf(words[slot]);
    const index = this.indexOf(slot);
    words[this.head + slotLinksAt + index] = words[bucket];
    words[bucket] = index + 1;
    words[this.head + COUNT]++;
  }

  /** Returns an unused slot. In a full stripe, it first evicts the row with the lowest eviction weight among a sample. */
  private freeSlot(): number {
    const { words, slots, slotLinksAt } = this.layout;
    const { head } = this;
    if (words[head + FREE_SLOT] === 0) {
      if (words[head + FRESH_SLOT] < slots) return this.slotAt(words[head + FRESH_SLOT]++);
      this.forget(this.worthLeast());
    }
    const index = words[head + FREE_SLOT] - 1;
    words[head + FREE_SLOT] = words[head + slotLinksAt + index];
    return this.slotAt(index);
  }

  /** The slot with the lowest eviction weight among a sample of a full stripe. */
  private worthLeast(): number {
    const { layout } = this;
    const { words, slots } = layout;
    const hand = this.head + HAND;
    let victim = -1;
    let least = Infinity;
    for (let i = 0; i < CANDIDATES || (least > 0 && deniedIn(layout, victim) && i < MOST); i++) {
      if (i % CANDIDATES === 0) words[hand] = (words[hand] + 1) % slots;
      // Candidates are spread evenly, because keys that arrived together, such as those of one attack, lie side by side.
      const apart = Math.floor(((i % CANDIDATES) * slots) / CANDIDATES);
      const slot = this.slotAt((words[hand] + apart) % slots);
      const worth = this.worth(slot);
      if (victim < 0 || worth < least) {
        victim = slot;
        least = worth;
      }
    }
    return victim;
  }

  /**
   * Makes sure that at least `units` units are free. If necessary, evicts other rows that have units, each time the one with the
   * lowest eviction weight in a sample.
   */
  private makeUnits(units: number, own: number): void {
    const { words } = this.layout;
    while (words[this.head + UNITS_LEFT] < units) {
      const victim = this.longAndWorthLeast(own);
      if (victim < 0)
        throw new StoreError('OOM, sharedMemory has no room for a row of this length: raise logEntries');
      this.forget(victim);
    }
  }

  /**
   * The slot with the lowest eviction weight among a sample of the other rows that have units. Returns −1 if no other row has
   * units.
   */
  private longAndWorthLeast(own: number): number {
    const { words } = this.layout;
    const { head } = this;
    const fresh = words[head + FRESH_SLOT];
    let victim = -1;
    for (let i = 0, seen = 0; i < fresh && seen < CANDIDATES; i++) {
      words[head + HAND] = (words[head + HAND] + 1) % fresh;
      const slot = this.slotAt(words[head + HAND]);
      if (words[slot] === 0 || slot === own || chainLength(this.layout, slot) === 0) continue;
      seen++;
      if (victim < 0 || this.worth(slot) < this.worth(victim)) victim = slot;
    }
    return victim;
  }

  private used(): number[] {
    const { words } = this.layout;
    const slots: number[] = [];
    for (let index = 0; index < words[this.head + FRESH_SLOT]; index++) {
      const slot = this.slotAt(index);
      if (words[slot] !== 0) slots.push(slot);
    }
    return slots;
  }

  /** Rebuilds buckets, counts and free lists from the slots. */
  private rebuild(): void {
    const { words, slotLinksAt, buckets, bucketsAt } = this.layout;
    const { head } = this;
    words.fill(0, head + bucketsAt, head + bucketsAt + buckets);
    words[head + COUNT] = 0;
    words[head + FREE_SLOT] = 0;
    for (let index = 0; index < words[head + FRESH_SLOT]; index++) {
      if (words[this.slotAt(index)] !== 0) {
        this.link(this.slotAt(index));
      } else {
        words[head + slotLinksAt + index] = words[head + FREE_SLOT];
        words[head + FREE_SLOT] = index + 1;
      }
    }
    rebuildUnits(this.layout, head, this.used());
  }
}
