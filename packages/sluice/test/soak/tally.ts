/** What was counted, by scene and by store. */
import type { Footprint } from './footprint.ts';
import { Tenths } from './weather.ts';

export interface Rows {
  /** When the warm-up ended, at the end, and the most that were ever seen. */
  warm: number;
  end: number;
  most: number;
}

export interface Tally {
  checked: number;
  denied: number;
  unavailable: number;
  wrong: number;
  /** Checked since the last fault. */
  calm: number;
  /** In fair weather: when something was asked, and when something was unavailable. */
  readonly fair: Tenths;
  readonly missed: Tenths;
  rows: Rows | undefined;
}

export class Tallies {
  private readonly byScene = new Map<string, Tally>();

  of(scene: string): Tally {
    const known = this.byScene.get(scene);
    if (known !== undefined) return known;
    const tally: Tally = {
      checked: 0,
      denied: 0,
      unavailable: 0,
      wrong: 0,
      calm: 0,
      fair: new Tenths(),
      missed: new Tenths(),
      rows: undefined,
    };
    this.byScene.set(scene, tally);
    return tally;
  }

  get scenes(): Readonly<Record<string, Tally>> {
    return Object.fromEntries(this.byScene);
  }

  total(of: 'checked' | 'unavailable'): number {
    return [...this.byScene.values()].reduce((sum, tally) => sum + tally[of], 0);
  }
}

export interface Verdict {
  /** What must never be; the first hundred. */
  readonly wrong: readonly string[];
  /** By 'store: what is looked at'. */
  readonly scenes: Readonly<Record<string, Tally>>;
  /** By store and kind. */
  readonly faults: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Of this process, and of a server that never ends. */
  readonly memory: Readonly<Record<'heap' | 'resident' | 'server', Footprint>>;
  /** Milliseconds by which the machine's clock was set meanwhile: servers go by it, and so do their books. */
  readonly clockSet: readonly number[];
}

const COLUMNS = ['checked', 'denied', 'unavailable', 'wrong'] as const;

/** A line for each store. */
function table({ scenes, faults }: Verdict): string[] {
  const stores = [...new Set(Object.keys(scenes).map(storeOf))].sort();
  const lines = stores.map((store) => {
    const tallies = Object.entries(scenes)
      .filter(([scene]) => storeOf(scene) === store)
      .map(([, tally]) => tally);
    const sum = (of: (tally: Tally) => number) => tallies.reduce((total, tally) => total + of(tally), 0);
    const numbers = [
      ...COLUMNS.map((column) => sum((tally) => tally[column])),
      countOf(faults[store]),
      sum(({ fair }) => fair.count / 10),
      sum(({ missed }) => missed.count / 10),
    ];
    const rows = tallies.flatMap((tally) => tally.rows ?? []);
    return [
      store,
      ...numbers.map((number) => number.toLocaleString('en')),
      rows.map(({ warm, end, most }) => `${warm} → ${end}, at most ${most}`).join('; '),
    ];
  });
  return [
    ['store', ...COLUMNS, 'faults', 'fair, s', 'missed, s', 'rows after a third → at the end'],
    ...lines,
  ].map(([store, ...rest]) =>
    [store.padEnd(14), ...rest.slice(0, -1).map((cell) => cell.padStart(11)), `  ${rest.at(-1)}`].join(' '),
  );
}

export function summary(verdict: Verdict): string {
  const { wrong, faults, memory, clockSet } = verdict;
  const list = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ');
  return [
    '',
    ...table(verdict),
    '',
    ...Object.entries(faults).map(([store, counts]) => `faults of ${store}: ${list(counts)}`),
    '',
    ...Object.entries(memory).map(
      ([name, { start, warm, end, growth }]) =>
        `${name.padEnd(9)} ${mega(start)} before, ${mega(warm)} after a third, ${mega(end)} at the end; by a line through the last two thirds ${mega(growth)} more`,
    ),
    `clock     ${clockSet.length === 0 ? 'never set' : `set by ${clockSet.map((step) => step.toFixed(0)).join(', ')} ms`}`,
    `wrong     ${wrong.length === 0 ? 'nothing' : `\n  ${wrong.join('\n  ')}`}`,
  ].join('\n');
}

export const storeOf = (scene: string): string => scene.split(':')[0];
export const countOf = (counts: Readonly<Record<string, number>> = {}): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);
export const mega = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
