/** Whether memory stays flat: what is in use from the beginning on, and the slope of a line through it by least squares. */

export interface Footprint {
  /** Bytes before the first scene, when the warm-up ended, and at the end. */
  readonly start: number;
  readonly warm: number;
  readonly end: number;
  /** By the line through all that was seen from the warm-up's end on. */
  readonly growth: number;
}

interface Sample {
  readonly at: number;
  readonly bytes: number;
}

export class Footprints {
  private readonly samples: Sample[] = [];

  add(bytes: number): void {
    this.samples.push({ at: performance.now(), bytes });
  }

  get last(): number {
    return this.samples[this.samples.length - 1].bytes;
  }

  /** `warmUp`: the part of the time in which heap and code still find their size. */
  result(warmUp: number): Footprint {
    const [start, end] = [this.samples[0], this.samples[this.samples.length - 1]];
    const warmAt = start.at + (end.at - start.at) * warmUp;
    const later = this.samples.filter(({ at }) => at >= warmAt);
    return { start: start.bytes, warm: later[0].bytes, end: end.bytes, growth: rise(later) };
  }
}

function rise(samples: readonly Sample[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const times = samples.map(({ at }) => at);
  const [time, level] = [mean(times), mean(samples.map(({ bytes }) => bytes))];
  let [up, along] = [0, 0];
  for (const { at, bytes } of samples) {
    up += (at - time) * (bytes - level);
    along += (at - time) ** 2;
  }
  return along === 0 ? 0 : (up / along) * (Math.max(...times) - Math.min(...times));
}
