/** Express 4 and 5, and other frameworks whose middlewares are `(request, response, next)`, such as Connect and Polka. */
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
 * Returns a middleware that limits requests: `app.use(rateLimit(limiter))`, or with options. If several of them check one
 * request, all their limits apply, and a denial refunds what the earlier ones charged.
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
    // Polka's `next` may throw; without this catch the error would be lost.
    if (verdict instanceof Promise) verdict.then(apply).catch(next);
    else apply(verdict);
  };
}
