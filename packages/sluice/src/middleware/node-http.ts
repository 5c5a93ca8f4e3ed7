/** Node's own server: `createServer(withRateLimit(limiter, handler))`. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createGuard, type GuardLimiter, type GuardOptions } from '../http/index.ts';
import { carryOut, nodeView } from './node.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

/** Calls the handler if the request passes. A fault of an option's function is answered with 500 and printed. */
export function withRateLimit(
  options: GuardOptions<IncomingMessage> | GuardLimiter,
  handler: Handler,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const check = rateLimit(options);
  return async (request, response) => {
    let passes = false;
    try {
      passes = await check(request, response);
    } catch (error) {
      console.error(error);
      response.writeHead(500).end();
    }
    if (passes) await handler(request, response);
  };
}

/** For handlers that decide themselves where to check: true means go on, false means that the answer is sent. */
export function rateLimit(
  options: GuardOptions<IncomingMessage> | GuardLimiter,
): (request: IncomingMessage, response: ServerResponse) => Promise<boolean> {
  const guard = createGuard(options, nodeView);
  return async (request, response) => carryOut(await guard(request), response);
}
