/** All scenes at once, in trouble, for a while; then a verdict. */
import { setTimeout as sleep } from 'node:timers/promises';
import { random } from 'sluice-test-support/random.ts';
import { bytesInUse, rejections } from 'sluice-test-support/redis/watch.ts';
import { steady } from './book.ts';
import { type Cast, cast } from './cast.ts';
import { Footprints } from './footprint.ts';
import type { Stage } from './scene.ts';
import { countOf, mega, storeOf, Tallies, type Verdict } from './tally.ts';
import { isTooMuch, Weather } from './weather.ts';

export interface SoakOptions {
  /** Milliseconds. */
  readonly span: number;
  readonly seed: number;
  /** Milliseconds between two lines. */
  readonly every: number;
  readonly print: (line: string) => void;
}

/** Until then the heap and the code still find their size. */
const WARM_UP = 1 / 3;
/** Milliseconds. The last part has no faults: everything must be well again. */
const calmOf = (span: number): number => Math.max(span / 20, 3000);
/** On a busy machine a fault may last longer than it should; then the rest does, too. */
const CALM = 2500;
/** And a scene may have come to nothing yet: for so much longer all go on. */
const LONGER = 90_000;
/** Fewer decisions of a scene say nothing. */
const FEWEST = 20;
/** How many scenes there are, by what they tell. */
const SCENES = 30;
const SAMPLES = 60;
/** Milliseconds between two samples at least: to collect all garbage takes a while, in which nothing is checked. */
const SELDOM = 2500;

export async function soak({ span, seed, every, print }: SoakOptions): Promise<Verdict> {
  const company = await cast();
  const { scenes, troubles } = company;
  const weather = new Weather([...troubles, ...company.reasons]);
  const tallies = new Tallies();
  const wrong: string[] = [];
  const start = performance.now();
  const elapsed = () => performance.now() - start;
  /** Since the last fault. */
  let calmSince = Infinity;
  let isOver = false;
  /** What has not been seen yet. */
  function lacking(): string[] {
    const all = Object.entries(tallies.scenes);
    const quiet = /: (rows|waiting)$/;
    return [
      ...(all.length < SCENES ? [`only ${all.length} scenes`] : []),
      ...all.filter(([, { checked }]) => checked < FEWEST).map(([scene]) => `${scene}: too few decisions`),
      ...all
        .filter(([, { calm }]) => calm === 0)
        .map(([scene]) => `${scene}: did not go on after the last fault`),
      ...all
        .filter(([scene, { denied }]) => denied === 0 && !quiet.test(scene))
        .map(([scene]) => `${scene}: no limit was ever reached`),
      ...troubles.filter(([, { counts }]) => countOf(counts) === 0).map(([store]) => `${store}: no fault`),
    ];
  }
  const stage: Stage = {
    seed,
    isOver() {
      const end = Math.max(span, calmSince + CALM);
      isOver ||= elapsed() > end && (elapsed() > end + LONGER || lacking().length === 0);
      return isOver;
    },
    checked(scene, count = 1) {
      const tally = tallies.of(scene);
      tally.checked += count;
      if (calmSince < Infinity) tally.calm += count;
      if (weather.isFair(storeOf(scene))) tally.fair.add(steady());
    },
    denied(scene, count = 1) {
      tallies.of(scene).denied += count;
    },
    unavailable(scene, asked) {
      const tally = tallies.of(scene);
      tally.unavailable++;
      if (!weather.isFair(storeOf(scene), asked)) return;
      tally.fair.add(steady());
      tally.missed.add(steady());
    },
    rows(scene, count, most) {
      const { warm, most: seen = 0 } = tallies.of(scene).rows ?? {};
      const isWarm = elapsed() > span * WARM_UP;
      tallies.of(scene).rows = {
        warm: isWarm ? (warm ?? count) : count,
        end: count,
        most: Math.max(seen, count),
      };
      if (count > most) stage.wrong(scene, `${count} rows are kept, where ${most} can be in use`);
    },
    late: () => weather.late(),
    wrong(scene, what) {
      tallies.of(scene).wrong++;
      if (wrong.length >= 100) return;
      wrong.push(`${seconds(elapsed())}, ${scene}: ${what.slice(0, 1000)}`);
      print(`wrong: ${wrong[wrong.length - 1]}`);
    },
  };

  const unheard = rejections();
  const clock = clockWatch();
  const memory = { heap: new Footprints(), resident: new Footprints(), server: new Footprints() };
  async function sample(): Promise<void> {
    memory.heap.add(bytesInUse());
    memory.resident.add(process.memoryUsage.rss());
    memory.server.add(await company.resident().catch(() => memory.server.last));
  }
  await sample();
  const faults = (): number => troubles.reduce((sum, [, { counts }]) => sum + countOf(counts), 0);
  const line = (): string =>
    `${seconds(elapsed()).padStart(5)}  ${tallies.total('checked').toLocaleString('en')} checked, ${wrong.length} wrong, ` +
    `${tallies.total('unavailable').toLocaleString('en')} unavailable, ${faults()} faults, heap ${mega(memory.heap.last)}${waitedFor()}`;
  const waitedFor = (): string =>
    elapsed() < span
      ? ''
      : troubles.map(([store, { doing }]) => (doing ? `, ${store}: ${doing}` : '')).join('');
  async function watch(): Promise<void> {
    while (!stage.isOver()) {
      await sleep(Math.min(Math.max(span / SAMPLES, SELDOM), every));
      clock.look();
      // What was let go at the end says nothing.
      if (!stage.isOver()) await sample();
    }
  }
  async function disturb(): Promise<void> {
    const left = (): number => span - calmOf(span) - elapsed();
    await Promise.all(troubles.map(([, trouble], i) => trouble.make(random(seed + i), left)));
    calmSince = elapsed();
  }
  async function tell(): Promise<void> {
    for (let next = every; !stage.isOver(); ) {
      await sleep(50);
      if (elapsed() < next) continue;
      print(line());
      next += every;
    }
  }

  print(`soak of ${seconds(span)}, seed ${seed}`);
  print(line());
  try {
    await Promise.all([...scenes.map((scene) => scene(stage)), disturb(), watch(), tell()]);
  } finally {
    weather.stop();
    await company.stop();
  }
  await unheard.stop();
  for (const error of unheard.seen) stage.wrong('all', `nobody caught: ${String(error)}`);
  wrong.push(...lacking());
  for (const [scene, { fair, missed }] of Object.entries(tallies.scenes))
    if (isTooMuch(missed.count, fair.count))
      wrong.push(
        `${scene}: unavailable in ${missed.count} of ${fair.count} tenths of a second of fair weather`,
      );
  return {
    wrong,
    scenes: tallies.scenes,
    faults: byStore(troubles),
    memory: {
      heap: memory.heap.result(WARM_UP),
      resident: memory.resident.result(WARM_UP),
      server: memory.server.result(WARM_UP),
    },
    clockSet: clock.steps,
  };
}

/** How often the machine's clock was set, and by how many milliseconds. */
function clockWatch(): { readonly steps: readonly number[]; look(): void } {
  const offset = (): number => Date.now() - steady();
  const steps: number[] = [];
  let last = offset();
  return {
    steps,
    look() {
      const step = offset() - last;
      // It is read in whole milliseconds.
      if (Math.abs(step) < 3) return;
      steps.push(step);
      last += step;
    },
  };
}

function byStore(troubles: Cast['troubles']): Record<string, Record<string, number>> {
  const faults: Record<string, Record<string, number>> = {};
  for (const [store, { counts }] of troubles) {
    faults[store] ??= {};
    for (const [name, count] of Object.entries(counts))
      faults[store][name] = (faults[store][name] ?? 0) + count;
  }
  return faults;
}

const seconds = (millis: number): string => `${(millis / 1000).toFixed(0)} s`;
