/** Hono 4, on Node, Bun, Deno and Workers. */
import type { Context, MiddlewareHandler, Next } from 'hono';
import {
  createGuard,
  type GuardLimiter,
  type GuardOptions,
  type HeaderPair,
  type Verdict,
  type View,
} from '../http/index.ts';
import { connectionOf, endingOf, outgoingOf } from './shared/web.ts';

const honoView: View<Context> = {
  addressed: (context) => ({
    headers: { get: (name: string) => context.req.header(name) ?? null },
    remoteAddress: connectionOf(context.req.raw, context.env),
  }),
  identity: (context) => context,
};

/** What the last guard of a request had to tell: it knows of those before. */
const TOLD: unique symbol = Symbol('sluice.told');

interface Marked {
  [TOLD]?: readonly HeaderPair[];
}

/** `app.use(rateLimit(limiter))`, or with options. Several on one request add up; a later denial gives back. */
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
  const isTold = tell(context, headers);
  if (refusal !== undefined)
    return Promise.resolve(
      context.body(refusal.body, refusal.status as 429, { 'Content-Type': refusal.type }),
    );
  return isTold && settle === undefined ? next() : seenToTheEnd(settle, context, next);
}

async function seenToTheEnd(settle: Verdict['settle'], context: Context, next: Next): Promise<void> {
  const ending = endingOf(context.req.raw, context.env, settle);
  try {
    await next();
  } catch (error) {
    ending.failed();
    throw error;
  }
  announce(context);
  if (settle !== undefined) context.res = ending.watched(context.res);
}

/** True: it is done, straight to Node's response, which costs far less than a header of Hono's. False: see `announce`. */
function tell(context: Context & Marked, headers: readonly HeaderPair[]): boolean {
  if (headers.length === 0) return true;
  const outgoing = outgoingOf(context.env);
  if (outgoing !== undefined) {
    if (!outgoing.headersSent) for (const [name, value] of headers) outgoing.setHeader(name, value);
    return true;
  }
  for (const [name, value] of headers) context.header(name, value);
  context[TOLD] = headers;
  return false;
}

/** Once more: a handler that made its Response itself knows nothing of the context's headers. */
function announce(context: Context & Marked): void {
  const told = context[TOLD];
  // A socket's response must stay the one it is.
  if (told === undefined || context.res.status < 200) return;
  const { headers } = context.res;
  for (const [name, value] of told) if (headers.get(name) !== value) context.header(name, value);
}
