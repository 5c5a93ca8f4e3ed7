/** Runs all scenarios concurrently while faults are injected, and reports what went wrong. */
import { setTimeout as sleep } from 'node:timers/promises';
import { random } from 'sluice-test-support/random.ts';
import { bytesInUse, rejections } from 'sluice-test-support/redis/watch.ts';
import { steady } from './ledger.ts';
import { type Setup, setUp } from './setup.ts';
import { Footprints } from './footprint.ts';
import type { Run } from './scenario.ts';
import { countOf, mega, storeOf, Tallies, type Verdict } from './tally.ts';
import { isUnavailableTooOften, FaultFree } from './fault-free.ts';

export interface SoakOptions {
  /** Milliseconds. */
  readonly span: number;
  readonly seed: number;
  /** Milliseconds between two lines of progress. */
  readonly every: number;
  readonly print: (line: string) => void;
}

/** Fraction of the run after which the heap and the code have reached their final size. */
const WARM_UP = 1 / 3;
/** Milliseconds at the end of a run in which no fault is injected, and in which every store must recover. */
const faultFreeEnd = (span: number): number => Math.max(span / 20, 3000);
/** Minimum number of fault-free milliseconds at the end, even if the last fault took longer than planned on a busy machine. */
const MIN_FAULT_FREE = 2500;
/** The maximum number of milliseconds by which a run is extended, if a scenario has not made enough checks yet. */
const MAX_EXTENSION = 90_000;
/** Minimum number of decisions that each scenario must make. */
const MIN_CHECKS = 20;
/** How many scenarios report results. */
const SCENARIOS = 30;
const SAMPLES = 60;
/** Minimum number of milliseconds between two memory samples. Each sample collects all garbage, which blocks the checks. */
const SAMPLE_EVERY = 2500;

export async function soak({ span, seed, every, print }: SoakOptions): Promise<Verdict> {
  const setup = await setUp();
  const { scenarios, injectors } = setup;
  const faultFree = new FaultFree([...injectors, ...setup.dependencies]);
  const tallies = new Tallies();
  const violations: string[] = [];
  const start = performance.now();
  const elapsed = () => performance.now() - start;
  /** When the last fault ended. */
  let faultFreeSince = Infinity;
  let isOver = false;
  /** The conditions that the run has not met yet. */
  function missing(): string[] {
    const all = Object.entries(tallies.scenarios);
    const neverDenied = /: (rows|waiting)$/;
    return [
      ...(all.length < SCENARIOS ? [`only ${all.length} scenarios reported`] : []),
      ...all
        .filter(([, { checked }]) => checked < MIN_CHECKS)
        .map(([scenario]) => `${scenario}: too few decisions`),
      ...all
        .filter(([, { afterLastFault }]) => afterLastFault === 0)
        .map(([scenario]) => `${scenario}: made no checks after the last fault`),
      ...all
        .filter(([scenario, { denied }]) => denied === 0 && !neverDenied.test(scenario))
        .map(([scenario]) => `${scenario}: never reached a limit`),
      ...injectors
        .filter(([, { counts }]) => countOf(counts) === 0)
        .map(([store]) => `${store}: no fault was injected`),
    ];
  }
  const run: Run = {
    seed,
    isOver() {
      const end = Math.max(span, faultFreeSince + MIN_FAULT_FREE);
      isOver ||= elapsed() > end && (elapsed() > end + MAX_EXTENSION || missing().length === 0);
      return isOver;
    },
    checked(scenario, count = 1) {
      const tally = tallies.of(scenario);
      tally.checked += count;
      if (faultFreeSince < Infinity) tally.afterLastFault += count;
      if (faultFree.isFaultFree(storeOf(scenario))) tally.faultFree.add(steady());
    },
    denied(scenario, count = 1) {
      tallies.of(scenario).denied += count;
    },
    unavailable(scenario, asked) {
      const tally = tallies.of(scenario);
      tally.unavailable++;
      if (!faultFree.isFaultFree(storeOf(scenario), asked)) return;
      tally.faultFree.add(steady());
      tally.missed.add(steady());
    },
    rows(scenario, count, most) {
      const { warm, most: seen = 0 } = tallies.of(scenario).rows ?? {};
      const isWarm = elapsed() > span * WARM_UP;
      tallies.of(scenario).rows = {
        warm: isWarm ? (warm ?? count) : count,
        end: count,
        most: Math.max(seen, count),
      };
      if (count > most)
        run.violation(scenario, `the store keeps ${count} rows, but at most ${most} can be in use`);
    },
    late: () => faultFree.late(),
    violation(scenario, what) {
      tallies.of(scenario).violations++;
      if (violations.length >= 100) return;
      violations.push(`${seconds(elapsed())}, ${scenario}: ${what.slice(0, 1000)}`);
      print(`violation: ${violations[violations.length - 1]}`);
    },
  };

  const unhandled = rejections();
  const clock = clockWatch();
  const memory = { heap: new Footprints(), resident: new Footprints(), server: new Footprints() };
  async function sample(): Promise<void> {
    memory.heap.add(bytesInUse());
    memory.resident.add(process.memoryUsage.rss());
    memory.server.add(await setup.resident().catch(() => memory.server.last));
  }
  await sample();
  const faults = (): number => injectors.reduce((sum, [, { counts }]) => sum + countOf(counts), 0);
  const line = (): string =>
    `${seconds(elapsed()).padStart(5)}  ${tallies.total('checked').toLocaleString('en')} checked, ${violations.length} violations, ` +
    `${tallies.total('unavailable').toLocaleString('en')} unavailable, ${faults()} faults, heap ${mega(memory.heap.last)}${waitedFor()}`;
  /** After the planned duration: what the run still waits for. */
  const waitedFor = (): string => {
    if (elapsed() < span) return '';
    const active = injectors.flatMap(([store, { active }]) => (active ? [`${store}: ${active}`] : []));
    return `, waits for ${[...active, ...missing()].join('; ') || 'the fault-free period'}`;
  };
  async function watch(): Promise<void> {
    while (!run.isOver()) {
      await sleep(Math.min(Math.max(span / SAMPLES, SAMPLE_EVERY), every));
      clock.check();
      // Takes no sample after the end, when the scenarios free their memory.
      if (!run.isOver()) await sample();
    }
  }
  async function injectFaults(): Promise<void> {
    const left = (): number => span - faultFreeEnd(span) - elapsed();
    await Promise.all(injectors.map(([, injector], i) => injector.run(random(seed + i), left)));
    faultFreeSince = elapsed();
  }
  async function report(): Promise<void> {
    for (let next = every; !run.isOver(); ) {
      await sleep(50);
      if (elapsed() < next) continue;
      print(line());
      next += every;
    }
  }

  print(`soak of ${seconds(span)}, seed ${seed}`);
  print(line());
  try {
    await Promise.all([...scenarios.map((scenario) => scenario(run)), injectFaults(), watch(), report()]);
  } finally {
    faultFree.stop();
    await setup.stop();
  }
  await unhandled.stop();
  for (const error of unhandled.seen) run.violation('all', `unhandled rejection: ${String(error)}`);
  violations.push(...missing());
  for (const [scenario, { faultFree: asked, missed }] of Object.entries(tallies.scenarios))
    if (isUnavailableTooOften(missed.count, asked.count))
      violations.push(
        `${scenario}: unavailable in ${missed.count} of ${asked.count} tenths of a second without faults`,
      );
  return {
    violations,
    scenarios: tallies.scenarios,
    faults: byStore(injectors),
    memory: {
      heap: memory.heap.result(WARM_UP),
      resident: memory.resident.result(WARM_UP),
      server: memory.server.result(WARM_UP),
    },
    clockSet: clock.steps,
  };
}

/** Records by how many milliseconds the machine's clock was set, each time. */
function clockWatch(): { readonly steps: readonly number[]; check(): void } {
  const offset = (): number => Date.now() - steady();
  const steps: number[] = [];
  let last = offset();
  return {
    steps,
    check() {
      const step = offset() - last;
      // The clock is read in whole milliseconds.
      if (Math.abs(step) < 3) return;
      steps.push(step);
      last += step;
    },
  };
}

function byStore(injectors: Setup['injectors']): Record<string, Record<string, number>> {
  const faults: Record<string, Record<string, number>> = {};
  for (const [store, { counts }] of injectors) {
    faults[store] ??= {};
    for (const [name, count] of Object.entries(counts))
      faults[store][name] = (faults[store][name] ?? 0) + count;
  }
  return faults;
}

const seconds = (millis: number): string => `${(millis / 1000).toFixed(0)} s`;
