/** Limits Node's own HTTP/1.1 and HTTP/2 servers, as in `createServer(withRateLimit(limiter, handler))`. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createGuard, type GuardLimiter, type GuardOptions } from '../http/index.ts';
import { carryOut, type NodeRequest, type NodeResponse, nodeView } from './shared/node.ts';

export type { NodeRequest, NodeResponse } from './shared/node.ts';

/**
 * Wraps a handler so that it is called only for requests that pass. If a function in the options throws, the error is printed
 * and the response is 500.
 */
export function withRateLimit<
  Q extends NodeRequest = IncomingMessage,
  S extends NodeResponse = ServerResponse,
>(
  // Q is inferred only from the handler. This type has the same effect as NoInfer<Q>, which needs TypeScript 5.4.
  options: GuardOptions<[Q][Q extends unknown ? 0 : never]> | GuardLimiter,
  handler: (request: Q, response: S) => unknown,
): (request: Q, response: S) => void {
  const check = rateLimit<Q>(options);
  async function serve(request: Q, response: S): Promise<void> {
    let passes = false;
    try {
      passes = await check(request, response);
    } catch (error) {
      console.error(error);
      if (!response.headersSent) response.statusCode = 500;
      response.end();
    }
    if (passes) await handler(request, response);
  }
  return (request, response) => void serve(request, response);
}

/**
 * Returns a function that checks a request, for handlers that call it themselves. The function resolves to true if the request
 * passes, and to false if the denial has already been sent.
 */
export function rateLimit<Q extends NodeRequest = IncomingMessage>(
  options: GuardOptions<Q> | GuardLimiter,
): (request: Q, response: NodeResponse) => Promise<boolean> {
  const guard = createGuard<Q>(options, nodeView);
  return async (request, response) => carryOut(await guard(request), response);
}
