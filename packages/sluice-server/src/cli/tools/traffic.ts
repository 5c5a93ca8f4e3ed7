/** Synthetic traffic: steady, random (Poisson) or in bursts. */
import type { Millis } from 'sluice';
import { UsageError } from '../../config/usage-error.ts';
import { durationOf } from './duration.ts';

/** Generates an infinite sequence of arrival times in milliseconds, starting near 0. */
export type Traffic = (random: () => number) => Generator<Millis>;

const RATE = /^(steady|poisson):([\d.]+)\/(.+)$/;
const BURST = /^bursts?:(\d+)@(.+)$/;

/** Parses a description of traffic such as 'steady:12/s', 'poisson:12/s' or 'burst:100@10s'. */
export function parseTraffic(text: string): Traffic {
  const [, kind, count, per] = RATE.exec(text) ?? [];
  if (kind !== undefined && Number(count) > 0) {
    const gap = durationOf('--traffic', per) / Number(count);
    return kind === 'steady' ? steady(gap) : poisson(gap);
  }
  const [, size, every] = BURST.exec(text) ?? [];
  if (every !== undefined && Number(size) > 0) return bursts(Number(size), durationOf('--traffic', every));
  throw new UsageError(`--traffic must look like steady:12/s, poisson:12/s or burst:100@10s; got ${text}`);
}

function steady(gap: Millis): Traffic {
  return function* arrivals() {
    for (let i = 0; ; i++) yield i * gap;
  };
}

function poisson(gap: Millis): Traffic {
  return function* arrivals(random) {
    for (let now = 0; ; ) {
      now += -Math.log(1 - random()) * gap;
      yield now;
    }
  };
}

function bursts(size: number, every: Millis): Traffic {
  return function* arrivals() {
    for (let now = 0; ; now += every) for (let i = 0; i < size; i++) yield now;
  };
}

/** The random number generator mulberry32. The same seed gives the same traffic. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
