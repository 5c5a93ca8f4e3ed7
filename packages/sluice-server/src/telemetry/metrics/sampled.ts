/**
 * Finds the most frequent names. Once there are many events, only a sample is added to the sketch, because adding every event
 * would cost more than the decision itself. For n events, the sketch alone is off by up to n / size. For a name that accounts for
 * the fraction f of all events, sampling every step-th event adds an error of about √(n · f · step). The step grows so slowly
 * that, for names with f under a quarter, the sampling error stays below the sketch's error. For more frequent names, the
 * sampling error is small compared with their count.
 */
import { type Seen, SpaceSaving } from './space-saving.ts';

const MAX_STEP = 64;

export class Sampled {
  private readonly sketch: SpaceSaving;
  private readonly exact: number;
  private total = 0;
  private step = 1;
  private left = 1;

  constructor(size: number) {
    this.sketch = new SpaceSaving(size);
    this.exact = (size * size) / 4;
  }

  /** Counts an event. Returns true if it is part of the sample and must be passed to `see`. */
  isNext(): boolean {
    this.total++;
    return --this.left === 0;
  }

  see(name: string): void {
    this.sketch.see(name, this.step);
    this.step = Math.min(MAX_STEP, 1 + Math.floor(this.total / this.exact));
    // The gap is random, from 1 to 2 · step - 1, because with a fixed gap, periodic names would be sampled always or never.
    this.left = 1 + Math.floor(Math.random() * (2 * this.step - 1));
  }

  top(most: number): Seen[] {
    return this.sketch.top(most);
  }
}
