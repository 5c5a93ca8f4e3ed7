/** The rates of a limit over the last hour. Recent points cover a second each; older points are merged, to bound memory. */
import type { Millis } from 'sluice';

/** Numbers of requests by outcome. */
export interface Counts {
  readonly allowed: number;
  readonly denied: number;
  readonly near: number;
  /** Requests that would have been denied without shadow mode. */
  readonly shadowed: number;
}

/** Requests per second in the `span` milliseconds that end at `at`. */
export interface Point extends Counts {
  readonly at: Millis;
  readonly span: Millis;
}

export const NONE: Counts = { allowed: 0, denied: 0, near: 0, shadowed: 0 };

/** For this long, every point is kept as it was received. */
const FINE: Millis = 300_000;
/** Older points are merged until each of them covers this duration. */
const COARSE: Millis = 10_000;
/** Even older points are dropped. */
export const KEPT: Millis = 3_600_000;
/** Time without data after which two points no longer belong together. */
const GAP: Millis = 1500;

export function areAdjacent(before: Point, after: Point): boolean {
  return after.at - after.span - before.at <= GAP;
}

/** Adds a point at the end of a series. */
export function addPoint(series: Point[], point: Point): void {
  series.push(point);
  // One point is added per second, so merging one pair each time is enough.
  const old = series.findIndex(
    (one, i) =>
      i > 0 &&
      one.at < point.at - FINE &&
      isShort(series[i - 1]) &&
      isShort(one) &&
      areAdjacent(series[i - 1], one),
  );
  if (old > 0) series.splice(old - 1, 2, merged(series[old - 1], series[old]));
  while (series[0].at < point.at - KEPT) series.shift();
}

/** Adds points from the server's history where the series has no points. Where it has points, they are more precise. */
export function addPast(series: Point[], past: readonly Point[]): void {
  const isMissing = ({ at, span }: Point) =>
    !series.some((own) => own.at > at - span && own.at - own.span < at);
  series.push(...past.filter(isMissing));
  series.sort((a, b) => a.at - b.at);
}

function isShort({ span }: Point): boolean {
  return span < COARSE;
}

function merged(before: Point, { at, span, ...counts }: Point): Point {
  const all = before.span + span;
  const mean = (name: keyof Counts) => (before[name] * before.span + counts[name] * span) / all;
  return {
    at,
    span: all,
    allowed: mean('allowed'),
    denied: mean('denied'),
    near: mean('near'),
    shadowed: mean('shadowed'),
  };
}
