/**
 * The sketch of who is seen most often, from a sample once there is much to see: naming each would take longer than
 * deciding it. Of n that were seen the sketch alone is wrong by up to n / size, and a sample of each step-th by about
 * √(n · share · step) for who has this share of them. The step grows so slowly that the latter stays the smaller one for
 * all who have less than a quarter; for others it is small beside what they have.
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

  /** Counts one more, and says whether it must be named. */
  isNext(): boolean {
    this.total++;
    return --this.left === 0;
  }

  see(name: string): void {
    this.sketch.see(name, this.step);
    this.step = Math.min(MAX_STEP, 1 + Math.floor(this.total / this.exact));
    // At random, or who comes in step would be seen always or never: 1 to 2 · step - 1.
    this.left = 1 + Math.floor(Math.random() * (2 * this.step - 1));
  }

  top(most: number): Seen[] {
    return this.sketch.top(most);
  }
}
