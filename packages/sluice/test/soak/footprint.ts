/** Determines whether memory use stays flat, by fitting a least-squares line to samples. */

export interface Footprint {
  /** Bytes before the first scenario, after the warm-up, and at the end. */
  readonly start: number;
  readonly warm: number;
  readonly end: number;
  /** Growth in bytes, according to the line through all samples after the warm-up. */
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

  /** `warmUp` is the fraction of the run after which the heap and the code have reached their final size. */
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
