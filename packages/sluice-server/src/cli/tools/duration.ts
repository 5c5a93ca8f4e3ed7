/** Parses and formats durations on the command line. */
import { minInterval, type Millis, SluiceError } from 'sluice';
import { UsageError } from '../../config/usage-error.ts';

/** Parses a duration such as '10m', 's' or '250ms'. Throws a UsageError that names the flag. */
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

/** Formats a duration with its two largest units, as in '1h 30m'. */
export function showDuration(duration: Millis): string {
  const words: string[] = [];
  let rest = Math.round(duration / 1000) * 1000;
  for (const [unit, name] of STEPS) {
    const count = Math.floor(rest / unit);
    rest -= count * unit;
    if (count > 0) words.push(`${count}${name}`);
  }
  return words.slice(0, 2).join(' ') || `${Math.round(duration)}ms`;
}

/** The shortest round duration (such as 5 s or 1 h) that is at least `duration`, for the rows of a table. */
export function roundDuration(duration: Millis): Millis {
  const round = [1, 2, 5, 10, 15, 30].flatMap((n) => [n * 1000, n * 60_000, n * 3_600_000, n * 86_400_000]);
  return round.sort((a, b) => a - b).find((one) => one >= duration) ?? duration;
}
