/** Counts allowed and denied requests, over time and in total. */
import type { Decision, Millis } from 'sluice';
import { showDuration } from './duration.ts';

interface Row {
  allowed: number;
  denied: number;
}

export interface TallyRow extends Readonly<Row> {
  /** Start of the row, in epoch milliseconds. */
  readonly start: Millis;
}

const BAR = 40;
/**
 * Possible durations of a row. The shortest duration that needs at most MAX_ROWS rows is used. Each duration is a multiple of the
 * previous one.
 */
const STEPS: readonly Millis[] = [1, 5, 15, 60, 300, 900, 3600, 21_600, 86_400, 604_800].map((s) => s * 1000);
const MAX_ROWS = 60;

export class Tally {
  allowed = 0;
  denied = 0;
  /** Longest finite `retryAfter` of a denial. */
  longestWait = 0;
  private rows = new Map<number, Row>();
  /** The row of the previous request. Traffic is mostly in order, so the next request usually belongs to the same row. */
  private last: Row = { allowed: 0, denied: 0 };
  private lastIndex = Number.NaN;
  private earliest = Infinity;
  private latest = -Infinity;
  /** Time covered by each row. */
  step: Millis;
  /** Durations longer than `step`, to which `step` may still grow. */
  private longer: readonly Millis[];

  /** Without `step`, a row covers one second at first, and longer durations once the traffic would need too many rows. */
  constructor(step?: Millis) {
    const steps = step === undefined ? STEPS : [step];
    this.step = steps[0];
    this.longer = steps.slice(1);
  }

  add(now: Millis, { allowed, retryAfter }: Decision): void {
    const index = Math.floor(now / this.step);
    const row = index === this.lastIndex ? this.last : this.rowAt(index);
    if (allowed) {
      this.allowed++;
      row.allowed++;
    } else {
      this.denied++;
      row.denied++;
      if (retryAfter < Infinity && retryAfter > this.longestWait) this.longestWait = retryAfter;
    }
  }

  private rowAt(at: number): Row {
    const start = at * this.step;
    this.earliest = Math.min(this.earliest, start);
    this.latest = Math.max(this.latest, start);
    const indexOf = (instant: Millis): number => Math.floor(instant / this.step);
    while (indexOf(this.latest) - indexOf(this.earliest) >= MAX_ROWS && this.longer.length > 0)
      this.lengthen();
    const index = indexOf(start);
    const row = this.rows.get(index) ?? { allowed: 0, denied: 0 };
    this.rows.set(index, row);
    this.last = row;
    this.lastIndex = index;
    return row;
  }

  /** Switches to the next longer duration and merges the rows. */
  private lengthen(): void {
    const rows = this.inOrder();
    [this.step, ...this.longer] = this.longer;
    this.rows = new Map();
    for (const { start, allowed, denied } of rows) {
      const index = Math.floor(start / this.step);
      const row = this.rows.get(index) ?? { allowed: 0, denied: 0 };
      this.rows.set(index, { allowed: row.allowed + allowed, denied: row.denied + denied });
    }
  }

  get total(): number {
    return this.allowed + this.denied;
  }

  /** Rows that contain requests, ordered by time. */
  inOrder(): TallyRow[] {
    const rows = [...this.rows].sort(([a], [b]) => a - b);
    return rows.map(([index, row]) => ({ ...row, start: index * this.step }));
  }

  /** `label` formats the start of a row. */
  table(label: (start: Millis) => string): string {
    const rows = this.inOrder();
    const most = rows.reduce((top, { allowed, denied }) => Math.max(top, allowed + denied), 1);
    const names = rows.map(({ start }) => label(start));
    const width = names.reduce((longest, name) => Math.max(longest, name.length), 4);
    const lines = rows.map(({ allowed, denied }, i) => {
      const passed = Math.round((allowed / most) * BAR);
      const all = Math.round(((allowed + denied) / most) * BAR);
      const bar = '█'.repeat(passed) + '░'.repeat(all - passed);
      return `${names[i]?.padStart(width)} ${String(allowed).padStart(9)} ${String(denied).padStart(9)}  ${bar}`;
    });
    return [`${'from'.padStart(width)}   allowed    denied`, ...lines, ''].join('\n');
  }

  summary(): string {
    const share = (part: number) => `${((part / Math.max(1, this.total)) * 100).toFixed(2)} %`;
    const wait = this.denied === 0 ? '' : `; longest wait: ${showDuration(this.longestWait)}`;
    return `${this.total} requests: ${this.allowed} allowed (${share(this.allowed)}), ${this.denied} denied (${share(this.denied)})${wait}\n`;
  }
}
