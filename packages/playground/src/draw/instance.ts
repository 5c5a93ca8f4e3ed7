/** Draws a running limiter as a tank that shows the remaining units, with the requests of the last seconds beside it. */
import type { Millis } from 'sluice';
import { type Instance, SHOWN } from '../learn/instance.ts';
import type { Palette } from './palette.ts';
import type { Sheet } from './sheet.ts';

export interface InstanceLook {
  readonly palette: Palette;
  /** Whether to draw window boundaries ('edges') or a sliding bracket ('slides'). Default: neither. */
  readonly windows?: 'edges' | 'slides' | undefined;
  readonly font: string;
}

const TANK = 54;
const GAP = 22;
const TOP = 18;
const REQUESTS = 56;
const LEVEL_TOP = TOP + REQUESTS + 24;

export const INSTANCE_HEIGHT = 168;
/** The number of waiting requests at which the tank is drawn full. */
const MOST_WAITING = 10;

export function drawInstance(sheet: Sheet, instance: Instance, look: InstanceLook): void {
  const { context, width, height } = sheet;
  const { palette } = look;
  const { now } = instance;
  const left = TANK + GAP;
  const wide = width - left;
  const x = (at: Millis) => left + ((at - now + SHOWN) / SHOWN) * wide;
  context.clearRect(0, 0, width, height);
  context.font = look.font;
  const isLeft = instance.shows === 'left';
  const most = isLeft ? instance.limit : MOST_WAITING;
  drawTank();
  context.save();
  context.beginPath();
  context.rect(left, 0, wide, height);
  context.clip();
  drawWindows();
  drawAsks();
  drawLevels();
  context.restore();
  const long = `Requests: admitted above, ${isLeft ? 'denied' : 'waiting'} below`;
  label(context.measureText(long).width <= wide ? long : 'Requests', left, TOP - 6);
  label(isLeft ? `Units left (max. ${most})` : 'Waiting', left, LEVEL_TOP - 6);

  function label(text: string, at: number, y: number): void {
    context.fillStyle = palette.muted;
    context.fillText(text, at, y);
  }

  function drawTank(): void {
    const bottom = height - 6;
    const tall = bottom - TOP;
    const share = Math.min(1, instance.level / most);
    context.fillStyle = palette.level;
    context.globalAlpha = 0.3;
    context.fillRect(1, bottom - share * tall, TANK - 2, share * tall);
    context.globalAlpha = 1;
    if (share > 0) context.fillRect(1, bottom - share * tall, TANK - 2, 2);
    context.strokeStyle = palette.muted;
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(1, TOP);
    context.lineTo(1, bottom);
    context.lineTo(TANK - 1, bottom);
    context.lineTo(TANK - 1, TOP);
    context.stroke();
    context.fillStyle = palette.ink;
    context.textAlign = 'center';
    context.font = look.font.replace('11px', '600 17px');
    context.fillText(String(instance.level), TANK / 2, TOP + tall / 2 + 6);
    context.font = look.font;
    context.textAlign = 'left';
    label(instance.shows, 2, TOP - 6);
  }

  function drawWindows(): void {
    const { window } = instance;
    context.strokeStyle = palette.muted;
    context.lineWidth = 1;
    if (look.windows === 'edges') {
      context.setLineDash([2, 3]);
      context.beginPath();
      for (let edge = Math.ceil((now - SHOWN) / window) * window; edge <= now; edge += window) {
        context.moveTo(x(edge), TOP);
        context.lineTo(x(edge), height - 6);
      }
      context.stroke();
      context.setLineDash([]);
    }
    if (look.windows === 'slides') {
      context.fillStyle = palette.line;
      context.globalAlpha = 0.45;
      context.fillRect(x(now - window), TOP, x(now) - x(now - window), REQUESTS);
      context.globalAlpha = 1;
    }
  }

  function drawAsks(): void {
    const middle = TOP + REQUESTS / 2;
    for (const { at, allowed, passes } of instance.asks) {
      context.fillStyle = allowed ? palette.admitted : palette.denied;
      if (passes > at || (allowed && !isLeft)) drawWait(at, passes);
      else if (allowed) context.fillRect(x(at) - 1, TOP, 2, REQUESTS / 2);
      else context.fillRect(x(at) - 1, middle + 1, 2, REQUESTS * 0.3);
    }
    context.fillStyle = palette.muted;
    context.fillRect(left, middle, wide, 1);

    /** Draws a request that waited, as a line from its arrival below the axis to its admission above the axis. */
    function drawWait(at: Millis, passes: Millis): void {
      const [low, high] = [middle + REQUESTS * 0.3, TOP + REQUESTS * 0.25];
      const done = Math.min(1, (now - at) / Math.max(1, passes - at));
      context.globalAlpha = 0.55;
      context.strokeStyle = palette.muted;
      context.beginPath();
      context.moveTo(x(at), low + 5);
      context.lineTo(x(at), low);
      context.lineTo(x(at + done * (passes - at)), low - done * (low - high));
      context.stroke();
      context.globalAlpha = 1;
      if (passes <= now) context.fillRect(x(passes) - 1, TOP, 2, REQUESTS / 2);
    }
  }

  function drawLevels(): void {
    const bottom = height - 6;
    const y = (value: number) => bottom - (Math.min(value, most) / most) * (bottom - LEVEL_TOP);
    const outline = new Path2D();
    const { levels } = instance;
    outline.moveTo(left, y(levels[0].level));
    for (let i = 1; i < levels.length; i++) {
      outline.lineTo(x(levels[i].at), y(levels[i - 1].level));
      outline.lineTo(x(levels[i].at), y(levels[i].level));
    }
    const area = new Path2D(outline);
    area.lineTo(x(now), bottom);
    area.lineTo(left, bottom);
    context.fillStyle = palette.level;
    context.globalAlpha = 0.14;
    context.fill(area);
    context.globalAlpha = 1;
    context.strokeStyle = palette.level;
    context.lineWidth = 1.25;
    context.stroke(outline);
    context.fillStyle = palette.line;
    context.fillRect(left, bottom, wide, 1);
  }
}
