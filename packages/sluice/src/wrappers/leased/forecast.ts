/**
 * A node's forecast for a key: the demand for its units, and whether the limit is binding. The size of batches depends on this
 * forecast. The limit holds whatever the node expects; a wrong forecast only costs calls, or units that expire unused.
 */
import type { Millis } from '../../engine/contract.ts';
import { Demand } from './demand.ts';
import type { Lease } from './lease.ts';
import type { Terms } from './terms.ts';
import { BINDING_FILL, COST_MARGIN, MAX_BATCH_OF_DEMAND, PLENTY } from './tuning.ts';

export class Forecast {
  readonly demand: Demand;
  /** The limit is treated as binding until this instant, because the store granted less than was requested. */
  private bindsUntil: Millis = -Infinity;
  /** End of the window of the last lease. */
  private windowEnd: Millis = 0;
  private readonly terms: Terms;

  constructor(terms: Terms, now: Millis) {
    this.terms = terms;
    this.demand = new Demand(terms.duration, now);
  }

  granted({ windowEnd }: Lease): void {
    this.windowEnd = windowEnd;
  }

  /** Records that the store granted less than was requested. */
  fellShort(now: Millis): void {
    this.bindsUntil = now + this.terms.window;
  }

  /**
   * Whether the limit is binding. `remaining` is the number of units that the store had left at its last answer, or undefined if
   * the store has not answered yet.
   */
  isBinding(remaining: number | undefined, now: Millis): boolean {
    const { largestCost, lightDemand } = this.terms;
    if (now < this.bindsUntil || (lightDemand < Infinity && !this.demand.staysBelow(lightDemand)))
      return true;
    return remaining !== undefined && remaining < PLENTY * largestCost;
  }

  /** Number of units to request if a hit of this cost waits for them. `remaining` is the same as for `isBinding`. */
  batchFor(cost: number, isBinding: boolean, remaining: number | undefined, now: Millis): number {
    return Math.max(Math.ceil(COST_MARGIN * cost), this.batch(isBinding, remaining ?? 0, now));
  }

  private batch(isBinding: boolean, remaining: number, now: Millis): number {
    const { duration, bindingDuration, fill, remainingDivisor, minBatch, hasLongWindow } = this.terms;
    const lasts = this.durationOf(isBinding ? bindingDuration : duration, now);
    const most = hasLongWindow ? MAX_BATCH_OF_DEMAND * this.demand.total : Infinity;
    const fraction = isBinding ? BINDING_FILL : fill;
    const expected = Math.ceil(Math.min(most, this.demand.within(fraction * lasts)));
    // Either the store has not answered yet, or it had no units left at its last answer. In both cases, `remaining` does not bound
    // the batch, because units may have been replenished, and the first node that asks gets them.
    if (remaining === 0) return expected;
    return Math.min(expected, Math.ceil(Math.max(remaining / remainingDivisor, minBatch)));
  }

  /** How long a lease that is debited now would last. It lasts at most until the window of the last lease ends. */
  private durationOf(longest: Millis, now: Millis): Millis {
    const untilWindowEnd = this.windowEnd - now;
    return untilWindowEnd > 0 ? Math.max(this.terms.minDuration, Math.min(longest, untilWindowEnd)) : longest;
  }
}
