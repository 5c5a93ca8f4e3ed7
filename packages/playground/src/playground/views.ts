/** What all lanes agree on, so that their pictures compare: scales, the instant under the pointer, the request looked at. */
import { computed, signal } from '@preact/signals';
import type { Millis } from 'sluice';
import { BAR, countBars } from '../draw/lane.ts';
import { follow } from '../ui/follow.ts';
import { progress, runs } from './store.ts';
import { tightest, totalsAt } from './totals.ts';

export const hover = signal<Millis | undefined>(undefined);

/** The request looked at, by lane. */
export const picked = signal<{ readonly lane: number; readonly event: number } | undefined>(undefined);

/** CSS pixels of a lane's picture: of all of them the same. */
export const chartWidth = signal(0);

export const scales = computed(() => {
  follow(progress);
  let reach = 1.25;
  let tallest = 1;
  const bars = Math.max(1, Math.ceil(chartWidth.value / BAR));
  for (const run of runs.value.values()) {
    const bound = tightest(run);
    reach = Math.max(reach, (totalsAt(run, Infinity).worst[bound] / run.bounds[bound].limit) * 1.08);
    const { length } = run.traffic;
    for (const list of [run.admitted, run.denied])
      for (const count of countBars(list.at, list.count, length, bars)) if (count > tallest) tallest = count;
  }
  return { reach: Math.min(reach, 5), tallest };
});
