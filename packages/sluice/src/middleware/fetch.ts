/** Handlers of the web standard, `(request) => Response`: Next, Bun.serve, Deno.serve, Workers. */
import type { MaybePromise } from '../engine/contract.ts';
import {
  createGuard,
  type GuardLimiter,
  type GuardOptions,
  type HeaderPair,
  type View,
} from '../http/index.ts';
import { connectionOf, endingOf, refusalOf } from './shared/web.ts';

/** A request on its way through the guard, with what the platform passed beside it: Bun's server, Deno's info. */
export interface FetchCall {
  /** The web standard's. */
  readonly request: Request;
  /** The handler's second argument. */
  readonly context: unknown;
}

const fetchView: View<FetchCall> = {
  addressed: ({ request, context }) => ({
    headers: request.headers,
    remoteAddress: connectionOf(request, context),
  }),
  identity: ({ request }) => request,
};

/** What became of a request, and what is left to do. */
export interface Checked {
  /** The answer if the request does not pass. */
  readonly refusal: Response | undefined;
  /** Adds the headers, and settles once the response is out. */
  readonly finish: (response: Response) => Response;
  /** In place of `finish` where there is no response: the handler threw. */
  readonly failed: () => void;
}

/** For handlers that decide themselves where to check. */
export function rateLimit(
  options: GuardOptions<FetchCall> | GuardLimiter,
): (request: Request, context?: unknown) => Promise<Checked> {
  const guard = createGuard(options, fetchView);
  return async (request, context) => {
    const verdict = await guard({ request, context });
    const ending = endingOf(request, context, verdict.settle);
    return {
      refusal: marked(refusalOf(verdict)),
      finish: (response) => marked(ending.watched(withHeaders(response, verdict.headers))),
      failed: () => ending.failed(),
    };
  };
}

/** `Bun.serve({ fetch: withRateLimit(limiter, handler) })`. The handler gets all that the platform passes. */
export function withRateLimit<C extends readonly unknown[]>(
  options: GuardOptions<FetchCall> | GuardLimiter,
  handler: (request: Request, ...context: C) => MaybePromise<Response>,
): (request: Request, ...context: C) => Promise<Response> {
  const check = rateLimit(options);
  return async (request, ...context) => {
    const { refusal, finish, failed } = await check(request, context[0]);
    if (refusal !== undefined) return refusal;
    try {
      return finish(await handler(request, ...context));
    } catch (error) {
      failed();
      throw error;
    }
  };
}

/** Responses with headers of an inner guard: it decided later and tells of the outer's policies too. */
const told = new WeakSet<Response>();

function marked<R extends Response | undefined>(response: R): R {
  if (response !== undefined) told.add(response);
  return response;
}

/** Headers of a response that was fetched are immutable: then it is copied. */
function withHeaders(response: Response, headers: readonly HeaderPair[]): Response {
  // A socket's response must stay the one it is, and so must an error's.
  if (told.has(response) || response.status < 200) return response;
  try {
    for (const [name, value] of headers) response.headers.set(name, value);
    return response;
  } catch {
    return withHeaders(new Response(response.body, response), headers);
  }
}
