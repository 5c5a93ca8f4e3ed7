/** Node's own server, of HTTP/1 or 2: `createServer(withRateLimit(limiter, handler))`. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createGuard, type GuardLimiter, type GuardOptions } from '../http/index.ts';
import { carryOut, type NodeRequest, type NodeResponse, nodeView } from './shared/node.ts';

export type { NodeRequest, NodeResponse } from './shared/node.ts';

/** Calls the handler if the request passes. A fault of an option's function is answered with 500 and printed. */
export function withRateLimit<
  Q extends NodeRequest = IncomingMessage,
  S extends NodeResponse = ServerResponse,
>(
  options: GuardOptions<NoInfer<Q>> | GuardLimiter,
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

/** For handlers that decide themselves where to check: true means go on, false means that the answer is sent. */
export function rateLimit<Q extends NodeRequest = IncomingMessage>(
  options: GuardOptions<Q> | GuardLimiter,
): (request: Q, response: NodeResponse) => Promise<boolean> {
  const guard = createGuard<Q>(options, nodeView);
  return async (request, response) => carryOut(await guard(request), response);
}
