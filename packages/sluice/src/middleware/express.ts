/** Express 4 and 5, and whatever else takes `(request, response, next)`, such as Connect and Polka. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createGuard, type GuardLimiter, type GuardOptions, type Verdict } from '../http/index.ts';
import { expressAddress } from './shared/framework-address.ts';
import { carryOut, nodeView } from './shared/node.ts';

const expressView = { ...nodeView, byFramework: expressAddress };

/** What `app.use` takes. */
export type ExpressMiddleware<Q> = (
  request: Q,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void;

/** `app.use(rateLimit(limiter))`, or with options. Several on one request add up; a later denial gives back. */
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
    const go = (verdict: Verdict): void => {
      if (carryOut(verdict, response)) next();
    };
    // Where `next` throws (Polka), nobody else would hear of it.
    if (verdict instanceof Promise) verdict.then(go).catch(next);
    else go(verdict);
  };
}
