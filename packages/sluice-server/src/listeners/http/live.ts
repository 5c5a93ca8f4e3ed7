/**
 * Handles GET /live, which sends data for the Live section of the page as server-sent events. packages/playground/LIVE.md defines
 * the format. A slow reader gets fewer snapshots, each covering a longer time. At most one snapshot is buffered per reader.
 */
import type { ServerResponse } from 'node:http';
import type { Millis } from 'sluice';
import type { Counts, Metrics, Totals } from '../../telemetry/metrics/metrics.ts';
import type { History } from '../../telemetry/metrics/history.ts';
import { quantilesBetween, type Quantiles } from '../../telemetry/metrics/latency-buckets.ts';
import { HttpProblem, type Reply } from './reply.ts';

export interface LiveOptions {
  readonly metrics: Pick<Metrics, 'totals' | 'topDenied'>;
  /** The counts of the last hour, with which each stream starts. */
  readonly history: Pick<History, 'past'>;
  /** Kind of the store: 'memory', 'redis' or 'postgres'. */
  readonly storeKind: string;
  /** Returns the current data of the `config` event. */
  readonly config: () => object;
  /** Interval between snapshots. Default 1000 ms. */
  readonly every?: Millis | undefined;
}

export interface Live {
  /** Opens a new stream for a client. `isAdmin` says whether the client may reset and block keys. */
  reply(isAdmin: boolean): Reply;
  /** Sends a `config` event to all streams, after the configuration was loaded or rejected. */
  configChanged(): void;
  /** Ends all streams and rejects new ones. */
  close(): void;
}

interface Stream {
  readonly response: ServerResponse;
  since: Sampling;
  /** The last `config` event that was sent. */
  config: string;
  /** Number of consecutive snapshots skipped because the reader was too slow. */
  missed: number;
}

interface Sampling {
  /** Monotonic time of the snapshot. */
  readonly at: Millis;
  readonly totals: Totals;
}

const MAX_STREAMS = 64;
const MAX_DENIED = 20;
/** Maximum number of consecutive snapshots that a reader may miss before it is disconnected. */
const MAX_MISSED = 30;
const TYPE = 'text/event-stream';

export function createLive({ metrics, history, storeKind, config, every = 1000 }: LiveOptions): Live {
  const streams = new Set<Stream>();
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  let configEvent = '';

  function sample(): Sampling {
    return { at: performance.now(), totals: metrics.totals() };
  }

  /** Whether the stream can be written to now. */
  function isReady(stream: Stream): boolean {
    stream.missed = stream.response.writableNeedDrain ? stream.missed + 1 : 0;
    if (stream.missed > MAX_MISSED) stream.response.destroy();
    return stream.missed === 0;
  }

  function sendConfig(stream: Stream): void {
    if (stream.config === configEvent) return;
    stream.config = configEvent;
    stream.response.write(configEvent);
  }

  function tick(): void {
    const now = sample();
    const events = new Map<Sampling, string>();
    for (const stream of streams) {
      if (!isReady(stream)) continue;
      sendConfig(stream);
      // Most streams got the previous snapshot, so they share this event.
      const event = events.get(stream.since) ?? eventOf('snapshot', snapshotOf(stream.since, now));
      events.set(stream.since, event);
      stream.since = now;
      stream.response.write(event);
    }
  }

  function snapshotOf({ at, totals: before }: Sampling, { at: now, totals }: Sampling): object {
    return {
      at: Date.now(),
      span: Math.max(1, Math.round(now - at)),
      limits: countsBetween(before, totals),
      topDenied: metrics
        .topDenied()
        .slice(0, MAX_DENIED)
        .map(({ limit, name, count }) => ({ limit, key: name, denied: count })),
      latency: shown(quantilesBetween(before.latency, totals.latency)) ?? null,
      store: {
        kind: storeKind,
        up: totals.isStoreUp,
        breaker: totals.isStoreUp ? 'closed' : 'open',
        p99: shown(quantilesBetween(before.storeLatency, totals.storeLatency))?.p99 ?? null,
        faults: totals.faults - before.faults,
        fallbacks: totals.fallbacks - before.fallbacks,
      },
    };
  }

  function stopTimer(): void {
    clearInterval(timer);
    timer = undefined;
  }

  function open(response: ServerResponse, isAdmin: boolean): void {
    if (isClosed) {
      response.end();
      return;
    }
    const stream: Stream = { response, since: sample(), config: '', missed: 0 };
    streams.add(stream);
    configEvent = eventOf('config', config());
    sendConfig(stream);
    response.write(eventOf('rights', { admin: isAdmin }));
    // The first snapshot starts where the history ends.
    response.write(eventOf('history', history.past(stream.since.totals.limits)));
    timer ??= setInterval(tick, every).unref();
    // A write may fail after the client has disconnected. The error is ignored, because the 'close' handler removes the stream.
    response.on('error', () => {});
    response.on('close', () => {
      streams.delete(stream);
      if (streams.size === 0) stopTimer();
    });
  }

  return {
    reply(isAdmin) {
      if (isClosed || streams.size >= MAX_STREAMS)
        throw new HttpProblem(
          'unavailable',
          isClosed ? 'the server is shutting down' : `maximum number of streams (${MAX_STREAMS}) reached`,
        );
      return { status: 200, type: TYPE, body: '', stream: (response) => open(response, isAdmin) };
    },
    configChanged() {
      configEvent = eventOf('config', config());
      for (const stream of streams) if (!stream.response.writableNeedDrain) sendConfig(stream);
    },
    close() {
      isClosed = true;
      stopTimer();
      for (const { response } of streams) {
        if (response.writableNeedDrain) response.destroy();
        else response.end();
      }
      // Nothing may be written after `end`, even if a slow reader has not received everything yet.
      streams.clear();
    },
  };
}

function eventOf(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

const NONE: Counts = { allowed: 0, denied: 0, near: 0, shadowed: 0 };

function countsBetween(before: Totals, now: Totals): object[] {
  const limits: object[] = [];
  for (const [name, counts] of now.limits) {
    const old = before.limits.get(name) ?? NONE;
    const allowed = counts.allowed - old.allowed;
    const denied = counts.denied - old.denied;
    const shadowed = counts.shadowed - old.shadowed;
    if (allowed + denied + shadowed > 0)
      limits.push({ name, allowed, denied, near: counts.near - old.near, shadowed });
  }
  return limits;
}

/** Rounds quantiles to two digits, because the buckets are not more precise. */
function shown(found: Quantiles | undefined): Quantiles | undefined {
  const short = (value: Millis) => Number(value.toPrecision(2));
  return found && { p50: short(found.p50), p99: short(found.p99), max: short(found.max) };
}
