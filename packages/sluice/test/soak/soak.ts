/** All scenes at once, in trouble, for a while; then a verdict. */
import { setTimeout as sleep } from 'node:timers/promises';
import { random } from '../differential.ts';
import { rejections } from '../redis/watch.ts';
import { differs, models } from './exact-scenes.ts';
import { Footprint, type Growth } from './footprint.ts';
import { direct, flood, leases, threads, waiting } from './real-scenes.ts';
import type { Stage } from './scene.ts';
import { trouble } from './trouble.ts';

export interface SoakOptions {
  /** Milliseconds. */
  readonly span: number;
  readonly seed: number;
  /** Milliseconds between two lines. */
  readonly every: number;
  readonly print: (line: string) => void;
}

export interface Verdict {
  /** What must never be; the first hundred. */
  readonly wrong: readonly string[];
  /** Decisions that were checked, by scene. */
  readonly checked: Readonly<Record<string, number>>;
  readonly denied: Readonly<Record<string, number>>;
  readonly unavailable: Readonly<Record<string, number>>;
  readonly faults: Readonly<Record<string, number>>;
  readonly growth: Growth;
}

/** Until then the heap and the code still find their size. */
const WARM_UP = 0.3;
/** The last part has no faults: everything must be well again. */
const calmOf = (span: number): number => Math.max(span / 20, 3000);
const SAMPLES = 40;

export async function soak({ span, seed, every, print }: SoakOptions): Promise<Verdict> {
  const start = performance.now();
  const elapsed = () => performance.now() - start;
  const checked: Record<string, number> = {};
  const denied: Record<string, number> = {};
  const unavailable: Record<string, number> = {};
  const sinceCalm: Record<string, number> = {};
  const wrong: string[] = [];
  const isCalm = () => elapsed() > span - calmOf(span);
  const add = (counts: Record<string, number>, name: string, count: number) => {
    counts[name] = (counts[name] ?? 0) + count;
  };
  const server = await trouble();
  const stage: Stage = {
    trouble: server,
    seed,
    isOver: () => elapsed() > span,
    checked(scene, count = 1) {
      add(checked, scene, count);
      if (isCalm()) add(sinceCalm, scene, count);
    },
    denied: (scene) => add(denied, scene, 1),
    unavailable: (scene) => add(unavailable, scene, 1),
    wrong(scene, what) {
      if (wrong.length < 100) wrong.push(`${scene}: ${what.slice(0, 1000)}`);
    },
  };

  const unheard = rejections();
  const footprint = new Footprint();
  let last = { heap: 0, resident: 0 };
  async function watch(): Promise<void> {
    await sleep(span * WARM_UP);
    while (!stage.isOver()) {
      last = footprint.sample();
      await sleep((span * (1 - WARM_UP)) / SAMPLES);
    }
  }
  async function tell(): Promise<void> {
    while (!stage.isOver()) {
      await sleep(Math.min(every, span));
      print(
        `${seconds(elapsed())}  ${total(checked)} checked, ${wrong.length} wrong, ${total(unavailable)} unavailable, ` +
          `${total(server.counts)} faults, heap ${mega(last.heap)}, resident ${mega(last.resident)}`,
      );
    }
  }

  print(`soak of ${seconds(span)}, seed ${seed}`);
  const scenes = { differs, models, direct, leases, threads, flood, waiting };
  await Promise.all([
    ...Object.values(scenes).map((scene) => scene(stage)),
    server.make(random(seed + 2), isCalm),
    watch(),
    tell(),
  ]);
  await server.stop();
  await unheard.stop();
  for (const error of unheard.seen) stage.wrong('all', `nobody caught: ${String(error)}`);
  for (const scene of Object.keys(checked))
    if (sinceCalm[scene] === undefined) stage.wrong(scene, 'did not go on after the last fault');
  return { wrong, checked, denied, unavailable, faults: server.counts, growth: footprint.growth() };
}

export function summary({ wrong, checked, denied, unavailable, faults, growth }: Verdict): string {
  const list = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts)
      .map(([name, count]) => `${name} ${count.toLocaleString('en')}`)
      .join(', ');
  return [
    `checked       ${list(checked)}`,
    `denied        ${list(denied)}`,
    `unavailable   ${list(unavailable)}`,
    `faults        ${list(faults)}`,
    `memory        heap ${mega(growth.heap)} and resident ${mega(growth.resident)} more at the end than after the warm-up`,
    `wrong         ${wrong.length === 0 ? 'nothing' : `\n  ${wrong.join('\n  ')}`}`,
  ].join('\n');
}

const seconds = (millis: number): string => `${(millis / 1000).toFixed(0)} s`;
const mega = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
const total = (counts: Readonly<Record<string, number>>): string =>
  Object.values(counts)
    .reduce((sum, count) => sum + count, 0)
    .toLocaleString('en');
