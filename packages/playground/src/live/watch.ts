/** The part of the server's data that the page shows. LIVE.md describes the messages. */
import { computed, signal } from '@preact/signals';
import type { Millis } from 'sluice';
import { type Connection, openStream, type Stream } from './stream.ts';

export interface LiveConfig {
  readonly version: string;
  readonly startedAt: Millis;
  readonly source: string;
  readonly loadedAt: Millis;
  readonly error: string | null;
  readonly limits: readonly {
    readonly name: string;
    readonly policies: string;
    readonly shadow: boolean;
    /** True for a limit on Envoy descriptors. Its keys consist of several entries and cannot be looked up. */
    readonly descriptor?: boolean;
  }[];
}

export interface Counts {
  readonly allowed: number;
  readonly denied: number;
  readonly near: number;
  /** Requests that would have been denied without shadow mode. */
  readonly shadowed: number;
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

/** Requests per second at an instant, by outcome. */
export interface Point extends Counts {
  readonly at: Millis;
}

/** The maximum number of points to keep. With one point per second, they cover five minutes. */
const MOST_POINTS = 300;
export const SHOWN: Millis = MOST_POINTS * 1000;

export const connection = signal<Connection>({ kind: 'connecting' });
export const config = signal<LiveConfig | undefined>(undefined);
export const snapshot = signal<Snapshot | undefined>(undefined);
/** The token, kept only in memory because it must not be stored on disk. */
export const token = signal('');
/** The points of each limit, by its name. The name '' stands for the sum of all limits. */
const courses = new Map<string, Point[]>();
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

export function courseFor(limit: string): readonly Point[] {
  return courses.get(limit) ?? [];
}

const NONE: Counts = { allowed: 0, denied: 0, near: 0, shadowed: 0 };

function take(next: Snapshot): void {
  const perSecond = 1000 / Math.max(1, next.span);
  const all = { ...NONE, at: next.at };
  const rates = new Map<string, Point>();
  for (const { name, allowed, denied, near, shadowed } of next.limits) {
    const point = {
      at: next.at,
      allowed: allowed * perSecond,
      denied: denied * perSecond,
      near: near * perSecond,
      shadowed: shadowed * perSecond,
    };
    rates.set(name, point);
    all.allowed += point.allowed;
    all.denied += point.denied;
    all.near += point.near;
  }
  add('', all);
  for (const name of new Set([...courses.keys(), ...rates.keys()]))
    if (name !== '') add(name, rates.get(name) ?? { ...NONE, at: next.at });
  snapshot.value = next;
  heard.value++;
}

function add(limit: string, point: Point): void {
  const course = courses.get(limit) ?? [];
  courses.set(limit, course);
  course.push(point);
  while (course[0].at < point.at - SHOWN) course.shift();
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

/** Reconnects with the current token if the server rejected the previous one. */
export function retryRefused(): void {
  if (connection.peek().kind === 'refused') stream?.retry();
}
