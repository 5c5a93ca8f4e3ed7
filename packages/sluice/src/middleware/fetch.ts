/** Limits web-standard handlers, `(request) => Response`, as in Next.js, Bun.serve, Deno.serve and Cloudflare Workers. */
import type { MaybePromise } from '../engine/contract.ts';
import {
  createGuard,
  type GuardLimiter,
  type GuardOptions,
  type HeaderPair,
  type View,
} from '../http/index.ts';
import { processState } from '../internal/process-state.ts';
import { connectionOf, endingOf, incomingHeadersOf, refusalOf } from './shared/web.ts';

/**
 * A request together with the second argument that the platform passed to the handler, such as Bun's server or Deno's
 * info.
 */
export interface FetchCall {
  /** The web-standard request. */
  readonly request: Request;
  /** The handler's second argument. */
  readonly context: unknown;
}

const fetchView: View<FetchCall> = {
  addressed: ({ request, context }) => ({
    headers: incomingHeadersOf(context) ?? request.headers,
    remoteAddress: connectionOf(request, context),
  }),
  identity: ({ request }) => request,
};

/** The result of a check, with the functions that the handler must call afterwards. */
export interface Checked {
  /** The response to return if the request is denied. Undefined if the request passes. */
  readonly refusal: Response | undefined;
  /** Adds the headers to the handler's response, and settles the charge when that response has been sent. */
  readonly finish: (response: Response) => Response;
  /** Must be called instead of `finish` if the handler threw. */
  readonly failed: () => void;
}

/** Returns a function that checks a request, for handlers that call it themselves. See `Checked` for what to do with the result. */
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

/**
 * Wraps a handler so that its requests are limited, as in `Bun.serve({ fetch: withRateLimit(limiter, handler) })`. The handler
 * receives all arguments that the platform passes.
 */
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

/**
 * Responses to which an inner guard has already added headers. The inner guard decided last, and its headers include the policies
 * of the outer guards.
 */
const withInnerHeaders = /* @__PURE__ */ processState('fetch headers', () => new WeakSet<Response>());

function marked<R extends Response | undefined>(response: R): R {
  if (response !== undefined) withInnerHeaders.add(response);
  return response;
}

/** Sets headers on a response. The headers of a fetched response are immutable, so such a response is copied. */
function withHeaders(response: Response, headers: readonly HeaderPair[]): Response {
  // Responses with a status below 200 (WebSocket upgrades, network errors) cannot be changed or copied.
  if (withInnerHeaders.has(response) || response.status < 200) return response;
  try {
    for (const [name, value] of headers) response.headers.set(name, value);
    return response;
  } catch {
    return withHeaders(new Response(response.body, response), headers);
  }
}
