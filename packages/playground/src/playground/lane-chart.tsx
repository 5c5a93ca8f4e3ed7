/**
 * The chart of a lane. It is drawn once when it changes, then copied in each frame, bright up to the playhead and pale after it.
 */
import { useSignalEffect } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { BANDS, drawLane, LANE_HEIGHT } from '../draw/lane.ts';
import { readPalette } from '../draw/palette.ts';
import { sheetOf, soon } from '../draw/sheet.ts';
import { showNumber, showDuration, showTime } from '../model/format.ts';
import type { Bound, Run } from '../model/run.ts';
import { follow } from '../ui/follow.ts';
import { isDark } from '../ui/theme.ts';
import { nearestRequest } from './pick.ts';
import { playhead, scrub } from './playback.ts';
import { progress, runs } from './store.ts';
import { tightest } from './totals.ts';
import { chartWidth, hover, picked, reach, tallest } from './views.ts';

const PALE = 0.22;
/** How many pixels the pointer may move while it is pressed and still count as a click. */
const STILL = 4;
const KEY = 'Requests: admitted above, denied below';

export function LaneChart({ id, summary }: { readonly id: number; readonly summary: string }) {
  const ref = useRef<HTMLCanvasElement>(null);
  const picture = useMemo(() => createPicture(id), [id]);

  useEffect(() => {
    const canvas = ref.current as HTMLCanvasElement;
    const watch = new ResizeObserver(() => {
      chartWidth.value = canvas.clientWidth;
      soon(picture.draw);
    });
    picture.canvas = canvas;
    watch.observe(canvas);
    return () => watch.disconnect();
  }, [picture]);

  useSignalEffect(() => {
    // Subscribe to everything that the chart shows.
    follow(progress, runs, reach, tallest, isDark, playhead, hover, picked);
    soon(picture.draw);
  });

  let start: number | undefined;
  let isDragged = false;
  const share = (event: PointerEvent) => event.offsetX / (ref.current as HTMLCanvasElement).clientWidth;

  return (
    <canvas
      ref={ref}
      class="chart"
      role="img"
      aria-label={summary}
      style={{ height: `${LANE_HEIGHT}px` }}
      onPointerDown={(event) => {
        start = event.offsetX;
        isDragged = false;
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={(event) => {
        const run = runs.peek().get(id);
        if (run !== undefined) hover.value = Math.min(1, Math.max(0, share(event))) * run.traffic.length;
        if (start !== undefined && Math.abs(event.offsetX - start) > STILL) isDragged = true;
        if (isDragged) scrub(share(event));
      }}
      onPointerUp={(event) => {
        const run = runs.peek().get(id);
        if (!isDragged && start !== undefined && run !== undefined) {
          const found = nearestRequest(run, share(event) * run.traffic.length, event.offsetY > middle);
          picked.value = found === undefined ? undefined : { lane: id, event: found };
        }
        start = undefined;
        isDragged = false;
      }}
      onPointerLeave={() => {
        hover.value = undefined;
      }}
    />
  );
}

const middle = BANDS.requests.top + BANDS.requests.height / 2;

interface Picture {
  canvas: HTMLCanvasElement | undefined;
  readonly draw: () => void;
}

function createPicture(id: number): Picture {
  const base = document.createElement('canvas');
  let drawn: unknown[] = [];
  /** The largest number of requests of the focused key that were admitted in any window. */
  let most = 0;
  const picture: Picture = { canvas: undefined, draw };

  function draw(): void {
    const run = runs.peek().get(id);
    const sheet = picture.canvas?.isConnected ? sheetOf(picture.canvas) : undefined;
    if (run === undefined || sheet === undefined) return;
    const { context, width, height, scale } = sheet;
    const palette = paletteFor(isDark.peek());
    const bound = tightest(run);
    const look = { palette, bound, reach: reach.peek(), tallest: tallest.peek() };
    const now = [run, run.until, width, scale, ...Object.values(look)];
    if (now.some((value, i) => value !== drawn[i])) {
      base.width = Math.round(width * scale);
      base.height = Math.round(height * scale);
      const own = base.getContext('2d') as CanvasRenderingContext2D;
      own.setTransform(scale, 0, 0, scale, 0, 0);
      most = drawLane({ context: own, width, height, scale }, run, look);
      drawn = now;
    }
    context.clearRect(0, 0, width, height);
    const x = Math.round((playhead.peek() / run.traffic.length) * width);
    copy(0, x, 1);
    copy(x, width, PALE);
    if (x < width) rule(x, palette.accent, 1.5);
    drawPointer(run);
    drawLabels(run, bound);

    function copy(from: number, to: number, alpha: number): void {
      if (to <= from) return;
      const [left, wide] = [Math.round(from * scale), Math.round((to - from) * scale)];
      context.globalAlpha = alpha;
      context.drawImage(base, left, 0, wide, base.height, from, 0, to - from, height);
      context.globalAlpha = 1;
    }

    function rule(at: number, colour: string, thick: number): void {
      context.fillStyle = colour;
      context.fillRect(
        at - thick / 2,
        BANDS.requests.top,
        thick,
        BANDS.level.top + BANDS.level.height - BANDS.requests.top,
      );
    }

    function drawPointer({ traffic }: Run): void {
      const at = hover.peek();
      if (at !== undefined) rule((at / traffic.length) * width, palette.muted, 1);
      const request = picked.peek();
      if (request?.lane !== id) return;
      const where = (traffic.times[request.event] / traffic.length) * width;
      context.strokeStyle = palette.ink;
      context.lineWidth = 2;
      context.strokeRect(where - 4, BANDS.requests.top - 1, 8, BANDS.requests.height + 2);
    }

    /** Draws the label of the middle band, in a short form if there is little room. */
    function drawVerdict({ per, limit, cost = 1 }: Bound, who: string): void {
      const isOver = most > limit;
      const verdict = isOver
        ? `up to ${showNumber(most)}: ${showNumber(most / limit)}× the limit`
        : `never more than ${showNumber(most)}`;
      const plain = context.font;
      const bold = plain.replace('11px', '600 11px');
      const long = `${cost === 1 ? 'Passed' : 'Units charged'} in the last ${showDuration(per)}${who}; limit ${showNumber(limit)}; `;
      context.font = bold;
      const room = width - context.measureText(verdict).width;
      context.font = plain;
      const text = context.measureText(long).width <= room ? long : `Last ${showDuration(per)}: `;
      context.fillStyle = palette.muted;
      context.fillText(text, 0, BANDS.window.top - 4);
      const left = context.measureText(text).width;
      context.font = isOver ? bold : plain;
      context.fillStyle = isOver ? palette.denied : palette.muted;
      context.fillText(verdict, left, BANDS.window.top - 4);
      context.font = plain;
    }

    function drawLabels({ bounds, costs = [], full, traffic, focus }: Run, shown: number): void {
      const who = traffic.names.length > 1 ? ` for ${traffic.names[focus]}` : '';
      context.font = `11px ${getComputedStyle(document.body).fontFamily}`;
      context.textBaseline = 'alphabetic';
      const label = (text: string, band: { top: number }) => {
        context.fillStyle = palette.muted;
        context.fillText(text, 0, band.top - 4);
      };
      label(KEY, BANDS.requests);
      drawVerdict(bounds[shown], who);
      label(
        `${costs.length === 0 ? 'Units left' : 'Requests left'}${who} (max. ${showNumber(full)})`,
        BANDS.level,
      );
      const at = hover.peek();
      if (at === undefined) return;
      const text = showTime(at, traffic.length);
      const wide = context.measureText(text).width;
      context.fillStyle = palette.surface;
      const left = Math.min(width - wide - 4, Math.max(0, (at / traffic.length) * width - wide / 2));
      context.fillRect(left - 3, 0, wide + 6, 14);
      context.fillStyle = palette.ink;
      context.fillText(text, left, 11);
    }
  }

  return picture;
}

let palettes: [isDark: boolean, palette: ReturnType<typeof readPalette>] | undefined;

function paletteFor(dark: boolean): ReturnType<typeof readPalette> {
  if (palettes?.[0] !== dark) palettes = [dark, readPalette()];
  return palettes[1];
}
