/** Hono 4, on Node, Bun, Deno and Workers. */
import type { Context, MiddlewareHandler } from 'hono';
import {
  createGuard,
  type GuardLimiter,
  type GuardOptions,
  type HeaderPair,
  type View,
} from '../http/index.ts';
import { connectionOf, endingOf } from './web.ts';

const honoView: View<Context> = {
  addressed: (context) => ({
    headers: { get: (name: string) => context.req.header(name) ?? null },
    remoteAddress: connectionOf(context.req.raw, context.env),
  }),
  identity: (context) => context,
};

/** What the last guard of a request had to tell: it knows of those before. */
const told = new WeakMap<Context, readonly HeaderPair[]>();

/** `app.use(rateLimit(limiter))`, or with options. Several on one request add up; a later denial gives back. */
export function rateLimit(options: GuardOptions<Context> | GuardLimiter): MiddlewareHandler {
  const guard = createGuard(options, honoView);
  return async (context, next) => {
    const { headers, refusal, settle } = await guard(context);
    for (const [name, value] of headers) context.header(name, value);
    if (headers.length > 0) told.set(context, headers);
    if (refusal !== undefined)
      return context.body(refusal.body, refusal.status as 429, { 'Content-Type': refusal.type });
    const ending = endingOf(context.req.raw, settle);
    try {
      await next();
    } catch (error) {
      ending.failed();
      throw error;
    }
    announce(context);
    if (settle !== undefined) context.res = ending.watched(context.res);
    return undefined;
  };
}

/** Once more: a handler that made its Response itself knows nothing of the context's headers. */
function announce(context: Context): void {
  const { status, headers } = context.res;
  // A socket's response must stay the one it is.
  if (status < 200) return;
  for (const [name, value] of told.get(context) ?? [])
    if (headers.get(name) !== value) context.header(name, value);
}
