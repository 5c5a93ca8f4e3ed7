/**
 * Draws the rates of the last minutes as areas. Denied requests are on top of allowed ones, and requests that only shadow mode let
 * pass are at the top, in a lighter color. Gaps in the data stay visible.
 */
import type { Millis } from 'sluice';
import { showDuration } from '../model/format.ts';
import { areAdjacent, type Point } from '../live/series.ts';
import type { Palette } from './palette.ts';
import type { Sheet } from './sheet.ts';

const SECOND: Millis = 1000;
/** A point that covers more time than this is an average, so it is drawn as a step. Other points are connected by lines. */
const FINE: Millis = 3000;

function startOf(point: Point): Point {
  return { ...point, at: point.at - point.span };
}

function totalOf({ allowed, denied, shadowed }: Point): number {
  return allowed + denied + shadowed;
}

export interface RatesLook {
  readonly palette: Palette;
  readonly shown: Millis;
  readonly until: Millis;
  /** If given, the scale is labeled in this font. */
  readonly font?: string;
}

export function drawRates(
  { context, width, height }: Sheet,
  points: readonly Point[],
  look: RatesLook,
): void {
  const { palette, shown, until, font } = look;
  const highest = Math.max(1, ...points.filter(({ at }) => at > until - shown).map(totalOf));
  const top = font === undefined ? 1 : 16;
  const x = (at: Millis) => width - ((until - at) / shown) * width;
  const y = (value: number) => height - 1 - (value / highest) * (height - 1 - top);
  context.clearRect(0, 0, width, height);
  for (const heard of stretchesOf(points)) {
    const stretch = heard.flatMap((point, i) =>
      i === 0 || point.span > FINE ? [startOf(point), point] : [point],
    );
    fill(
      stretch,
      () => 0,
      ({ allowed }) => allowed,
      palette.admitted,
      0.35,
    );
    fill(
      stretch,
      ({ allowed }) => allowed,
      ({ allowed, denied }) => allowed + denied,
      palette.denied,
      0.9,
    );
    fill(stretch, ({ allowed, denied }) => allowed + denied, totalOf, palette.denied, 0.35);
  }
  context.fillStyle = palette.line;
  context.fillRect(0, height - 1, width, 1);
  if (font !== undefined) {
    context.font = font;
    context.fillStyle = palette.muted;
    context.fillText(`${Math.round(highest * 10) / 10}/s`, 0, 11);
    context.textAlign = 'right';
    context.fillText(`last ${showDuration(Math.round(shown / SECOND) * SECOND)}`, width, 11);
    context.textAlign = 'left';
  }

  function fill(
    stretch: readonly Point[],
    from: (point: Point) => number,
    to: (point: Point) => number,
    colour: string,
    alpha: number,
  ): void {
    context.beginPath();
    for (const point of stretch) context.lineTo(x(point.at), y(to(point)));
    for (let i = stretch.length - 1; i >= 0; i--) context.lineTo(x(stretch[i].at), y(from(stretch[i])));
    context.closePath();
    context.globalAlpha = alpha;
    context.fillStyle = colour;
    context.fill();
    context.globalAlpha = 1;
  }
}

/** Splits the points wherever there is a gap in the data. */
export function stretchesOf(points: readonly Point[]): Point[][] {
  const stretches: Point[][] = [];
  let last: Point | undefined;
  for (const point of points) {
    if (last === undefined || !areAdjacent(last, point)) stretches.push([]);
    (stretches.at(-1) as Point[]).push(point);
    last = point;
  }
  return stretches;
}
