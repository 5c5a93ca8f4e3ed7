/** Koa 2 and 3. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createGuard, type GuardLimiter, type GuardOptions, type View } from '../http/index.ts';
import { koaAddress, type KoaProxy } from './shared/framework-address.ts';
import { carryOut } from './shared/node.ts';

/** What is used of Koa's context. */
export interface KoaContext extends KoaProxy {
  /** Node's request. */
  readonly req: IncomingMessage;
  /** Node's response. */
  readonly res: ServerResponse;
  /** Set when a request is refused. */
  status: number;
  /** Set when a request is refused. */
  body: unknown;
  /** Sets a header. */
  set(name: string, value: string): void;
}

const koaView: View<KoaContext> = {
  addressed: ({ req }) => req,
  identity: ({ req }) => req,
  byFramework: koaAddress,
};

/** `app.use(rateLimit(limiter))`, or with options. Several on one request add up; a later denial gives back. */
export function rateLimit<C extends KoaContext = KoaContext>(
  options: GuardOptions<C> | GuardLimiter,
): (context: C, next: () => Promise<unknown>) => Promise<void> {
  const guard = createGuard<C>(options, koaView);
  return async (context, next) => {
    const passes = carryOut(await guard(context), context.res, ({ status, type, body }) => {
      // Koa sends it, after the middlewares around have seen it.
      context.status = status;
      context.body = body;
      context.set('Content-Type', type);
    });
    if (passes) await next();
  };
}
