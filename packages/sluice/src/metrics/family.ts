/** Represents metrics as plain data with OpenTelemetry names, and converts them to Prometheus's text format. */

/** Label values by label name. */
export type Labels = Readonly<Record<string, string>>;

/** One value of a metric. */
export interface Sample {
  /** The labels that distinguish this sample from the others. Default: none. */
  readonly labels?: Labels | undefined;
  /** A number, or a histogram of durations. */
  readonly value: number | Histogram;
}

/** One metric with all its label values. */
export interface Family {
  /**
   * The OpenTelemetry name, such as 'sluice.store.duration'. The Prometheus name, such as sluice_store_duration_seconds, is
   * derived from it.
   */
  readonly name: string;
  /** The type of the metric. A counter never decreases. */
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** The unit, which is seconds ('s') or bytes ('By'). Undefined if the metric has no unit. */
  readonly unit?: 's' | 'By' | undefined;
  /** A sentence that describes the metric. */
  readonly help: string;
  /** One sample for each set of labels. */
  readonly samples: readonly Sample[];
}

/** The content type of `exposition`. */
export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

const UNITS = { s: '_seconds', By: '_bytes' };

/** Formats metrics in version 0.0.4 of Prometheus's text format. */
export function exposition(families: readonly Family[]): string {
  return families.map(formatFamily).join('');
}

function formatFamily({ name, type, unit, help, samples }: Family): string {
  const total = type === 'counter' ? '_total' : '';
  const full = name.replace(/\W/g, '_') + (unit === undefined ? '' : UNITS[unit]) + total;
  const lines = samples.flatMap(({ labels = {}, value }) =>
    typeof value === 'number' ? line(full, labels, value) : histogramLines(full, labels, value),
  );
  return `# HELP ${full} ${help}\n# TYPE ${full} ${type}\n${lines.join('')}`;
}

function histogramLines(name: string, labels: Labels, { bounds, counts, sum }: Histogram): string[] {
  let count = 0;
  const buckets = counts.map((own, i) => {
    count += own;
    return line(`${name}_bucket`, { ...labels, le: number(bounds[i] ?? Infinity) }, count);
  });
  return [...buckets, line(`${name}_sum`, labels, sum), line(`${name}_count`, labels, count)];
}

function line(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${number(value)}\n`;
}

function escaped(value: string): string {
  return value
    .toWellFormed()
    .replace(/[\\"\n]/g, (character) => (character === '\n' ? '\\n' : `\\${character}`));
}

function number(value: number): string {
  if (value === Infinity) return '+Inf';
  return value === -Infinity ? '-Inf' : String(value);
}

/** The upper bounds of the histogram buckets, in seconds. */
export const BOUNDS: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5,
];

/** A histogram of durations. */
export class Histogram {
  /** The upper bounds of the buckets, in seconds. */
  readonly bounds: readonly number[] = BOUNDS;
  /** The count of each bucket, not cumulative. The last bucket has no upper bound. */
  readonly counts: number[] = [...BOUNDS, Infinity].map(() => 0);
  /** The sum of all durations, in seconds. */
  sum = 0;

  /** Adds a duration in seconds, `times` times. */
  observe(seconds: number, times = 1): void {
    let i = 0;
    while (i < BOUNDS.length && seconds > BOUNDS[i]) i++;
    this.counts[i] += times;
    this.sum += seconds * times;
  }
}
