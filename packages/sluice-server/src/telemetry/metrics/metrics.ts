/** The server's metrics. Memory is bounded, because labels come from the configuration, and their number has a maximum. */
import type { Decision, Millis, StoreFault } from 'sluice';
import { exposition, type Family, Histogram, type Sample } from 'sluice/prometheus';
import { family } from './family.ts';
import type { Seen } from './space-saving.ts';
import { Sampled } from './sampled.ts';
import { LatencyBuckets } from './latency-buckets.ts';

/** Which details the metrics contain. */
export interface MetricsOptions {
  /** An allowed take counts as near the limit if more than this fraction of the limit is used afterward. Default 0.8. */
  readonly nearRatio?: number | undefined;
  /**
   * How many of the most denied keys the metrics and `topDenied` contain. Default: none in the metrics, and 20 in `topDenied`, of
   * which the page shows at most 20. 0 turns off both.
   */
  readonly topKeys?: number | undefined;
  /** Maximum number of limits with their own label. Further limits are counted as 'other'. Default 2000. */
  readonly maxLimits?: number | undefined;
}

/** Counters of a server, and their output formats. */
export interface Metrics {
  /** Exports the counters of these limits, starting from 0, before their first take. */
  declare(limits: Iterable<string>): void;
  /** Exports the counters of a route with these codes, starting from 0, before its first request. */
  declareRoute(listener: string, route: string, codes: Iterable<string>): void;
  /** Counts a take. If `lenient` is true, a denial counts as shadowed. */
  decided(limit: string, key: string, decision: Decision, lenient: boolean): void;
  /** Records how long an asynchronous store took for a decision. */
  stored(took: Millis, decision: Decision): void;
  /** Counts a check that the store could not decide. */
  failed(fault: StoreFault): void;
  /** Sets the function that returns whether a fallback answers instead of the store. */
  fallbackActive(isActive: () => boolean): void;
  /** Records whether the store is available. */
  storeUp(isUp: boolean): void;
  /** Counts an answered request. `times` is the number of requests to count, all with this duration. Default 1. */
  answered(listener: string, route: string, code: string, took: Millis, times?: number): void;
  /** Counts a reload of the configuration. */
  reloaded(isGood: boolean): void;
  /** The most denied keys of all limits, most denied first. */
  topDenied(): Denied[];
  /** All metrics, as data. */
  families(): Family[];
  /** All metrics, in the text format of Prometheus. */
  text(): string;
  /** Totals since the start. Subtract two results to get what happened in between. */
  totals(): Totals;
  /** Adds metrics that are read whenever `families` or `text` is called. */
  add(more: () => Family[]): void;
}

/** One of the most denied keys. */
export interface Denied extends Seen {
  /** Name of the limit that denied the key. */
  readonly limit: string;
}

/** Totals since the start. */
export interface Totals {
  /** Counts by the name of the limit. */
  readonly limits: ReadonlyMap<string, Readonly<Counts>>;
  /** Number of requests by duration; see latency-buckets.ts for the bounds. */
  readonly latency: Float64Array;
  /** Number of checks by the time that the store took. */
  readonly storeLatency: Float64Array;
  /** Checks that the store could not decide. */
  readonly faults: number;
  /** Checks that were decided without the store, by the fallback. */
  readonly fallbacks: number;
  /** False until the store is connected for the first time, and while a circuit breaker is open. */
  readonly isStoreUp: boolean;
}

/** Counts of one limit. */
export interface Counts {
  /** Takes that were allowed. */
  allowed: number;
  /** Takes that were denied. */
  denied: number;
  /** Takes that would have been denied without shadow mode. */
  shadowed: number;
  /** Takes that were allowed and left the limit nearly used up. */
  near: number;
}

/** Answered requests of one listener. */
interface ListenerCounts {
  readonly routes: Map<string, Map<string, number>>;
  readonly time: Histogram;
}

/** All faults, so that each counter is exported from the start. */
const FAULTS: readonly StoreFault[] = [
  'deadline',
  'circuit-open',
  'overloaded',
  'connection',
  'wrong-type',
  'read-only',
  'loading',
  'busy',
  'out-of-memory',
  'cluster-down',
  'no-permission',
  'script',
  'unknown',
];
/** Number of keys in the sketch. A count is off by at most 1/256 of all denials, plus the sampling error; see sampled.ts. */
const SKETCH = 256;
const MAX_KEY = 200;
/** How many of the most denied keys the page shows. */
const DEFAULT_TOP_KEYS = 20;
/** Separates the limit from the key. Names of limits cannot contain this character. */
const SEPARATOR = '\u0000';

export function createMetrics(options: MetricsOptions = {}): Metrics {
  const { nearRatio = 0.8, topKeys = DEFAULT_TOP_KEYS, maxLimits = 2000 } = options;
  const limits = new Map<string, Counts>();
  const faults = new Map<string, number>(FAULTS.map((fault) => [fault, 0]));
  const listeners = new Map<string, ListenerCounts>();
  const storeTime = new Histogram();
  const [latency, storeLatency] = [new LatencyBuckets(), new LatencyBuckets()];
  const denied = new Sampled(SKETCH);
  const more: (() => Family[])[] = [];
  const reloads = { good: 0, bad: 0, isGood: true, at: Date.now() };
  let isStoreUp = true;
  let fallbacks = 0;
  let isFallbackActive = (): boolean => false;

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

  function answered(listener: string, route: string, code: string, took: Millis, times = 1): void {
    const { routes, time } = listenerOf(listener);
    const codes = routes.get(route) ?? new Map<string, number>();
    codes.set(code, (codes.get(code) ?? 0) + times);
    routes.set(route, codes);
    time.observe(took / 1000, times);
    latency.observe(took, times);
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
    // Keys are often personal data, so they become labels only if the operator asks for them.
    const shown = options.topKeys === undefined ? [] : topDenied();
    const top = shown.map(({ limit, name, count }) => ({ labels: { limit, key: name }, value: count }));
    const requests = [...listeners].flatMap(([listener, { routes }]) =>
      [...routes].flatMap(([route, codes]) =>
        [...codes].map(([code, value]) => ({ labels: { listener, route, code }, value })),
      ),
    );
    const took = [...listeners].map(([listener, { time }]) => ({ labels: { listener }, value: time }));
    const failed = [...faults].map(([fault, value]) => ({ labels: { fault }, value }));
    const loaded = [
      { labels: { result: 'good' }, value: reloads.good },
      { labels: { result: 'bad' }, value: reloads.bad },
    ];
    const [up, good] = [isStoreUp ? 1 : 0, reloads.isGood ? 1 : 0];
    return [
      family('sluice.decisions', 'counter', 'Number of decided takes, by limit and outcome.', outcomes()),
      family('sluice.near_limit', 'counter', 'Allowed takes that left the limit nearly used up.', near),
      family(
        'sluice.top_denied',
        'gauge',
        'Keys with the most denials, estimated from samples with the Space-Saving algorithm.',
        top,
      ),
      family('sluice.requests', 'counter', 'Requests answered, by listener, route and code.', requests),
      family(
        'sluice.request.duration',
        'histogram',
        'Time from the complete request to the response, by listener.',
        took,
        's',
      ),
      family(
        'sluice.store.up',
        'gauge',
        '0 until the store is connected for the first time, and while a circuit breaker is open.',
        up,
      ),
      family('sluice.store.duration', 'histogram', 'Time that the store took for a check.', storeTime, 's'),
      family(
        'sluice.store.errors',
        'counter',
        'Number of checks that the store could not decide, by fault.',
        failed,
      ),
      family(
        'sluice.store.fallbacks',
        'counter',
        'Checks decided without the store, by the fallback.',
        fallbacks,
      ),
      family(
        'sluice.fallback_active',
        'gauge',
        '1 while --on-failure answers instead of the store: local, allow or deny.',
        isFallbackActive() ? 1 : 0,
      ),
      family('sluice.config.reloads', 'counter', 'Reloads of the configuration, by result.', loaded),
      family('sluice.config.last_reload_successful', 'gauge', '0 if the last reload was rejected.', good),
      family(
        'sluice.config.loaded_timestamp',
        'gauge',
        'When the configuration in use was loaded.',
        reloads.at / 1000,
        's',
      ),
      ...more.flatMap((one) => one()),
    ];
  }

  return {
    declare(names) {
      for (const name of names) countsOf(name);
    },
    declareRoute(listener, route, codes) {
      for (const code of codes) answered(listener, route, code, 0, 0);
    },
    fallbackActive(isActive) {
      isFallbackActive = isActive;
    },
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
    storeUp(isUp) {
      isStoreUp = isUp;
    },
    answered,
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
