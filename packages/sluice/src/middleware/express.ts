/**
 * Middleware for Express 4 and 5, and for other frameworks whose middleware is `(request, response, next)`, such as Connect and
 * Polka.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createGuard, type GuardLimiter, type GuardOptions, type Verdict } from '../http/index.ts';
import { expressAddress } from './shared/framework-address.ts';
import { carryOut, nodeView } from './shared/node.ts';

const expressView = { ...nodeView, byFramework: expressAddress };

/** A middleware for `app.use`. */
export type ExpressMiddleware<Q> = (
  request: Q,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void;

/**
 * Returns a middleware that limits requests, for use as in `app.use(rateLimit(limiter))`. Accepts a limiter or options. If
 * several of these middlewares check one request, all their limits apply, and a denial refunds what the earlier ones charged.
 */
export function rateLimit<Q extends IncomingMessage = IncomingMessage>(
  options: GuardOptions<Q> | GuardLimiter,
): ExpressMiddleware<Q> {
  const guard = createGuard<Q>(options, expressView);
  return (request, response, next) => {
    let verdict: ReturnType<typeof guard>;
    try {
      verdict = guard(request);
    } catch (error) {
      next(error);
      return;
    }
    const apply = (verdict: Verdict): void => {
      if (carryOut(verdict, response)) next();
    };
    // Polka's `next` may throw. Without this catch, the error would be lost.
    if (verdict instanceof Promise) verdict.then(apply).catch(next);
    else apply(verdict);
  };
}
