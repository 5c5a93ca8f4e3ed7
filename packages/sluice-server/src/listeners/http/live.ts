/**
 * GET /live: what the Live part of the page shows, as server-sent events. packages/playground/LIVE.md is the contract.
 * A reader that is slow gets fewer snapshots, each over a longer span; never more than one waits for it here.
 */
import type { ServerResponse } from 'node:http';
import type { Millis } from 'sluice';
import type { Counts, Metrics, Totals } from '../../telemetry/metrics/metrics.ts';
import { quantilesBetween, type Quantiles } from '../../telemetry/metrics/latency-buckets.ts';
import { HttpProblem, type Reply } from './reply.ts';

export interface LiveOptions {
  readonly metrics: Pick<Metrics, 'totals' | 'topDenied'>;
  /** 'memory', 'redis', 'postgres'. */
  readonly storeKind: string;
  /** The data of a config event, as it is now. */
  readonly config: () => object;
  /** Between snapshots; default 1000 ms. */
  readonly every?: Millis | undefined;
}

export interface Live {
  /** A stream of its own for whoever asks. */
  reply(): Reply;
  /** The configuration was loaded, or found to be wrong. */
  configChanged(): void;
  /** Ends all streams, and lets nobody in any more. */
  close(): void;
}

interface Stream {
  readonly response: ServerResponse;
  since: Look;
  /** The config event it has heard. */
  config: string;
  /** Looks that it was too slow for, in a row. */
  missed: number;
}

interface Look {
  /** Monotonic. */
  readonly at: Millis;
  readonly totals: Totals;
}

const MAX_STREAMS = 64;
const MAX_DENIED = 20;
/** Whoever reads nothing for so many looks is gone. */
const MAX_MISSED = 30;
const TYPE = 'text/event-stream';

export function createLive({ metrics, storeKind, config, every = 1000 }: LiveOptions): Live {
  const streams = new Set<Stream>();
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  let configEvent = '';

  function look(): Look {
    return { at: performance.now(), totals: metrics.totals() };
  }

  /** Whether it can be told anything now. */
  function isReady(stream: Stream): boolean {
    stream.missed = stream.response.writableNeedDrain ? stream.missed + 1 : 0;
    if (stream.missed > MAX_MISSED) stream.response.destroy();
    return stream.missed === 0;
  }

  function tellConfig(stream: Stream): void {
    if (stream.config === configEvent) return;
    stream.config = configEvent;
    stream.response.write(configEvent);
  }

  function tick(): void {
    const now = look();
    const events = new Map<Look, string>();
    for (const stream of streams) {
      if (!isReady(stream)) continue;
      tellConfig(stream);
      // Most streams have heard the last look: they are told the same.
      const event = events.get(stream.since) ?? eventOf('snapshot', snapshotOf(stream.since, now));
      events.set(stream.since, event);
      stream.since = now;
      stream.response.write(event);
    }
  }

  function snapshotOf({ at, totals: before }: Look, { at: now, totals }: Look): object {
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

  function rest(): void {
    clearInterval(timer);
    timer = undefined;
  }

  function open(response: ServerResponse): void {
    if (isClosed) {
      response.end();
      return;
    }
    const stream: Stream = { response, since: look(), config: '', missed: 0 };
    streams.add(stream);
    configEvent = eventOf('config', config());
    tellConfig(stream);
    timer ??= setInterval(tick, every).unref();
    // A write may come too late: the close that follows is enough to know.
    response.on('error', () => {});
    response.on('close', () => {
      streams.delete(stream);
      if (streams.size === 0) rest();
    });
  }

  return {
    reply() {
      if (isClosed || streams.size >= MAX_STREAMS)
        throw new HttpProblem(
          'unavailable',
          isClosed ? 'the server is about to end' : `${MAX_STREAMS} streams are open already`,
        );
      return { status: 200, type: TYPE, body: '', stream: open };
    },
    configChanged() {
      configEvent = eventOf('config', config());
      for (const stream of streams) if (!stream.response.writableNeedDrain) tellConfig(stream);
    },
    close() {
      isClosed = true;
      rest();
      for (const { response } of streams) {
        if (response.writableNeedDrain) response.destroy();
        else response.end();
      }
      // Nothing is said after the end, however long a slow reader takes to hear it.
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

/** Two digits: more are not known. */
function shown(found: Quantiles | undefined): Quantiles | undefined {
  const short = (value: Millis) => Number(value.toPrecision(2));
  return found && { p50: short(found.p50), p99: short(found.p99), max: short(found.max) };
}
