/** Formats numbers and durations, for display and for policy text. */
import type { Millis } from 'sluice';

const UNITS: readonly (readonly [name: string, length: Millis])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
];

/** Formats a duration for policy text, in the largest unit that needs no fraction, such as '250ms', '90s' or '1h'. */
export function durationText(span: Millis): string {
  const [name, length] = UNITS.find((unit) => span % unit[1] === 0) ?? ['ms', 1];
  return `${span / length}${name}`;
}

/** Formats a duration for a table column, with three digits and a unit. */
export function showDuration(span: Millis): string {
  if (span === Infinity) return 'never';
  if (span === 0) return '0 s';
  if (span < 1) return '< 1 ms';
  if (span < 999.5) return `${round(span)} ms`;
  if (span < 119_950) return `${round(span / 1000)} s`;
  if (span < 7_170_000) return `${round(span / 60_000)} min`;
  if (span < 172_000_000) return `${round(span / 3_600_000)} h`;
  return `${round(span / 86_400_000)} d`;
}

/** Formats an instant in a run of the given length, such as '12.3 s', '4:05' or '1:04:05'. */
export function showTime(time: Millis, length: Millis): string {
  if (length < 2000) return `${Math.round(time)} ms`;
  if (length < 120_000) return `${(time / 1000).toFixed(1)} s`;
  const seconds = Math.floor(time / 1000);
  const two = (value: number) => String(value).padStart(2, '0');
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor(seconds / 60) % 60;
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

const grouped = new Intl.NumberFormat('en', { maximumFractionDigits: 2 });

export function showNumber(value: number): string {
  return value === Infinity ? '∞' : grouped.format(value);
}

/** Rounds to three digits. */
function round(value: number): string {
  const digits = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return String(Number(value.toFixed(digits)));
}
