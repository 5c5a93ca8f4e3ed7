/** The state of the playground, and the runs computed from it. A change recomputes only what depends on it. */
import { computed, effect, signal } from '@preact/signals';
import type { Millis } from 'sluice';
import { boundsOf, type Costs, costsFor } from '../model/costs.ts';
import type { Recording } from '../model/log.ts';
import { type Part, read, type Reading } from '../model/policy.ts';
import { createRun, type Run } from '../model/run.ts';
import { FIRST, MOST_LANES, type State, TRAFFIC, toQuery } from '../model/state.ts';
import { generate, type Traffic, type TrafficKind, type TrafficOptions } from '../model/traffic.ts';

export interface Lane {
  readonly id: number;
  readonly text: string;
  readonly reading: Reading;
  /** The last valid text and its parts. The chart keeps showing them while the user types. */
  readonly good: string;
  readonly parts: readonly Part[];
  readonly costs: Costs;
}

const FALLBACK = FIRST.limits[0];
let lastId = 0;

function laneOf(text: string, costs: Costs = [], before?: Lane): Lane {
  const reading = read(text);
  const id = before?.id ?? ++lastId;
  const good = reading.mistake === undefined ? text : (before?.good ?? FALLBACK);
  const parts =
    reading.mistake === undefined
      ? reading.parts
      : (before?.parts ?? (read(good) as { parts: readonly Part[] }).parts);
  return { id, text, reading, good, parts, costs: costsFor(parts, costs) };
}

export const lanes = signal<readonly Lane[]>([]);
export const trafficOptions = signal<TrafficOptions>(FIRST.traffic);
export const patience = signal<Millis>(0);
export const recording = signal<Recording | undefined>(undefined);

export const state = computed<State>(() => ({
  limits: lanes.value.map(({ good }) => good),
  costs: lanes.value.map(({ costs }) => costs),
  traffic: trafficOptions.value,
  patience: patience.value,
}));
export const query = computed(() => toQuery(state.value));

export function show({ limits, costs, traffic, patience: span }: State): void {
  lanes.value = limits.map((text, i) => laneOf(text, costs.at(i)));
  trafficOptions.value = traffic;
  patience.value = span;
}

/** Changes a limit. Its policies keep their costs by position, unless other costs are given. */
export function setText(id: number, text: string, costs?: Costs): void {
  lanes.value = lanes.value.map((lane) => (lane.id === id ? laneOf(text, costs ?? lane.costs, lane) : lane));
}

export function setCost({ id, text, parts, costs }: Lane, at: number, cost: number): void {
  setText(
    id,
    text,
    parts.map((_, i) => (i === at ? cost : (costs.at(i) ?? 1))),
  );
}

export function addLane(): void {
  const used = new Set(lanes.value.flatMap(({ parts }) => parts.map(({ algorithm }) => algorithm)));
  const [first] = lanes.value[0]?.parts ?? [];
  const rate = first === undefined ? '10/10s' : `${first.limit}/${first.span}`;
  const fresh = (['sliding-window', 'leaky-bucket', 'sliding-log', 'fixed-window'] as const).find(
    (name) => !used.has(name),
  );
  if (lanes.value.length < MOST_LANES)
    lanes.value = [...lanes.value, laneOf(`${rate} ${fresh ?? 'token-bucket'}`)];
}

export function removeLane(id: number): void {
  if (lanes.value.length > 1) lanes.value = lanes.value.filter((lane) => lane.id !== id);
}

export function setKind(kind: TrafficKind): void {
  trafficOptions.value = TRAFFIC[kind];
}

const EMPTY: Traffic = {
  origin: 0,
  length: 60_000,
  times: new Float64Array(0),
  keys: new Uint32Array(0),
  names: ['ann'],
  isCut: false,
};

export const traffic = computed<Traffic>(() => {
  const options = trafficOptions.value;
  if (options.kind === 'log') return recording.value?.traffic ?? EMPTY;
  const made = generate(options);
  return made.names.length === 0 ? { ...made, names: ['ann'] } : made;
});

/** Keys by their number of requests, in descending order. */
export const busiest = computed<readonly number[]>(() => {
  const counts = new Uint32Array(traffic.value.names.length);
  for (const key of traffic.value.keys) counts[key]++;
  return [...counts.keys()].sort((a, b) => counts[b] - counts[a]);
});

const chosenName = signal('');
/** The key whose window and level are drawn. */
export const focus = computed(() => {
  const chosen = traffic.value.names.indexOf(chosenName.value);
  return chosen >= 0 ? chosen : busiest.value[0];
});
export function setFocus(name: string): void {
  chosenName.value = name;
}

// ── Runs ─────────────────────────────────────────────────────────────────────────────────────────────────────────

export const runs = signal<ReadonlyMap<number, Run>>(new Map());
/** Number of slices of work done so far. Charts subscribe to it, so that they are updated. */
export const progress = signal(0);
const isWorking = signal(false);

/** Milliseconds of each frame in which runs are computed. The rest of the frame is for drawing. */
const SLICE = 8;
/** Milliseconds between redraws of an unfinished chart. A redraw takes a large part of a frame. */
const LOOK = 100;
let looked = 0;

function work(): void {
  const deadline = performance.now() + SLICE;
  let isDone = true;
  for (const run of runs.peek().values()) if (!run.work(deadline)) isDone = false;
  isWorking.value = !isDone;
  if (isDone || performance.now() > looked + LOOK) {
    looked = performance.now();
    progress.value = progress.peek() + 1;
  }
  if (!isDone) requestAnimationFrame(work);
}

effect(() => {
  const before = runs.peek();
  const next = new Map<number, Run>();
  for (const { id, good, parts, costs } of lanes.value) {
    const old = before.get(id);
    const options = {
      traffic: traffic.value,
      policies: good,
      costs,
      bounds: boundsOf(parts, costs),
      patience: patience.value,
      focus: focus.value,
    };
    const isSame =
      old !== undefined &&
      old.traffic === options.traffic &&
      old.policies === good &&
      String(old.costs) === String(costs) &&
      old.patience === options.patience &&
      old.focus === options.focus;
    next.set(id, isSame ? old : createRun(options));
  }
  const wasWorking = isWorking.peek();
  runs.value = next;
  // Complete short runs before the next frame, so that charts do not flicker.
  if (wasWorking) progress.value = progress.peek() + 1;
  else work();
});
