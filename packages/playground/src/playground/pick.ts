/** Finds the request that the user points at. */
import type { Millis } from 'sluice';
import { after, type Outcomes, type Run } from '../model/run.ts';

/**
 * Finds the request nearest to an instant. Above the line, finds the nearest admitted request, or the nearest denied request if
 * no admitted request is near. Below the line, finds the nearest denied request, however far away it is.
 */
export function nearestRequest(run: Run, instant: Millis, below: boolean): number | undefined {
  const reach = run.traffic.length / 40;
  const denied = nearestIn(run.denied, instant);
  const admitted = below ? undefined : nearestIn(run.admitted, instant);
  const near = (one: typeof denied) => one !== undefined && one.away <= reach;
  if (below || !near(admitted)) return near(denied) || below ? denied?.event : undefined;
  return admitted?.event;
}

function nearestIn(list: Outcomes, instant: Millis): { event: number; away: Millis } | undefined {
  const right = after(list.at, list.count, instant);
  let found: { event: number; away: Millis } | undefined;
  for (const i of [right - 1, right]) {
    if (i < 0 || i >= list.count) continue;
    const away = Math.abs(list.at[i] - instant);
    if (found === undefined || away < found.away) found = { event: list.event[i], away };
  }
  return found;
}

/** The denied request before or after the given request, or the first denied request if none is given. */
export function nextDenied(run: Run, event: number | undefined, step: 1 | -1): number | undefined {
  const { denied } = run;
  if (denied.count === 0) return undefined;
  if (event === undefined) return denied.event[0];
  const events = denied.event.subarray(0, denied.count);
  let index = events.indexOf(event);
  if (index < 0) index = after(denied.at, denied.count, run.traffic.times[event]) - (step > 0 ? 1 : 0);
  return denied.event[Math.min(denied.count - 1, Math.max(0, index + step))];
}
