/** What a slot stores for eviction: when its row is fully replenished, and how much evicting it would forgive per millisecond. */
import type { Millis, PolicyState } from '../../engine/contract.ts';
import { lossOf } from '../../engine/row.ts';
import { CLEAR_CELL, type Layout, levelIn, levelOf, weightBits } from './layout.ts';

/** The longest duration from which a weight is computed, so that weights stay finite. */
const LONGEST: Millis = 1e15;

export class Weights {
  /** Set by `bitsFor`: when the row is fully replenished. It is a field, because a returned number would be allocated. */
  clearAt: Millis = 0;
  /** The level of the row that was weighed last. */
  private guess = 0;
  private readonly layout: Layout;

  constructor(layout: Layout) {
    this.layout = layout;
  }

  /**
   * Weighs a row by the numbers of its policies after a hit, and sets `clearAt`. Returns the bits to store. `measure` makes the
   * weights of several limiters comparable. Another plan that reads the row may need it for longer, so neither the
   * `clearAt` nor the weight of a slot decreases until its row is fully replenished.
   */
  bitsFor(slot: number, now: Millis, policies: readonly PolicyState[], measure: number): number {
    const { layout } = this;
    const end = slot < 0 ? 0 : layout.cells[(slot >> 1) + CLEAR_CELL];
    const lives = end > now;
    let clearAt = lives ? end : 0;
    let loss = 0;
    let denies = false;
    for (let i = 0; i < policies.length; i++) {
      const { limit, remaining, resetAfter } = policies[i];
      clearAt = Math.max(clearAt, now + resetAfter);
      loss = Math.max(loss, lossOf(limit, remaining, resetAfter));
      if (remaining === 0) denies = true;
    }
    const stored = slot < 0 ? this.guess : levelIn(layout, slot);
    const level = levelOf(loss / (measure * (Math.min(clearAt - now, LONGEST) || 1)), stored);
    this.guess = level;
    this.clearAt = clearAt;
    return weightBits(lives && stored > level ? stored : level, denies);
  }
}
