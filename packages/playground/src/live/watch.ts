/** The part of the server's data that the page shows. LIVE.md describes the messages. */
import { computed, signal } from '@preact/signals';
import type { Millis } from 'sluice';
import { addPast, addPoint, type Counts, KEPT, NONE, type Point } from './series.ts';
import { type Connection, openStream, type Stream } from './stream.ts';

export interface LiveConfig {
  readonly version: string;
  readonly startedAt: Millis;
  readonly source: string;
  readonly loadedAt: Millis;
  readonly error: string | null;
  /** Whether the whole server is in shadow mode. */
  readonly shadow: boolean;
  readonly limits: readonly {
    readonly name: string;
    readonly policies: string;
    readonly shadow: boolean;
    /** True for a limit on Envoy descriptors. Its keys consist of several entries and cannot be looked up. */
    readonly descriptor?: boolean;
  }[];
}

export interface Snapshot {
  readonly at: Millis;
  readonly span: Millis;
  readonly limits: readonly (Counts & { readonly name: string })[];
  readonly topDenied: readonly { readonly limit: string; readonly key: string; readonly denied: number }[];
  readonly latency: { readonly p50: number; readonly p99: number; readonly max: number } | null;
  readonly store: {
    readonly kind: string;
    readonly up: boolean;
    readonly breaker: 'closed' | 'open' | 'half-open';
    readonly p99: number | null;
    readonly faults: number;
    readonly fallbacks: number;
  };
}

/** The counts of up to one hour before the stream was opened. */
interface History {
  readonly at: Millis;
  readonly every: Millis;
  readonly span: Millis;
  readonly all: Series;
  readonly limits: readonly (Series & { readonly name: string })[];
}

interface Series {
  readonly allowed: readonly number[];
  readonly denied: readonly number[];
  readonly shadowed: readonly number[];
}

/** The durations that the charts can show. */
export const RANGES = { '5 min': 300_000, '1 hour': KEPT } as const;
export const range = signal<keyof typeof RANGES>('5 min');

export const connection = signal<Connection>({ kind: 'connecting' });
export const config = signal<LiveConfig | undefined>(undefined);
export const snapshot = signal<Snapshot | undefined>(undefined);
/** Whether the server lets this client reset and block keys. */
export const isAdmin = signal(false);
/** The token, kept only in memory because it must not be stored on disk. */
export const token = signal('');
/** The points of each limit, by its name. The name '' stands for the sum of all limits. */
const seriesByLimit = new Map<string, Point[]>();
export const heard = signal(0);

export const limitNames = computed(() => [
  ...new Set([...(config.value?.limits ?? []), ...(snapshot.value?.limits ?? [])].map(({ name }) => name)),
]);

/** The limits that peek, reset and block accept. */
export const askable = computed(
  () =>
    new Set(
      config.value?.limits.filter(({ descriptor }) => descriptor !== true).map(({ name }) => name) ?? [],
    ),
);

export function seriesFor(limit: string): readonly Point[] {
  return seriesByLimit.get(limit) ?? [];
}

function take(next: Snapshot): void {
  const perSecond = 1000 / Math.max(1, next.span);
  const all = { ...NONE, at: next.at, span: next.span };
  const rates = new Map<string, Point>();
  for (const { name, allowed, denied, near, shadowed } of next.limits) {
    const point = {
      at: next.at,
      span: next.span,
      allowed: allowed * perSecond,
      denied: denied * perSecond,
      near: near * perSecond,
      shadowed: shadowed * perSecond,
    };
    rates.set(name, point);
    all.allowed += point.allowed;
    all.denied += point.denied;
    all.near += point.near;
    all.shadowed += point.shadowed;
  }
  add('', all);
  for (const name of new Set([...seriesByLimit.keys(), ...rates.keys()]))
    if (name !== '') add(name, rates.get(name) ?? { ...NONE, at: next.at, span: next.span });
  snapshot.value = next;
  heard.value++;
}

function openSeries(limit: string): Point[] {
  const series = seriesByLimit.get(limit) ?? [];
  seriesByLimit.set(limit, series);
  return series;
}

function add(limit: string, point: Point): void {
  addPoint(openSeries(limit), point);
}

function takePast({ at, every, span, all, limits }: History): void {
  for (const { name, allowed, denied, shadowed } of [{ ...all, name: '' }, ...limits]) {
    const last = allowed.length - 1;
    const points = allowed.map((count, i) => {
      const own = i === last ? span : every;
      const end = i === last ? at : at - span - (last - 1 - i) * every;
      return {
        ...NONE,
        at: end,
        span: own,
        allowed: (count * 1000) / own,
        denied: ((denied[i] ?? 0) * 1000) / own,
        shadowed: ((shadowed[i] ?? 0) * 1000) / own,
      };
    });
    addPast(openSeries(name), points);
  }
  heard.value++;
}

let stream: Stream | undefined;

export function startWatching(): () => void {
  const look = () => {
    if (!document.hidden && connection.peek().kind !== 'open') stream?.retry();
  };
  stream = openStream({
    url: 'live',
    token: () => token.peek(),
    onConnection: (next) => {
      connection.value = next;
    },
    onEvent(name, data) {
      try {
        if (name === 'config') config.value = JSON.parse(data) as LiveConfig;
        if (name === 'rights') isAdmin.value = (JSON.parse(data) as { admin: boolean }).admin;
        if (name === 'history') takePast(JSON.parse(data) as History);
        if (name === 'snapshot') take(JSON.parse(data) as Snapshot);
      } catch {
        // Skip a message that cannot be parsed, and continue with the next one.
      }
    },
  });
  document.addEventListener('visibilitychange', look);
  return () => {
    document.removeEventListener('visibilitychange', look);
    stream?.close();
    stream = undefined;
  };
}

/** Reconnects with the current token, which may permit more or less than the previous one. */
export function reconnect(): void {
  stream?.retry();
}
