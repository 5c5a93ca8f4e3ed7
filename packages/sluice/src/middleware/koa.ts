/** Middleware for Koa 2 and 3. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createGuard, type GuardLimiter, type GuardOptions, type View } from '../http/index.ts';
import { koaAddress, type KoaProxy } from './shared/framework-address.ts';
import { carryOut } from './shared/node.ts';

/** The parts of Koa's context that the middleware uses. */
export interface KoaContext extends KoaProxy {
  /** Node's request. */
  readonly req: IncomingMessage;
  /** Node's response. */
  readonly res: ServerResponse;
  /** The response's status, which the middleware sets if the request is denied. */
  status: number;
  /** The response's body, which the middleware sets if the request is denied. */
  body: unknown;
  /** Sets a header. */
  set(name: string, value: string): void;
}

const koaView: View<KoaContext> = {
  addressed: ({ req }) => req,
  identity: ({ req }) => req,
  byFramework: koaAddress,
};

/**
 * Returns a middleware that limits requests, for use as in `app.use(rateLimit(limiter))`. Accepts a limiter or options. If
 * several of these middlewares check one request, all their limits apply, and a denial refunds what the earlier ones charged.
 */
export function rateLimit<C extends KoaContext = KoaContext>(
  options: GuardOptions<C> | GuardLimiter,
): (context: C, next: () => Promise<unknown>) => Promise<void> {
  const guard = createGuard<C>(options, koaView);
  return async (context, next) => {
    const passes = carryOut(await guard(context), context.res, ({ status, type, body }) => {
      // Koa sends the response after the outer middlewares have seen it.
      context.status = status;
      context.body = body;
      context.set('Content-Type', type);
    });
    if (passes) await next();
  };
}
