/** The results of a run, by scenario and by store. */
import type { Footprint } from './footprint.ts';
import { Tenths } from './fault-free.ts';

export interface Rows {
  /** Rows after the warm-up, at the end, and the most at any time. */
  warm: number;
  end: number;
  most: number;
}

export interface Tally {
  checked: number;
  denied: number;
  unavailable: number;
  violations: number;
  /** Checks after the last fault. */
  afterLastFault: number;
  /** When checks were made in fault-free periods, and when the store was unavailable in these periods. */
  readonly faultFree: Tenths;
  readonly missed: Tenths;
  rows: Rows | undefined;
}

export class Tallies {
  private readonly byScenario = new Map<string, Tally>();

  of(scenario: string): Tally {
    const known = this.byScenario.get(scenario);
    if (known !== undefined) return known;
    const tally: Tally = {
      checked: 0,
      denied: 0,
      unavailable: 0,
      violations: 0,
      afterLastFault: 0,
      faultFree: new Tenths(),
      missed: new Tenths(),
      rows: undefined,
    };
    this.byScenario.set(scenario, tally);
    return tally;
  }

  get scenarios(): Readonly<Record<string, Tally>> {
    return Object.fromEntries(this.byScenario);
  }

  total(of: 'checked' | 'unavailable'): number {
    return [...this.byScenario.values()].reduce((sum, tally) => sum + tally[of], 0);
  }
}

export interface Verdict {
  /** The first hundred reports of something that must never happen. */
  readonly violations: readonly string[];
  /** Results of each scenario, by its name 'store: property'. */
  readonly scenarios: Readonly<Record<string, Tally>>;
  /** Number of injected faults, by store and kind. */
  readonly faults: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Heap and resident memory of this process, and resident memory of a server that is never restarted. */
  readonly memory: Readonly<Record<'heap' | 'resident' | 'server', Footprint>>;
  /** Milliseconds by which the machine's clock was set during the run. Servers use that clock, and so do their ledgers. */
  readonly clockSet: readonly number[];
}

const COLUMNS = ['checked', 'denied', 'unavailable', 'violations'] as const;

/** One line for each store. */
function table({ scenarios, faults }: Verdict): string[] {
  const stores = [...new Set(Object.keys(scenarios).map(storeOf))].sort();
  const lines = stores.map((store) => {
    const tallies = Object.entries(scenarios)
      .filter(([scenario]) => storeOf(scenario) === store)
      .map(([, tally]) => tally);
    const sum = (of: (tally: Tally) => number) => tallies.reduce((total, tally) => total + of(tally), 0);
    const numbers = [
      ...COLUMNS.map((column) => sum((tally) => tally[column])),
      countOf(faults[store]),
      sum(({ faultFree }) => faultFree.count / 10),
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
    ['store', ...COLUMNS, 'faults', 'no fault, s', 'missed, s', 'rows after a third → at the end'],
    ...lines,
  ].map(([store, ...rest]) =>
    [store.padEnd(14), ...rest.slice(0, -1).map((cell) => cell.padStart(11)), `  ${rest.at(-1)}`].join(' '),
  );
}

export function summary(verdict: Verdict): string {
  const { violations, faults, memory, clockSet } = verdict;
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
        `${name.padEnd(9)} ${mega(start)} before, ${mega(warm)} after a third, ${mega(end)} at the end; trend of the last two thirds: ${mega(growth)} more`,
    ),
    `clock     ${clockSet.length === 0 ? 'never set' : `set by ${clockSet.map((step) => step.toFixed(0)).join(', ')} ms`}`,
    `violations ${violations.length === 0 ? 'none' : `\n  ${violations.join('\n  ')}`}`,
  ].join('\n');
}

export const storeOf = (scenario: string): string => scenario.split(':')[0];
export const countOf = (counts: Readonly<Record<string, number>> = {}): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);
export const mega = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
