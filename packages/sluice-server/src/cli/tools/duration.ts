/** Spans of time on a command line. */
import { minInterval, type Millis, SluiceError } from 'sluice';
import { UsageError } from '../../config/usage-error.ts';

/** '10m', 's', '250ms'. */
export function durationOf(flag: string, text: string): Millis {
  try {
    return minInterval({ every: text }).window;
  } catch (error) {
    if (error instanceof SluiceError)
      throw new UsageError(`${flag} must be a duration such as 10s or 5m; got ${text}`);
    throw error;
  }
}

const STEPS: readonly (readonly [Millis, string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1000, 's'],
];

/** The largest two units of it: '1h 30m'. */
export function showDuration(span: Millis): string {
  const words: string[] = [];
  let rest = Math.round(span / 1000) * 1000;
  for (const [unit, name] of STEPS) {
    const count = Math.floor(rest / unit);
    rest -= count * unit;
    if (count > 0) words.push(`${count}${name}`);
  }
  return words.slice(0, 2).join(' ') || `${Math.round(span)}ms`;
}

/** At least so long, and round: what a row of a table stands for. */
export function roundDuration(span: Millis): Millis {
  const round = [1, 2, 5, 10, 15, 30].flatMap((n) => [n * 1000, n * 60_000, n * 3_600_000, n * 86_400_000]);
  return round.sort((a, b) => a - b).find((one) => one >= span) ?? span;
}
