/**
 * Draws one limit as three bands over the same time. The bands show the requests (admitted upward, denied downward), the number
 * of requests that passed in the last window compared to the limit, and the remaining units.
 */
import type { Millis } from 'sluice';
import type { Run } from '../model/run.ts';
import { SAMPLES } from '../model/run.ts';
import { maximumsOf } from '../model/window-counts.ts';
import type { Palette } from './palette.ts';
import type { Sheet } from './sheet.ts';

export interface LaneLook {
  readonly palette: Palette;
  /** Index in `run.bounds` of the rate that the middle band shows. */
  readonly bound: number;
  /**
   * The height of the middle band as a multiple of the limit. It is the same for all lanes, so that the lanes can be compared.
   */
  readonly reach: number;
  /** The maximum number of requests per bar, over all lanes. */
  readonly tallest: number;
}

interface Band {
  readonly top: number;
  readonly height: number;
}

const LABEL = 15;
export const LANE_HEIGHT = 168;

export const BANDS: Readonly<Record<'requests' | 'window' | 'level', Band>> = {
  requests: { top: LABEL, height: 40 },
  window: { top: 74, height: 46 },
  level: { top: 138, height: 28 },
};

/** The width of a bar that stands for several requests, in pixels. Requests are drawn one by one if there is room. */
export const BAR = 3;

/** Draws a lane and returns the highest count that its middle band shows. */
export function drawLane(sheet: Sheet, run: Run, look: LaneLook): number {
  const { context, width, height } = sheet;
  context.clearRect(0, 0, width, height);
  drawEdges(sheet, run, look);
  drawRequests(sheet, run, look);
  drawLevel(sheet, run, look);
  return drawWindow(sheet, run, look);
}

/** Draws window boundaries, if there is room to distinguish them. */
function drawEdges({ context, width }: Sheet, run: Run, { palette, bound }: LaneLook): void {
  const { origin, length } = run.traffic;
  const { per } = run.bounds[bound];
  if (length / per > width / 12) return;
  context.strokeStyle = palette.line;
  context.lineWidth = 1;
  context.setLineDash([2, 3]);
  context.beginPath();
  for (let edge = Math.ceil(origin / per) * per - origin; edge <= length; edge += per) {
    const x = Math.min(width - 0.5, Math.max(0.5, Math.round((edge / length) * width) + 0.5));
    context.moveTo(x, LABEL);
    context.lineTo(x, BANDS.level.top + BANDS.level.height);
  }
  context.stroke();
  context.setLineDash([]);
}

function drawRequests(sheet: Sheet, run: Run, look: LaneLook): void {
  const { context, width } = sheet;
  const { top, height } = BANDS.requests;
  const half = height / 2;
  const middle = top + half;
  const { length } = run.traffic;
  const lists = [
    { list: run.admitted, colour: look.palette.admitted, up: -1 },
    { list: run.denied, colour: look.palette.denied, up: 1 },
  ];
  const bars = Math.ceil(width / BAR);
  for (const { list, colour, up } of lists) {
    context.fillStyle = colour;
    if (look.tallest <= 3) {
      for (let i = 0; i < list.count; i++) {
        const x = (list.at[i] / length) * width;
        context.fillRect(x - 0.75, up < 0 ? middle - half : middle + 1, 1.5, up < 0 ? half : half * 0.6);
      }
      continue;
    }
    const counts = countBars(list.at, list.count, length, bars);
    for (let bar = 0; bar < bars; bar++) {
      if (counts[bar] === 0) continue;
      const tall = Math.max(1, Math.min(1, counts[bar] / look.tallest) * half);
      context.fillRect(bar * BAR, up < 0 ? middle - tall : middle + 1, BAR - 0.5, tall);
    }
  }
  context.fillStyle = look.palette.muted;
  context.fillRect(0, middle, width, 1);
}

export function countBars(at: Float64Array, count: number, length: Millis, bars: number): Uint32Array {
  const counts = new Uint32Array(bars);
  for (let i = 0; i < count; i++) counts[Math.min(bars - 1, Math.floor((at[i] / length) * bars))]++;
  return counts;
}

function drawWindow({ context, width }: Sheet, run: Run, { palette, bound, reach }: LaneLook): number {
  const { top, height } = BANDS.window;
  const { limit, per, cost = 1 } = run.bounds[bound];
  const bottom = top + height;
  const columns = Math.ceil(width);
  const maximums = maximumsOf(admissionsOf(run), per, run.traffic.length, columns).map(
    (count) => count * cost,
  );
  const decided = Math.ceil((run.until / run.traffic.length) * columns);
  const y = (value: number) => bottom - Math.min(1, value / (limit * reach)) * height;
  const line = y(limit);

  const area = new Path2D();
  area.moveTo(0, bottom);
  for (let x = 0; x < decided; x++) {
    area.lineTo(x, y(maximums[x]));
    area.lineTo(x + 1, y(maximums[x]));
  }
  area.lineTo(decided, bottom);
  area.closePath();
  // Fill the same shape twice, in a calm color below the limit and in a bright color above it.
  fillBetween(context, area, palette.admitted, 0.28, line, bottom - line, width);
  fillBetween(context, area, palette.denied, 0.85, top, line - top, width);

  context.strokeStyle = palette.ink;
  context.lineWidth = 1;
  context.setLineDash([5, 3]);
  context.beginPath();
  context.moveTo(0, Math.round(line) + 0.5);
  context.lineTo(width, Math.round(line) + 0.5);
  context.stroke();
  context.setLineDash([]);
  context.fillStyle = palette.line;
  context.fillRect(0, bottom, width, 1);
  return Math.max(...maximums);
}

function fillBetween(
  context: CanvasRenderingContext2D,
  area: Path2D,
  colour: string,
  alpha: number,
  top: number,
  height: number,
  width: number,
): void {
  context.save();
  context.beginPath();
  context.rect(0, top, width, height);
  context.clip();
  context.globalAlpha = alpha;
  context.fillStyle = colour;
  context.fill(area);
  context.restore();
}

/** The instants at which the focused key was admitted. */
function admissionsOf({ admitted, traffic, focus }: Run): number[] {
  const times: number[] = [];
  for (let i = 0; i < admitted.count; i++)
    if (traffic.keys[admitted.event[i]] === focus) times.push(admitted.at[i]);
  return times;
}

function drawLevel({ context, width }: Sheet, run: Run, { palette }: LaneLook): void {
  const { top, height } = BANDS.level;
  const bottom = top + height;
  const decided = Math.floor((run.until / run.traffic.length) * SAMPLES);
  const x = (sample: number) => (sample / SAMPLES) * width;
  const y = (value: number) => bottom - (value / run.full) * (height - 1);
  const outline = new Path2D();
  for (let i = 0; i < decided; i++) {
    if (i === 0) outline.moveTo(0, y(run.level[0]));
    else outline.lineTo(x(i), y(run.level[i - 1]));
    outline.lineTo(x(i), y(run.level[i]));
  }
  outline.lineTo(x(decided), y(run.level[Math.max(0, decided - 1)]));
  const area = new Path2D(outline);
  area.lineTo(x(decided), bottom);
  area.lineTo(0, bottom);
  context.globalAlpha = 0.14;
  context.fillStyle = palette.level;
  context.fill(area);
  context.globalAlpha = 1;
  context.strokeStyle = palette.level;
  context.lineWidth = 1.25;
  context.stroke(outline);
  context.fillStyle = palette.line;
  context.fillRect(0, bottom, width, 1);
}
