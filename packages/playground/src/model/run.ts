/** Runs traffic through a limit. Uses the library's own limiter, on a clock that is set to the time of each request. */
import { createLimiter, type Decision, memory, type Millis } from 'sluice';
import { costByPolicy, type Costs } from './costs.ts';
import { policiesOf } from './policy.ts';
import type { Traffic } from './traffic.ts';
import { WindowCounts } from './window-counts.ts';

/** The number of level samples over the whole run. */
export const SAMPLES = 1200;

/** The outcomes of requests, in the order of the decisions. */
export interface Outcomes {
  count: number;
  readonly at: Float64Array;
  readonly event: Uint32Array;
  /** How long each admitted request waited, and the `retryAfter` of each denied request. */
  readonly wait: Float64Array;
  /** The sum of all finite waits so far, at each decision. */
  readonly waited: Float64Array;
  readonly longest: Float64Array;
}

/** A rate that should not be exceeded in any sliding window. */
export interface Bound {
  readonly limit: number;
  readonly per: Millis;
  /** The units that a request charges; default 1. */
  readonly cost?: number | undefined;
}

export interface RunOptions {
  readonly traffic: Traffic;
  /** The limit's text; see policiesOf. */
  readonly policies: string;
  readonly costs?: Costs | undefined;
  readonly bounds: readonly Bound[];
  /** How long a denied request waits for its turn. 0 means that it gives up immediately. */
  readonly patience: Millis;
  /** The key whose level is sampled, as an index into the traffic's names. */
  readonly focus: number;
  /** Called with every decision. */
  readonly observe?: ((event: number, decision: Decision, now: Millis) => void) | undefined;
}

export interface Run extends RunOptions {
  readonly admitted: Outcomes;
  readonly denied: Outcomes;
  /**
   * One array per bound, with one entry per admission: the largest number of units that a single key had been charged within one
   * window so far.
   */
  readonly worst: readonly Float64Array[];
  /** The number of requests that the focused key had left at each sample. */
  readonly level: Float64Array;
  readonly full: number;
  /** Everything before this instant has been decided. */
  readonly until: Millis;
  readonly isDone: boolean;
  /** Continues the run until `performance.now()` reaches `deadline`. Returns whether the run is complete. */
  work(deadline: Millis): boolean;
}

/** The number of requests between two reads of the page's clock. */
const STRIDE = 200;

export function createRun(options: RunOptions): Run {
  const { traffic, policies, costs = [], bounds, patience, focus, observe } = options;
  const { times, keys, names, origin, length } = traffic;
  const { length: total } = times;
  let now = 0;
  const limiter = createLimiter(policiesOf(policies), {
    store: memory({ clock: { now: () => origin + now } }),
  });
  const focused = names[focus] ?? '';
  const admitted = outcomes(total);
  const denied = outcomes(total);
  const counts = bounds.map(({ per, cost }) => new WindowCounts(per, names.length, total, cost));
  const level = new Float64Array(SAMPLES);
  const { policies: fresh } = limiter.peek(focused);
  const cost = costs.length === 0 ? 1 : costByPolicy(fresh, costs);
  const full = requestsIn(
    fresh.map(({ limit }) => limit),
    costs,
  );
  const lines = new Map<number, number[]>();
  const wakes: { at: Millis; key: number }[] = [];
  let arrived = 0;
  let sampled = 0;
  let isDone = false;

  function ask(event: number): Decision {
    const decision = limiter.take(names[keys[event]], { cost });
    observe?.(event, decision, now);
    return decision;
  }

  function admit(event: number): void {
    const index = note(admitted, event, now, now - times[event]);
    for (const count of counts) count.add(keys[event], now, index);
  }

  /** Returns true if the request is decided, and false if it waits. */
  function settle(event: number): boolean {
    const decision = ask(event);
    const late = now + decision.retryAfter - times[event];
    if (decision.allowed) admit(event);
    else if (late > patience) note(denied, event, now, decision.retryAfter);
    else
      wakes.splice(placeIn(wakes, now + decision.retryAfter), 0, {
        at: now + decision.retryAfter,
        key: keys[event],
      });
    return decision.allowed || late > patience;
  }

  function arrive(event: number): void {
    const line = lines.get(keys[event]);
    if (line !== undefined) line.push(event);
    else if (!settle(event)) lines.set(keys[event], [event]);
  }

  /** Retries the first request in the key's queue, then the following ones as long as they pass. */
  function wake(key: number): void {
    const line = lines.get(key) as number[];
    let gone = 0;
    while (gone < line.length && settle(line[gone])) gone++;
    if (gone === line.length) lines.delete(key);
    else line.splice(0, gone);
  }

  function sampleUpTo(end: Millis): void {
    for (; sampled < SAMPLES && (sampled * length) / SAMPLES <= end; sampled++) {
      now = (sampled * length) / SAMPLES;
      level[sampled] = requestsIn(
        limiter.peek(focused).policies.map(({ remaining }) => remaining),
        costs,
      );
    }
  }

  function next(): boolean {
    const arrival = arrived < total ? times[arrived] : Infinity;
    const woken = wakes.length > 0 ? wakes[0].at : Infinity;
    const at = Math.min(arrival, woken, length);
    sampleUpTo(at);
    now = at;
    if (Math.min(arrival, woken) > length) return false;
    if (woken <= arrival) wake((wakes.shift() as { key: number }).key);
    else arrive(arrived++);
    return true;
  }

  return {
    ...options,
    admitted,
    denied,
    worst: counts.map((count) => count.worst),
    level,
    full,
    get until() {
      return isDone ? length : now;
    },
    get isDone() {
      return isDone;
    },
    work(deadline) {
      while (!isDone) {
        for (let i = 0; i < STRIDE && !isDone; i++) isDone = !next();
        if (performance.now() >= deadline) break;
      }
      return isDone;
    },
  };
}

/**
 * The number of requests that can be charged if each policy has the given number of units left. Policies in which a request costs
 * nothing are ignored.
 */
function requestsIn(units: readonly number[], costs: Costs): number {
  if (costs.length === 0) return Math.min(...units);
  const requests = Math.min(...units.map((left, i) => (costs[i] > 0 ? left / costs[i] : Infinity)));
  return requests < Infinity ? requests : Math.min(...units);
}

/** Repeats the run up to this request and returns the limit's decision, with the numbers of every policy. */
export function explain(run: RunOptions, event: number): { decision: Decision; at: Millis } | undefined {
  let found: { decision: Decision; at: Millis } | undefined;
  const again = createRun({
    ...run,
    observe(asked, decision, at) {
      if (asked === event) found = { decision, at };
    },
  });
  // A waiting request is decided several times; the last decision counts.
  if (run.patience > 0) again.work(Infinity);
  else while (found === undefined && !again.work(0));
  return found;
}

/** The index of the first event after this instant. */
export function after(at: Float64Array, count: number, instant: Millis): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at[middle] > instant) high = middle;
    else low = middle + 1;
  }
  return low;
}

function placeIn(wakes: readonly { at: Millis }[], at: Millis): number {
  let index = wakes.length;
  while (index > 0 && wakes[index - 1].at > at) index--;
  return index;
}

function outcomes(most: number): Outcomes {
  const numbers = () => new Float64Array(most);
  return {
    count: 0,
    at: numbers(),
    event: new Uint32Array(most),
    wait: numbers(),
    waited: numbers(),
    longest: numbers(),
  };
}

function note(list: Outcomes, event: number, at: Millis, wait: Millis): number {
  const index = list.count++;
  const before = index - 1;
  list.at[index] = at;
  list.event[index] = event;
  list.wait[index] = wait;
  list.waited[index] = (index > 0 ? list.waited[before] : 0) + (wait === Infinity ? 0 : wait);
  list.longest[index] = Math.max(index > 0 ? list.longest[before] : 0, wait);
  return index;
}
