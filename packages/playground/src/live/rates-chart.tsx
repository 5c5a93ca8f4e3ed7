/** A chart of the request rates of one limit over the last minutes or the last hour. */
import { useSignalEffect } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { readPalette } from '../draw/palette.ts';
import { drawRates } from '../draw/rates.ts';
import { sheetOf, soon } from '../draw/sheet.ts';
import { follow } from '../ui/follow.ts';
import { isDark } from '../ui/theme.ts';
import { seriesFor, heard, RANGES, range } from './watch.ts';

/** Minimum number of milliseconds that the chart shows. The maximum is the range that the user chose. */
const LEAST = 20_000;

export function RatesChart({
  limit,
  isLarge = false,
}: {
  readonly limit: string;
  readonly isLarge?: boolean;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const draw = useMemo(
    () => () => {
      const sheet = canvas.current === null ? undefined : sheetOf(canvas.current);
      const series = seriesFor(limit);
      if (sheet === undefined || series.length === 0) return;
      const font = isLarge ? { font: `11px ${getComputedStyle(document.body).fontFamily}` } : {};
      const until = series[series.length - 1].at;
      const shown = Math.min(RANGES[range.peek()], Math.max(LEAST, until - series[0].at));
      drawRates(sheet, series, { palette: readPalette(), shown, until, ...font });
    },
    [limit, isLarge],
  );
  useSignalEffect(() => {
    follow(heard, isDark, range);
    soon(draw);
  });
  useEffect(() => {
    const watch = new ResizeObserver(() => soon(draw));
    watch.observe(canvas.current as HTMLCanvasElement);
    return () => watch.disconnect();
  }, [draw]);
  const what = limit === '' ? 'all limits' : limit;
  return (
    <canvas
      ref={canvas}
      class={isLarge ? 'rates large' : 'rates'}
      role="img"
      aria-label={`Rates of ${what} over the last ${range.value}`}
    />
  );
}
