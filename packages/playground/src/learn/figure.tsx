/** An animated picture of a running limiter. It moves while it is visible, and is paused if the user prefers reduced motion. */
import { useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { drawInstance, INSTANCE_HEIGHT } from '../draw/instance.ts';
import { type Palette, readPalette } from '../draw/palette.ts';
import { sheetOf } from '../draw/sheet.ts';
import { isDark } from '../ui/theme.ts';
import type { Chapter } from './chapters.ts';
import { createInstance } from './instance.ts';

/** Maximum time step of a frame, in milliseconds, so that a tab in the background continues where it stopped. */
const LONGEST_FRAME = 100;
const MANY = 5;

export function Figure({ chapter }: { readonly chapter: Chapter }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const instance = useMemo(() => createInstance(chapter), [chapter]);
  const isMoving = useSignal(!matchMedia('(prefers-reduced-motion: reduce)').matches);
  const said = useSignal('');
  const dark = isDark.value;

  const draw = useMemo(() => {
    let palette: Palette | undefined;
    let font = '';
    return () => {
      const sheet = canvas.current === null ? undefined : sheetOf(canvas.current);
      if (sheet === undefined) return;
      palette ??= readPalette();
      font ||= `11px ${getComputedStyle(document.body).fontFamily}`;
      drawInstance(sheet, instance, { palette, windows: chapter.windows, font });
    };
    // `dark` is a dependency, because a change of theme needs a new palette.
  }, [instance, chapter, dark]);

  useEffect(() => {
    let isSeen = false;
    let frame = 0;
    let last: number | undefined;
    const tick = (at: number) => {
      if (isMoving.value) instance.advance(Math.min(LONGEST_FRAME, at - (last ?? at)));
      last = at;
      draw();
      frame = isSeen && isMoving.value ? requestAnimationFrame(tick) : 0;
    };
    const start = () => {
      last = undefined;
      if (frame === 0) frame = requestAnimationFrame(tick);
    };
    const seen = new IntersectionObserver(([entry]) => {
      isSeen = entry.isIntersecting;
      if (isSeen) start();
    });
    const sized = new ResizeObserver(start);
    const stop = isMoving.subscribe(start);
    seen.observe(canvas.current as HTMLCanvasElement);
    sized.observe(canvas.current as HTMLCanvasElement);
    return () => {
      seen.disconnect();
      sized.disconnect();
      stop();
      isSeen = false;
      cancelAnimationFrame(frame);
    };
  }, [draw, instance, isMoving]);

  function ask(times: number): void {
    let passed = 0;
    for (let i = 0; i < times; i++) if (instance.ask().allowed) passed++;
    said.value = `${passed} of ${times} passed`;
    draw();
  }

  return (
    <figure>
      <canvas
        ref={canvas}
        role="img"
        aria-label={`${chapter.title}: the last 20 seconds of a running ${chapter.code}`}
        style={{ height: `${INSTANCE_HEIGHT}px` }}
      />
      <figcaption>
        <code>{chapter.code}</code>
        <span class="said muted" role="status">
          {said.value}
        </span>
        <button type="button" onClick={() => ask(1)}>
          Send
        </button>
        <button type="button" onClick={() => ask(MANY)}>
          Send ×{MANY}
        </button>
        <button
          type="button"
          class="quiet"
          aria-pressed={!isMoving.value}
          onClick={() => {
            isMoving.value = !isMoving.value;
          }}
        >
          {isMoving.value ? 'Pause' : 'Resume'}
        </button>
      </figcaption>
    </figure>
  );
}
