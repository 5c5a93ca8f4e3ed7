/** What all lanes agree on, so that their pictures compare: scales, the instant under the pointer, the request looked at. */
import { computed, effect, signal } from '@preact/signals';
import type { Millis } from 'sluice';
import { BAR, countBars } from '../draw/lane.ts';
import type { Run } from '../model/run.ts';
import { follow } from '../ui/follow.ts';
import { progress, runs, traffic } from './store.ts';
import { tightest, totalsAt } from './totals.ts';

export const hover = signal<Millis | undefined>(undefined);

/** The request looked at, by lane. */
export const picked = signal<{ readonly lane: number; readonly event: number } | undefined>(undefined);

// Other traffic has other requests.
effect(() => {
  follow(traffic);
  picked.value = undefined;
});

/** CSS pixels of a lane's picture: of all of them the same. */
export const chartWidth = signal(0);

/** Height of the middle bands, in limits. */
export const reach = computed(() => {
  follow(progress);
  let most = 1.25;
  for (const run of runs.value.values()) {
    const bound = tightest(run);
    most = Math.max(most, (totalsAt(run, Infinity).worst[bound] / run.bounds[bound].limit) * 1.08);
  }
  return Math.min(most, 5);
});

/** Most requests in a bar. */
export const tallest = computed(() => {
  follow(progress);
  const bars = Math.max(1, Math.ceil(chartWidth.value / BAR));
  let most = 1;
  for (const run of runs.value.values()) most = Math.max(most, tallestOf(run, bars));
  return most;
});

const known = new WeakMap<Run, { readonly until: Millis; readonly bars: number; readonly most: number }>();

function tallestOf(run: Run, bars: number): number {
  const before = known.get(run);
  if (before?.until === run.until && before.bars === bars) return before.most;
  let most = 1;
  for (const list of [run.admitted, run.denied])
    for (const count of countBars(list.at, list.count, run.traffic.length, bars))
      if (count > most) most = count;
  known.set(run, { until: run.until, bars, most });
  return most;
}
