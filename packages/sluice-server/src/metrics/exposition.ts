/** Numbers in Prometheus' text format. */

export type Labels = Readonly<Record<string, string>>;

export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export interface Sample {
  readonly labels?: Labels;
  readonly value: number;
  /** '_bucket' and its siblings. */
  readonly suffix?: string;
}

export function family(
  name: string,
  type: 'counter' | 'gauge' | 'histogram',
  help: string,
  samples: readonly Sample[],
): string {
  const lines = samples.map(
    ({ labels = {}, value, suffix = '' }) => `${name}${suffix}${shown(labels)} ${number(value)}`,
  );
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines, ''].join('\n');
}

function shown(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escaped(value: string): string {
  return value.toWellFormed().replace(/[\\"\n]/g, (sign) => (sign === '\n' ? '\\n' : `\\${sign}`));
}

function number(value: number): string {
  if (value === Infinity) return '+Inf';
  return value === -Infinity ? '-Inf' : String(value);
}

/** Upper bounds in seconds. */
const BOUNDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

export class Histogram {
  private readonly buckets = [...BOUNDS, Infinity].map(() => 0);
  private sum = 0;

  observe(seconds: number): void {
    let i = 0;
    while (i < BOUNDS.length && seconds > BOUNDS[i]) i++;
    this.buckets[i]++;
    this.sum += seconds;
  }

  samples(labels: Labels = {}): Sample[] {
    let count = 0;
    const samples = this.buckets.map((own, i): Sample => {
      count += own;
      return { suffix: '_bucket', labels: { ...labels, le: number(BOUNDS[i] ?? Infinity) }, value: count };
    });
    return [
      ...samples,
      { suffix: '_sum', labels, value: this.sum },
      { suffix: '_count', labels, value: count },
    ];
  }
}
