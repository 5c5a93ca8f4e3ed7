/**
 * Generates traffic from a seed, so that a link shows the same requests to everyone. `sluice simulate` generates the same
 * requests.
 */
import type { Millis } from 'sluice';

export interface Traffic {
  /**
   * The clock at the start of the run. It is 0, or the start of a recorded log, so that windows have their original boundaries.
   */
  readonly origin: Millis;
  readonly length: Millis;
  /** The times of the requests in milliseconds from the start, ascending. */
  readonly times: Float64Array;
  /** The key of each request, as an index into `names`. */
  readonly keys: Uint32Array;
  readonly names: readonly string[];
  /** Whether requests were left out because there were too many. */
  readonly isCut: boolean;
}

export const KINDS = ['edge', 'steady', 'bursts', 'poisson', 'rogue', 'log'] as const;
export type TrafficKind = (typeof KINDS)[number];

export interface TrafficOptions {
  readonly kind: TrafficKind;
  /** Requests per second. */
  readonly rate: number;
  /** Requests per burst. For 'rogue', the requests per second of the rogue script. */
  readonly size: number;
  /** The time between bursts. For 'edge', the time of the window boundary. */
  readonly every: Millis;
  readonly length: Millis;
  readonly seed: number;
}

export const MOST_EVENTS = 200_000;

const PEOPLE = ['ann', 'ben', 'cem', 'dia', 'eva'];
export const SCRIPT = 'script';

interface Asked {
  readonly time: Millis;
  readonly name: string;
}

export function generate(options: TrafficOptions): Traffic {
  const asked = [...take(MAKERS[options.kind](options), MOST_EVENTS + 1)];
  return trafficOf(asked, 0, options.length);
}

/** Creates traffic from requests in any order. */
export function trafficOf(asked: readonly Asked[], origin: Millis, length: Millis): Traffic {
  const kept = asked.slice(0, MOST_EVENTS).sort((a, b) => a.time - b.time);
  const byName = new Map<string, number>();
  const keys = new Uint32Array(kept.length);
  const times = new Float64Array(kept.length);
  for (const [i, { time, name }] of kept.entries()) {
    if (!byName.has(name)) byName.set(name, byName.size);
    keys[i] = byName.get(name) as number;
    times[i] = time;
  }
  return { origin, length, times, keys, names: [...byName.keys()], isCut: asked.length > MOST_EVENTS };
}

const MAKERS: Readonly<Record<TrafficKind, (options: TrafficOptions) => Iterable<Asked>>> = {
  steady: ({ rate, length }) => steady(rate, 0, length),
  poisson: ({ rate, length, seed }) => poisson(rate, 0, length, random(seed), 'ann'),
  *bursts({ size, every, length }) {
    for (let start = 0; start < length; start += every) yield* burst(size, start, 0, length);
  },
  /** Generates one burst that ends at the window boundary and one that starts there, followed by a steady stream. */
  *edge({ size, every, rate, length }) {
    const spread = every / 10;
    yield* burst(size, every - spread, spread, length);
    yield* burst(size, every, spread, length);
    yield* steady(rate, 2 * every, length);
  },
  *rogue({ rate, size, length, seed }) {
    const next = random(seed);
    yield* interleaved([
      ...PEOPLE.map((name) => poisson(rate, 0, length, random(next() * 2 ** 32), name)),
      steady(size, length / 4, (length * 3) / 4, SCRIPT),
    ]);
  },
  log: () => [],
};

function* steady(rate: number, from: Millis, to: Millis, name = 'ann'): Generator<Asked> {
  const gap = 1000 / rate;
  for (let i = 0; from + i * gap < to; i++) yield { time: from + i * gap, name };
}

function* burst(size: number, from: Millis, spread: Millis, length: Millis): Generator<Asked> {
  for (let i = 0; i < size; i++) {
    const time = from + ((i + 0.5) * spread) / size;
    if (time < length) yield { time, name: 'ann' };
  }
}

function* poisson(
  rate: number,
  from: Millis,
  to: Millis,
  next: () => number,
  name: string,
): Generator<Asked> {
  for (let time = from; ; ) {
    time += -Math.log(1 - next()) * (1000 / rate);
    if (time >= to) return;
    yield { time, name };
  }
}

/** Merges sources in chronological order, so that only the latest requests are cut off if there are too many. */
function* interleaved(sources: Generator<Asked>[]): Generator<Asked> {
  const heads = sources.map((source) => source.next().value as Asked | undefined);
  for (;;) {
    let first = -1;
    for (let i = 0; i < heads.length; i++) {
      const head = heads[i];
      if (head !== undefined && (first < 0 || head.time < (heads[first] as Asked).time)) first = i;
    }
    if (first < 0) return;
    yield heads[first] as Asked;
    heads[first] = sources[first].next().value as Asked | undefined;
  }
}

function* take<T>(source: Iterable<T>, most: number): Generator<T> {
  let count = 0;
  for (const item of source) {
    if (count++ >= most) return;
    yield item;
  }
}

/** Returns a pseudorandom generator (mulberry32) of numbers in [0, 1), determined by the seed. */
function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
