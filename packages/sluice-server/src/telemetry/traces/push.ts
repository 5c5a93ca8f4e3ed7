/**
 * Sends spans to a collector as JSON, with OTLP over HTTP. Requests never wait for the collector. Spans are queued, up to a
 * maximum, and sent in batches. Spans that the collector does not accept are dropped.
 */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { Agent as SecureAgent, request as secureRequest } from 'node:https';
import type { Millis } from 'sluice';
import type { Log } from '../../log.ts';
import { VERSION } from '../../version.ts';
import type { Span } from './tracer.ts';

export interface PushOptions {
  /** Full URL of the collector, such as `http://localhost:4318/v1/traces`. */
  readonly url: string;
  /** Headers of each push, such as a token. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** How long the collector may take to respond. Default 10 s. */
  readonly timeout?: Millis | undefined;
  /** Interval between pushes. Default 5 s. */
  readonly every?: Millis | undefined;
  /** File (PEM) with the certificate authority of the collector, if the system does not trust it already. */
  readonly certificate?: string | undefined;
}

export interface SpanPusher {
  /** Queues a span. Never throws or blocks. */
  add(span: Span): void;
  /** Sends the queued spans and stops. */
  close(): Promise<void>;
}

type Attributes = Readonly<Record<string, unknown>>;

const MAX_QUEUED = 2048;
const BATCH = 512;
/** How long a collector that does not answer may delay the shutdown. */
const PATIENCE: Millis = 2000;

export function createSpanPusher(options: PushOptions, resource: Attributes, log: Log): SpanPusher {
  const { every = 5000, timeout = 10_000 } = options;
  const post = postTo(options);
  const queue: Span[] = [];
  let dropped = 0;
  let isFailing = false;
  let sending: Promise<void> | undefined;

  async function send(): Promise<void> {
    const spans = queue.splice(0, BATCH);
    try {
      await post(bodyOf(spans, resource), timeout);
      if (isFailing) log.info('pushing spans works again', { dropped });
      isFailing = false;
      dropped = 0;
    } catch (error) {
      dropped += spans.length;
      if (!isFailing) log.warn('cannot push spans', { error: String(error) });
      isFailing = true;
    }
  }

  /** Sends one batch of spans, unless another batch is being sent. */
  function flush(): void {
    if (sending !== undefined || queue.length === 0) return;
    sending = send().finally(() => {
      sending = undefined;
      if (queue.length >= BATCH) flush();
    });
  }

  async function sendAll(): Promise<void> {
    while (sending !== undefined || queue.length > 0) {
      flush();
      await sending;
    }
  }

  const timer = setInterval(flush, every).unref();

  return {
    add(span) {
      if (queue.length >= MAX_QUEUED) dropped++;
      else if (queue.push(span) >= BATCH) flush();
    },
    async close() {
      clearInterval(timer);
      await Promise.race([sendAll(), new Promise((resolve) => setTimeout(resolve, PATIENCE).unref())]);
      queue.length = 0;
      post.close();
    },
  };
}

interface Post {
  /** Sends a body to the collector. Rejects unless the collector accepts it. */
  (body: string, timeout: Millis): Promise<void>;
  close(): void;
}

function postTo({ url, headers = {}, certificate }: PushOptions): Post {
  const isSecure = url.startsWith('https:');
  const keep = { keepAlive: true, maxSockets: 1 };
  const agent = isSecure
    ? new SecureAgent({ ...keep, ...(certificate !== undefined && { ca: readFileSync(certificate) }) })
    : new Agent(keep);
  const ask = isSecure ? secureRequest : request;
  const post = (body: string, timeout: Millis): Promise<void> =>
    new Promise((resolve, reject) => {
      const sent = ask(url, {
        method: 'POST',
        agent,
        headers: {
          ...headers,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        },
        signal: AbortSignal.timeout(Math.max(1, Math.ceil(timeout))),
      });
      sent.on('error', reject);
      sent.on('response', (response) => {
        const { statusCode = 0 } = response;
        response.resume().on('error', reject);
        response.on('end', () => {
          if (statusCode >= 200 && statusCode < 300) resolve();
          else reject(new Error(`the collector responded with status ${statusCode}`));
        });
      });
      sent.end(body);
    });
  return Object.assign(post, { close: () => agent.destroy() });
}

/** OTLP constants: SpanKind SERVER, the trace flag "sampled" and StatusCode ERROR. */
const SERVER = 2;
const SAMPLED = 1;
const ERROR = 2;

function bodyOf(spans: readonly Span[], resource: Attributes): string {
  const scope = { name: 'sluice-server', version: VERSION };
  const scopeSpans = [{ scope, spans: spans.map(shown) }];
  return JSON.stringify({
    resourceSpans: [{ resource: { attributes: attributesOf(resource) }, scopeSpans }],
  });
}

function shown({ traceId, spanId, parentId, name, start, end, attributes, error }: Span): object {
  return {
    traceId,
    spanId,
    ...(parentId !== undefined && { parentSpanId: parentId }),
    flags: SAMPLED,
    name,
    kind: SERVER,
    startTimeUnixNano: nanos(start),
    endTimeUnixNano: nanos(end),
    attributes: attributesOf(attributes),
    status: error === undefined ? {} : { code: ERROR, message: error },
  };
}

/** Formats a time in nanoseconds. It is exact only to the microsecond, because a number cannot hold more digits. */
function nanos(millis: Millis): string {
  return `${Math.round(millis * 1000)}000`;
}

function attributesOf(attributes: Attributes): object[] {
  return Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === 'number' ? numberOf(value) : { stringValue: String(value) },
  }));
}

function numberOf(value: number): object {
  return Number.isSafeInteger(value) ? { intValue: value } : { doubleValue: value };
}
