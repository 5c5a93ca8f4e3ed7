/** Whether memory stays flat: what is in use from the beginning on, and the slope of a line through it by least squares. */
import { bytesInUse } from '../redis/watch.ts';

export interface Use {
  /** Bytes in use once garbage is gone, and bytes of the process. */
  readonly heap: number;
  readonly resident: number;
}

export interface Footprint {
  /** Before the first scene, when the warm-up ended, and at the end. */
  readonly start: Use;
  readonly warm: Use;
  readonly end: Use;
  /** By the line through all that was seen from the warm-up's end on. */
  readonly growth: Use;
}

export class Footprints {
  private readonly samples: (Use & { readonly at: number })[] = [];

  /** Collects garbage first. */
  sample(): Use {
    const seen = { heap: bytesInUse(), resident: process.memoryUsage.rss() };
    this.samples.push({ at: performance.now(), ...seen });
    return seen;
  }

  /** `warmUp`: the part of the time in which heap and code still find their size. */
  result(warmUp: number): Footprint {
    const [start, end] = [this.samples[0], this.samples[this.samples.length - 1]];
    const warmAt = start.at + (end.at - start.at) * warmUp;
    const later = this.samples.filter(({ at }) => at >= warmAt);
    const growth = { heap: rise(later, 'heap'), resident: rise(later, 'resident') };
    return { start, warm: later[0], end, growth };
  }
}

function rise(samples: readonly (Use & { readonly at: number })[], of: 'heap' | 'resident'): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const times = samples.map(({ at }) => at);
  const [time, bytes] = [mean(times), mean(samples.map((sample) => sample[of]))];
  let [up, along] = [0, 0];
  for (const sample of samples) {
    up += (sample.at - time) * (sample[of] - bytes);
    along += (sample.at - time) ** 2;
  }
  return along === 0 ? 0 : (up / along) * (Math.max(...times) - Math.min(...times));
}
