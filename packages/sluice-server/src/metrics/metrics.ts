/** What the server counts. Memory is bounded whatever is asked: labels come from the configuration, up to a number. */
import { type Decision, type Millis, StoreError, StoreUnavailable } from 'sluice';
import { family, Histogram, type Sample } from './exposition.ts';
import { type Seen, SpaceSaving } from './space-saving.ts';

export interface MetricsOptions {
  /** Once more than this share of the limit is used, it is near. Default 0.8. */
  readonly nearRatio?: number | undefined;
  /** Keys shown as most often denied; 0 keeps keys out of the metrics. Default 20. */
  readonly topKeys?: number | undefined;
  /** Limits told apart; what comes after is counted as 'other'. Default 2000. */
  readonly maxLimits?: number | undefined;
}

export interface Metrics {
  /** A take was decided. `lenient`: a denial was let pass. */
  decided(limit: string, key: string, decision: Decision, lenient: boolean): void;
  /** A store that answers later did so. */
  stored(took: Millis, decision: Decision): void;
  failed(error: unknown): void;
  breaker(isOpen: boolean): void;
  answered(door: string, route: string, code: string, took: Millis): void;
  reloaded(isGood: boolean): void;
  /** Most often denied, of all limits. */
  topDenied(): Denied[];
  text(): string;
  /** More to say at each look: gauges of who knows them. */
  add(more: () => string): void;
}

export interface Denied extends Seen {
  readonly limit: string;
}

interface Counts {
  allowed: number;
  denied: number;
  shadowed: number;
  near: number;
}

/** Counters of the sketch: an error is at most a 256th of all denials. */
const SKETCH = 256;
const LONGEST_KEY = 200;
/** In no limit's name. */
const SEPARATOR = '\u0000';

export function createMetrics(options: MetricsOptions = {}): Metrics {
  const { nearRatio = 0.8, topKeys = 20, maxLimits = 2000 } = options;
  const limits = new Map<string, Counts>();
  const faults = new Map<string, number>();
  const doors = new Map<string, { door: string; route: string; code: string; count: number }>();
  const times = new Map<string, Histogram>();
  const storeTime = new Histogram();
  const denied = new SpaceSaving(SKETCH);
  const more: (() => string)[] = [];
  const reloads = { good: 0, bad: 0, isGood: true, at: Date.now() };
  let isStoreUp = true;
  let fallbacks = 0;

  function countsOf(limit: string): Counts {
    const known = limits.get(limit);
    if (known !== undefined) return known;
    if (limits.size >= maxLimits && limit !== 'other') return countsOf('other');
    const counts = { allowed: 0, denied: 0, shadowed: 0, near: 0 };
    limits.set(limit, counts);
    return counts;
  }

  function outcomes(): Sample[] {
    return [...limits].flatMap(([limit, { allowed, denied: no, shadowed }]) => [
      { labels: { limit, outcome: 'allowed' }, value: allowed },
      { labels: { limit, outcome: 'denied' }, value: no },
      { labels: { limit, outcome: 'shadowed' }, value: shadowed },
    ]);
  }

  function topDenied(): Denied[] {
    return denied.top(topKeys).map((seen) => {
      const end = seen.name.indexOf(SEPARATOR);
      return { ...seen, limit: seen.name.slice(0, end), name: seen.name.slice(end + 1) };
    });
  }

  return {
    decided(limit, key, decision, lenient) {
      const counts = countsOf(limit);
      if (decision.allowed) {
        counts.allowed++;
        const { limit: most, remaining } = decision;
        if (most < Infinity && most - remaining > most * nearRatio) counts.near++;
        return;
      }
      if (lenient) counts.shadowed++;
      else counts.denied++;
      if (topKeys > 0) denied.see(limit + SEPARATOR + key.slice(0, LONGEST_KEY));
    },
    stored(took, { source }) {
      if (source === 'fallback') fallbacks++;
      else storeTime.observe(took / 1000);
    },
    failed(error) {
      const isKnown = error instanceof StoreUnavailable || error instanceof StoreError;
      const fault = isKnown ? error.fault : 'unknown';
      faults.set(fault, (faults.get(fault) ?? 0) + 1);
    },
    breaker(isOpen) {
      isStoreUp = !isOpen;
    },
    answered(door, route, code, took) {
      const id = `${door} ${route} ${code}`;
      const known = doors.get(id) ?? { door, route, code, count: 0 };
      known.count++;
      doors.set(id, known);
      const time = times.get(door) ?? new Histogram();
      times.set(door, time);
      time.observe(took / 1000);
    },
    reloaded(isGood) {
      reloads[isGood ? 'good' : 'bad']++;
      reloads.isGood = isGood;
      if (isGood) reloads.at = Date.now();
    },
    topDenied,
    add(one) {
      more.push(one);
    },
    text() {
      const near = [...limits].map(([limit, counts]) => ({ labels: { limit }, value: counts.near }));
      const top = topDenied().map(({ limit, name, count }) => ({
        labels: { limit, key: name },
        value: count,
      }));
      const { rss } = process.memoryUsage();
      return [
        family('sluice_decisions_total', 'counter', 'Takes decided, by limit and outcome.', outcomes()),
        family('sluice_near_limit_total', 'counter', 'Takes that passed near the limit.', near),
        family('sluice_top_denied', 'gauge', 'Keys denied most often (space-saving estimate).', top),
        family(
          'sluice_requests_total',
          'counter',
          'Requests answered, by door, route and code.',
          [...doors.values()].map(({ count: value, ...labels }) => ({ labels, value })),
        ),
        family(
          'sluice_request_duration_seconds',
          'histogram',
          'From the whole request to the answer, by door.',
          [...times].flatMap(([door, time]) => time.samples({ door })),
        ),
        family('sluice_store_up', 'gauge', '0 while the store does not answer.', [
          { value: isStoreUp ? 1 : 0 },
        ]),
        family('sluice_store_duration_seconds', 'histogram', 'How long the store took.', storeTime.samples()),
        family(
          'sluice_store_errors_total',
          'counter',
          'Checks that the store could not decide, by fault.',
          [...faults].map(([fault, value]) => ({ labels: { fault }, value })),
        ),
        family('sluice_store_fallbacks_total', 'counter', "Checks answered in the store's place.", [
          { value: fallbacks },
        ]),
        family('sluice_config_reloads_total', 'counter', 'Reloads of the configuration, by result.', [
          { labels: { result: 'good' }, value: reloads.good },
          { labels: { result: 'bad' }, value: reloads.bad },
        ]),
        family('sluice_config_last_reload_successful', 'gauge', '0 while a bad file waits for correction.', [
          { value: reloads.isGood ? 1 : 0 },
        ]),
        family('sluice_config_loaded_timestamp_seconds', 'gauge', 'When the configuration was loaded.', [
          { value: reloads.at / 1000 },
        ]),
        family('process_resident_memory_bytes', 'gauge', 'Resident memory.', [{ value: rss }]),
        family('process_start_time_seconds', 'gauge', 'When the process began.', [
          { value: performance.timeOrigin / 1000 },
        ]),
        ...more.map((one) => one()),
      ].join('');
    },
  };
}
