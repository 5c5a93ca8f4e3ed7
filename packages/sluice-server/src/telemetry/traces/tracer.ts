/**
 * Decides which requests get a span, and what the span contains. If a request has a W3C `traceparent` header, the header decides;
 * other requests are sampled at random. A request that is not sampled costs only a header lookup.
 */
import { randomBytes } from 'node:crypto';
import type { Millis } from 'sluice';

/** The trace that a span belongs to. */
export interface TraceContext {
  readonly traceId: string;
  /** Id of the parent span. Undefined if this span starts the trace. */
  readonly parentId: string | undefined;
}

/** Describes what a request checked, in the same form for all listeners. */
export interface Asked {
  readonly limit?: string | undefined;
  /** The key, which is recorded only with the option `keys`. */
  readonly key?: string | undefined;
  readonly outcome?: 'allowed' | 'denied' | 'shadowed' | undefined;
  /** Number of operations or descriptors in the request. */
  readonly count?: number | undefined;
}

export interface Work {
  readonly name: string;
  /** Start of the span, from performance.now(). The span ends when it is recorded. */
  readonly start: Millis;
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly asked?: Asked | undefined;
  /** Describes the failure if the server or its store failed. */
  readonly error?: string | undefined;
}

/** A finished span. Times are in epoch milliseconds. */
export interface Span extends TraceContext {
  readonly spanId: string;
  readonly name: string;
  readonly start: Millis;
  readonly end: Millis;
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly error: string | undefined;
}

export interface Tracer {
  /** The context of the request's span. Undefined if the request is not sampled. */
  contextOf(traceparent: string | undefined): TraceContext | undefined;
  record(context: TraceContext, work: Work): void;
}

export interface TracerOptions {
  /** Fraction of the requests without a `traceparent` header to sample, from 0 to 1. Default 0.001. */
  readonly share?: number | undefined;
  /** Whether spans contain keys. Default false. */
  readonly keys?: boolean | undefined;
}

const MAX_TEXT = 200;
const SAMPLED = 1;

export function createTracer(push: (span: Span) => void, options: TracerOptions = {}): Tracer {
  const { share = 0.001, keys: includesKeys = false } = options;

  return {
    contextOf(traceparent) {
      const parent = traceparent === undefined ? undefined : parentOf(traceparent);
      if (parent !== undefined) return parent.isSampled ? parent : undefined;
      return Math.random() < share ? { traceId: id(16), parentId: undefined } : undefined;
    },
    record({ traceId, parentId }, { name, start, attributes, asked = {}, error }) {
      const { limit, key, outcome, count } = asked;
      push({
        traceId,
        parentId,
        spanId: id(8),
        name,
        start: performance.timeOrigin + start,
        end: performance.timeOrigin + performance.now(),
        attributes: {
          ...attributes,
          ...(limit !== undefined && { 'sluice.limit': limit.slice(0, MAX_TEXT) }),
          ...(outcome !== undefined && { 'sluice.outcome': outcome }),
          ...(count !== undefined && { 'sluice.count': count }),
          ...(includesKeys && key !== undefined && { 'sluice.key': key.slice(0, MAX_TEXT) }),
        },
        error: error?.slice(0, MAX_TEXT),
      });
    },
  };
}

/** Matches a `traceparent` header. Later versions of the header may have more fields after the flags. */
const TRACEPARENT = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-.*)?$/;

/** Returns undefined for a malformed header, which is ignored. */
function parentOf(header: string): (TraceContext & { isSampled: boolean }) | undefined {
  const [, version, traceId, parentId, flags, more] = TRACEPARENT.exec(header) ?? [];
  if (traceId === undefined || flags === undefined || (version === '00' && more !== undefined))
    return undefined;
  return { traceId, parentId, isSampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 };
}

function id(bytes: number): string {
  return randomBytes(bytes).toString('hex');
}
