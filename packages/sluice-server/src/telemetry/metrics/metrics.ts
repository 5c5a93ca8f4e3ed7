/** What the server counts. Memory is bounded whatever is asked: labels come from the configuration, up to a number. */
import type { Decision, Millis, StoreFault } from 'sluice';
import { exposition, type Family, Histogram, type Sample } from 'sluice/prometheus';
import type { Seen } from './space-saving.ts';
import { Sampled } from './sampled.ts';
import { LatencyBuckets } from './latency-buckets.ts';

/** What is told apart. */
export interface MetricsOptions {
  /** Once more than this share of the limit is used, it is near. Default 0.8. */
  readonly nearRatio?: number | undefined;
  /** Keys shown as most often denied; 0 keeps keys out of the metrics. Default 20. */
  readonly topKeys?: number | undefined;
  /** Limits told apart; what comes after is counted as 'other'. Default 2000. */
  readonly maxLimits?: number | undefined;
}

/** What the server counts, and how it is shown. */
export interface Metrics {
  /** A take was decided. `lenient`: a denial was let pass. */
  decided(limit: string, key: string, decision: Decision, lenient: boolean): void;
  /** A store that answers later did so. */
  stored(took: Millis, decision: Decision): void;
  /** The store could not decide. */
  failed(fault: StoreFault): void;
  /** The store is not asked for a while, or again. */
  breaker(isOpen: boolean): void;
  /** `times`: several alike that took equally long; default 1. */
  answered(listener: string, route: string, code: string, took: Millis, times?: number): void;
  /** The configuration was read again. */
  reloaded(isGood: boolean): void;
  /** Most often denied, of all limits. */
  topDenied(): Denied[];
  /** All of it as numbers. */
  families(): Family[];
  /** For Prometheus. */
  text(): string;
  /** All of it so far, for those who look again later and want what happened in between. */
  totals(): Totals;
  /** More to say at each look: gauges of who knows them. */
  add(more: () => Family[]): void;
}

/** A key that was often denied. */
export interface Denied extends Seen {
  /** By which limit. */
  readonly limit: string;
}

/** Counts since the start. */
export interface Totals {
  /** By name. */
  readonly limits: ReadonlyMap<string, Readonly<Counts>>;
  /** How long answers took: how many, by eighths of powers of two. */
  readonly latency: Float64Array;
  /** The same, of the store. */
  readonly storeLatency: Float64Array;
  /** Hits that the store could not decide. */
  readonly faults: number;
  /** Hits that were answered in its place. */
  readonly fallbacks: number;
  /** Whether the store is asked now. */
  readonly isStoreUp: boolean;
}

/** Of one limit. */
export interface Counts {
  /** Takes that passed. */
  allowed: number;
  /** Takes that did not. */
  denied: number;
  /** Takes that passed only because the limit was in shadow mode. */
  shadowed: number;
  /** Takes that passed near the limit. */
  near: number;
}

/** Answers by route and code. */
interface ListenerCounts {
  readonly routes: Map<string, Map<string, number>>;
  readonly time: Histogram;
}

/** Counters of the sketch, which by itself is wrong by at most a 256th of all denials; see sampled.ts. */
const SKETCH = 256;
const MAX_KEY = 200;
/** In no limit's name. */
const SEPARATOR = '\u0000';

export function createMetrics(options: MetricsOptions = {}): Metrics {
  const { nearRatio = 0.8, topKeys = 20, maxLimits = 2000 } = options;
  const limits = new Map<string, Counts>();
  const faults = new Map<string, number>();
  const listeners = new Map<string, ListenerCounts>();
  const storeTime = new Histogram();
  const [latency, storeLatency] = [new LatencyBuckets(), new LatencyBuckets()];
  const denied = new Sampled(SKETCH);
  const more: (() => Family[])[] = [];
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

  function listenerOf(name: string): ListenerCounts {
    const listener = listeners.get(name) ?? { routes: new Map(), time: new Histogram() };
    listeners.set(name, listener);
    return listener;
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

  function families(): Family[] {
    const near = [...limits].map(([limit, counts]) => ({ labels: { limit }, value: counts.near }));
    const top = topDenied().map(({ limit, name, count }) => ({ labels: { limit, key: name }, value: count }));
    const answered = [...listeners].flatMap(([listener, { routes }]) =>
      [...routes].flatMap(([route, codes]) =>
        [...codes].map(([code, value]) => ({ labels: { door: listener, route, code }, value })),
      ),
    );
    const took = [...listeners].map(([listener, { time }]) => ({ labels: { door: listener }, value: time }));
    const failed = [...faults].map(([fault, value]) => ({ labels: { fault }, value }));
    const loaded = [
      { labels: { result: 'good' }, value: reloads.good },
      { labels: { result: 'bad' }, value: reloads.bad },
    ];
    const [up, good] = [isStoreUp ? 1 : 0, reloads.isGood ? 1 : 0];
    return [
      family('sluice.decisions', 'counter', 'Takes decided, by limit and outcome.', outcomes()),
      family('sluice.near_limit', 'counter', 'Takes that passed near the limit.', near),
      family(
        'sluice.top_denied',
        'gauge',
        'Keys denied most often (space-saving estimate, of a sample).',
        top,
      ),
      family('sluice.requests', 'counter', 'Requests answered, by listener, route and code.', answered),
      family(
        'sluice.request.duration',
        'histogram',
        'From the whole request to the answer, by listener.',
        took,
        's',
      ),
      family('sluice.store.up', 'gauge', '0 while the store does not answer.', up),
      family('sluice.store.duration', 'histogram', 'How long the store took.', storeTime, 's'),
      family('sluice.store.errors', 'counter', 'Checks that the store could not decide, by fault.', failed),
      family('sluice.store.fallbacks', 'counter', "Checks answered in the store's place.", fallbacks),
      family('sluice.config.reloads', 'counter', 'Reloads of the configuration, by result.', loaded),
      family(
        'sluice.config.last_reload_successful',
        'gauge',
        '0 while a bad file waits for correction.',
        good,
      ),
      family(
        'sluice.config.loaded_timestamp',
        'gauge',
        'When the configuration was loaded.',
        reloads.at / 1000,
        's',
      ),
      family('process.resident_memory', 'gauge', 'Resident memory.', process.memoryUsage().rss, 'By'),
      family('process.start_time', 'gauge', 'When the process began.', performance.timeOrigin / 1000, 's'),
      ...more.flatMap((one) => one()),
    ];
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
      if (topKeys > 0 && denied.isNext()) denied.see(limit + SEPARATOR + key.slice(0, MAX_KEY));
    },
    stored(took, { source }) {
      if (source === 'fallback') {
        fallbacks++;
        return;
      }
      storeTime.observe(took / 1000);
      storeLatency.observe(took);
    },
    failed(fault) {
      faults.set(fault, (faults.get(fault) ?? 0) + 1);
    },
    breaker(isOpen) {
      isStoreUp = !isOpen;
    },
    answered(listener, route, code, took, times = 1) {
      const { routes, time } = listenerOf(listener);
      const codes = routes.get(route) ?? new Map<string, number>();
      codes.set(code, (codes.get(code) ?? 0) + times);
      routes.set(route, codes);
      time.observe(took / 1000, times);
      latency.observe(took, times);
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
    totals: () => ({
      limits: new Map([...limits].map(([limit, counts]) => [limit, { ...counts }])),
      latency: latency.copy(),
      storeLatency: storeLatency.copy(),
      faults: [...faults.values()].reduce((sum, count) => sum + count, 0),
      fallbacks,
      isStoreUp,
    }),
    families,
    text: () => exposition(families()),
  };
}

/** Named as OpenTelemetry would; Prometheus' name follows. */
export function family(
  name: string,
  type: Family['type'],
  help: string,
  samples: number | Histogram | readonly Sample[],
  unit?: Family['unit'],
): Family {
  return {
    name,
    type,
    help,
    unit,
    samples: Array.isArray(samples) ? samples : [{ value: samples as number | Histogram }],
  };
}
