/** The totals of a run up to an instant. */
import type { Millis } from 'sluice';
import { after, type Outcomes, type Run } from '../model/run.ts';

export interface Totals {
  readonly admitted: number;
  readonly denied: number;
  /** For each bound, the largest number of units that one key was charged in any window of the bound's length. */
  readonly worst: readonly number[];
  /**
   * The average wait of admitted requests if requests wait for their turn. Otherwise, the average `retryAfter` of denied
   * requests.
   */
  readonly averageWait: Millis | undefined;
  readonly longestWait: Millis | undefined;
}

export function totalsAt(run: Run, instant: Millis): Totals {
  const admitted = after(run.admitted.at, run.admitted.count, instant);
  const denied = after(run.denied.at, run.denied.count, instant);
  const [list, count]: [Outcomes, number] =
    run.patience > 0 ? [run.admitted, admitted] : [run.denied, denied];
  return {
    admitted,
    denied,
    worst: run.worst.map((most) => (admitted > 0 ? most[admitted - 1] : 0)),
    averageWait: count > 0 ? list.waited[count - 1] / count : undefined,
    longestWait: count > 0 ? list.longest[count - 1] : undefined,
  };
}

/** The index of the bound that is exceeded most, or is closest to being exceeded. */
export function tightest(run: Run): number {
  const { worst } = totalsAt(run, Infinity);
  let found = 0;
  for (let i = 1; i < run.bounds.length; i++)
    if (worst[i] / run.bounds[i].limit > worst[found] / run.bounds[found].limit) found = i;
  return found;
}
