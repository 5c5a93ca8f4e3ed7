/** Middleware for Hono 3 and 4 on Node, Bun, Deno and Cloudflare Workers. */
import type { Context, MiddlewareHandler, Next } from 'hono';
import {
  createGuard,
  type GuardLimiter,
  type GuardOptions,
  type HeaderPair,
  type Verdict,
  type View,
} from '../http/index.ts';
import { VERSION } from '../internal/version.ts';
import { connectionOf, endingOf, incomingHeadersOf, outgoingOf } from './shared/web.ts';

const honoView: View<Context> = {
  addressed: (context) => ({
    headers: incomingHeadersOf(context.env) ?? { get: (name: string) => context.req.header(name) ?? null },
    remoteAddress: connectionOf(context.req.raw, context.env),
  }),
  identity: (context) => context,
};

/** Property in which a request's context keeps the headers of its latest guard. These headers include those of earlier guards. */
const HEADERS: unique symbol = Symbol.for(`sluice ${VERSION} headers`);

interface Marked {
  [HEADERS]?: readonly HeaderPair[];
}

/**
 * Returns a middleware that limits requests, for use as in `app.use(rateLimit(limiter))`. Accepts a limiter or options. If
 * several of these middlewares check one request, all their limits apply, and a denial refunds what the earlier ones charged.
 */
export function rateLimit(options: GuardOptions<Context> | GuardLimiter): MiddlewareHandler {
  const guard = createGuard(options, honoView);
  return (context, next) => {
    const verdict = guard(context);
    return verdict instanceof Promise
      ? verdict.then((later) => carryOut(later, context, next))
      : carryOut(verdict, context, next);
  };
}

function carryOut(
  { headers, refusal, settle }: Verdict,
  context: Context,
  next: Next,
): ReturnType<MiddlewareHandler> {
  const isFinal = setHeaders(context, headers);
  if (refusal !== undefined)
    return Promise.resolve(
      context.body(refusal.body, refusal.status as 429, { 'Content-Type': refusal.type }),
    );
  return isFinal && settle === undefined ? next() : settleAfter(settle, context, next);
}

async function settleAfter(settle: Verdict['settle'], context: Context, next: Next): Promise<void> {
  const ending = endingOf(context.req.raw, context.env, settle);
  try {
    await next();
  } catch (error) {
    ending.failed();
    throw error;
  }
  repeatHeaders(context);
  if (settle !== undefined) context.res = ending.watched(context.res);
}

/**
 * Sets the headers. Returns true if it wrote them to Node's response directly, which is much faster than through Hono. If it
 * returns false, `repeatHeaders` must be called after the handler.
 */
function setHeaders(context: Context & Marked, headers: readonly HeaderPair[]): boolean {
  if (headers.length === 0) return true;
  const outgoing = outgoingOf(context.env);
  if (outgoing !== undefined) {
    if (!outgoing.headersSent) for (const [name, value] of headers) outgoing.setHeader(name, value);
    return true;
  }
  for (const [name, value] of headers) context.header(name, value);
  context[HEADERS] = headers;
  return false;
}

/** Sets the headers again, because a handler that creates its own Response does not know the context's headers. */
function repeatHeaders(context: Context & Marked): void {
  const latest = context[HEADERS];
  // A response with a status below 200 (a WebSocket upgrade) cannot be changed.
  if (latest === undefined || context.res.status < 200) return;
  const { headers } = context.res;
  for (const [name, value] of latest) if (headers.get(name) !== value) context.header(name, value);
}
