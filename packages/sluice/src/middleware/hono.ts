/** Hono 4, on Node, Bun, Deno and Workers. */
import type { Context, MiddlewareHandler } from 'hono';
import { createGuard, type GuardLimiter, type GuardOptions, type View } from '../http/index.ts';
import { connectionOf, endingOf, refusalOf } from './web.ts';

const honoView: View<Context> = {
  addressed: (context) => ({
    headers: { get: (name: string) => context.req.header(name) ?? null },
    remoteAddress: connectionOf(context.req.raw, context.env),
  }),
  identity: (context) => context,
};

/** `app.use(rateLimit(limiter))`, or with options. Several on one request add up; a later denial gives back. */
export function rateLimit(options: GuardOptions<Context> | GuardLimiter): MiddlewareHandler {
  const guard = createGuard(options, honoView);
  return async (context, next) => {
    const verdict = await guard(context);
    const refusal = refusalOf(verdict);
    if (refusal !== undefined) return refusal;
    for (const [name, value] of verdict.headers) context.header(name, value);
    if (verdict.settle === undefined) return next();
    const ending = endingOf(context.req.raw, verdict.settle);
    await next();
    context.res = ending.watched(context.res);
    return undefined;
  };
}
