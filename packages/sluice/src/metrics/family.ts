/** Metrics as data, named as OpenTelemetry names them, and the same in Prometheus' text format. */

/** Names and values. */
export type Labels = Readonly<Record<string, string>>;

/** One number of a metric. */
export interface Sample {
  /** What tells it from the others; default none. */
  readonly labels?: Labels | undefined;
  /** A number, or how many took how long. */
  readonly value: number | Histogram;
}

/** One metric with all its label values. */
export interface Family {
  /** 'sluice.store.duration'. Prometheus' name follows from it: sluice_store_duration_seconds. */
  readonly name: string;
  /** A counter only grows. */
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** Seconds or bytes. */
  readonly unit?: 's' | 'By' | undefined;
  /** A sentence for people. */
  readonly help: string;
  /** One for each set of labels. */
  readonly samples: readonly Sample[];
}

/** The content type of `exposition`. */
export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

const UNITS = { s: '_seconds', By: '_bytes' };

/** Prometheus' text format, version 0.0.4. */
export function exposition(families: readonly Family[]): string {
  return families.map(shown).join('');
}

function shown({ name, type, unit, help, samples }: Family): string {
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
  return value.toWellFormed().replace(/[\\"\n]/g, (sign) => (sign === '\n' ? '\\n' : `\\${sign}`));
}

function number(value: number): string {
  if (value === Infinity) return '+Inf';
  return value === -Infinity ? '-Inf' : String(value);
}

/** Upper bounds in seconds. */
export const BOUNDS: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5,
];

/** How many took how long. */
export class Histogram {
  /** The upper ends of the buckets, in seconds. */
  readonly bounds: readonly number[] = BOUNDS;
  /** Of each bucket alone; the last has no upper bound. */
  readonly counts: number[] = [...BOUNDS, Infinity].map(() => 0);
  /** Of all, in seconds. */
  sum = 0;

  /** `times`: several that took equally long. */
  observe(seconds: number, times = 1): void {
    let i = 0;
    while (i < BOUNDS.length && seconds > BOUNDS[i]) i++;
    this.counts[i] += times;
    this.sum += seconds * times;
  }
}
