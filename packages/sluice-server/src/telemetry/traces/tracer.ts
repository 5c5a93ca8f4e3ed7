/**
 * Which requests leave a span, and what it says. A caller that sends a W3C `traceparent` has decided for us; of the others
 * a share is taken at random. What is not sampled costs a look at a header.
 */
import { randomBytes } from 'node:crypto';
import type { Millis } from 'sluice';

/** Where a span belongs. */
export interface TraceContext {
  readonly traceId: string;
  /** Undefined: the span begins the trace. */
  readonly parentId: string | undefined;
}

/** What a request was about: for any limit, at any listener. */
export interface Asked {
  readonly limit?: string | undefined;
  /** Only told where keys are asked for. */
  readonly key?: string | undefined;
  readonly outcome?: 'allowed' | 'denied' | 'shadowed' | undefined;
  /** Questions, or descriptors, in one request. */
  readonly count?: number | undefined;
}

export interface Work {
  readonly name: string;
  /** By performance.now(). It ends now. */
  readonly start: Millis;
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly asked?: Asked | undefined;
  /** The fault, where it was the server's or its store's. */
  readonly error?: string | undefined;
}

/** Times are milliseconds since 1970. */
export interface Span extends TraceContext {
  readonly spanId: string;
  readonly name: string;
  readonly start: Millis;
  readonly end: Millis;
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly error: string | undefined;
}

export interface Tracer {
  /** Undefined: it leaves no span. */
  contextOf(traceparent: string | undefined): TraceContext | undefined;
  record(context: TraceContext, work: Work): void;
}

export interface TracerOptions {
  /** Of the requests without a parent. Default 1 in 1,000. */
  readonly share?: number | undefined;
  /** Whether spans tell whom a limit counted. Default false. */
  readonly keys?: boolean | undefined;
}

const MAX_TEXT = 200;
const SAMPLED = 1;

export function createTracer(push: (span: Span) => void, options: TracerOptions = {}): Tracer {
  const { share = 0.001, keys: areKeysTold = false } = options;

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
          ...(areKeysTold && key !== undefined && { 'sluice.key': key.slice(0, MAX_TEXT) }),
        },
        error: error?.slice(0, MAX_TEXT),
      });
    },
  };
}

/** Later versions may have more behind the flags. */
const TRACEPARENT = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-.*)?$/;

/** Undefined: what is malformed is as if it were not there. */
function parentOf(header: string): (TraceContext & { isSampled: boolean }) | undefined {
  const [, version, traceId, parentId, flags, more] = TRACEPARENT.exec(header) ?? [];
  if (traceId === undefined || flags === undefined || (version === '00' && more !== undefined))
    return undefined;
  return { traceId, parentId, isSampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 };
}

function id(bytes: number): string {
  return randomBytes(bytes).toString('hex');
}
