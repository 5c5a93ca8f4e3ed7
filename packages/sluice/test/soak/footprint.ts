/** Whether memory stays flat: the slope of a line through what was in use, by least squares. */
import { bytesInUse } from '../redis/watch.ts';

export interface Growth {
  /** Bytes over the time that was looked at. */
  readonly heap: number;
  readonly resident: number;
}

export class Footprint {
  private readonly samples: { at: number; heap: number; resident: number }[] = [];

  /** Collects garbage first. */
  sample(): { heap: number; resident: number } {
    const seen = { heap: bytesInUse(), resident: process.memoryUsage.rss() };
    this.samples.push({ at: performance.now(), ...seen });
    return seen;
  }

  growth(): Growth {
    return { heap: this.rise('heap'), resident: this.rise('resident') };
  }

  private rise(of: 'heap' | 'resident'): number {
    const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
    const times = this.samples.map(({ at }) => at);
    const [time, bytes] = [mean(times), mean(this.samples.map((sample) => sample[of]))];
    let [up, along] = [0, 0];
    for (const sample of this.samples) {
      up += (sample.at - time) * (sample[of] - bytes);
      along += (sample.at - time) ** 2;
    }
    return along === 0 ? 0 : (up / along) * (Math.max(...times) - Math.min(...times));
  }
}
