/**
 * State that all lanes share, so that their charts can be compared: scales, the instant under the pointer, and the selected
 * request.
 */
import { computed, effect, signal } from '@preact/signals';
import type { Millis } from 'sluice';
import { BAR, countBars } from '../draw/lane.ts';
import type { Run } from '../model/run.ts';
import { follow } from '../ui/follow.ts';
import { progress, runs, traffic } from './store.ts';
import { tightest, totalsAt } from './totals.ts';

export const hover = signal<Millis | undefined>(undefined);

/** The selected request and its lane. */
export const picked = signal<{ readonly lane: number; readonly event: number } | undefined>(undefined);

// Clear the selection when the traffic changes.
effect(() => {
  follow(traffic);
  picked.value = undefined;
});

/** The width of a lane's chart in CSS pixels, the same for all lanes. */
export const chartWidth = signal(0);

/** The height of the middle bands, as a multiple of the limit. */
export const reach = computed(() => {
  follow(progress);
  let most = 1.25;
  for (const run of runs.value.values()) {
    const bound = tightest(run);
    most = Math.max(most, (totalsAt(run, Infinity).worst[bound] / run.bounds[bound].limit) * 1.08);
  }
  return Math.min(most, 5);
});

/** The maximum number of requests in a bar, over all lanes. */
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
