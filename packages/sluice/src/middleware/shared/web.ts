/** Helpers for all web-standard handlers: they find the connection's address and detect the end of a response. */
import type { HeadersLike } from '../../http/client-address.ts';
import type { Verdict } from '../../http/index.ts';
import { type NodeResponse, outcomeOf, whenOver } from './exchange.ts';

/** The address of the connection, from wherever the platform provides it. */
export function connectionOf(request: Request, context: unknown): string | undefined {
  const from = (context ?? {}) as Partial<Platforms>;
  return (
    from.incoming?.socket?.remoteAddress ??
    from.remoteAddr?.hostname ??
    from.requestIP?.(request)?.address ??
    from.server?.requestIP?.(request)?.address ??
    // On Cloudflare Workers, the platform sets this header and `cf` on the request; clients cannot set `cf`.
    ('cf' in request ? (request.headers.get('cf-connecting-ip') ?? undefined) : undefined)
  );
}

/** The headers of Node's request, which are much cheaper to read than those of the Request that is made from it. */
export function incomingHeadersOf(context: unknown): HeadersLike | undefined {
  return ((context ?? {}) as Partial<Platforms>).incoming?.headers;
}

interface Platforms {
  /** Set by @hono/node-server. */
  readonly incoming: {
    readonly socket?: { readonly remoteAddress?: string };
    readonly headers?: HeadersLike;
  };
  /** Set by Deno. */
  readonly remoteAddr: { readonly hostname?: string };
  /** Set by Bun. */
  requestIP(request: Request): { readonly address: string } | null;
  /** Set by Bun under Hono. */
  readonly server: { requestIP?(request: Request): { readonly address: string } | null };
}

/** Returns Node's response, which @hono/node-server passes along with the request. */
export function outgoingOf(context: unknown): NodeResponse | undefined {
  const { outgoing } = (context ?? {}) as { readonly outgoing?: Partial<NodeResponse> };
  return typeof outgoing?.setHeader === 'function' ? (outgoing as NodeResponse) : undefined;
}

export function refusalOf({ refusal, headers }: Verdict): Response | undefined {
  if (refusal === undefined) return undefined;
  return new Response(refusal.body, {
    status: refusal.status,
    headers: [
      ...headers.map(([name, value]): [string, string] => [name, value]),
      ['Content-Type', refusal.type],
    ],
  });
}

/** Calls `settle` once, when a watched response ends, when the handler fails or when the client disconnects. */
export interface Ending {
  /** Returns the response with a body that reports when it is read to the end or canceled. */
  watched(response: Response): Response;
  /** Must be called if the handler threw and there is no response. */
  failed(): void;
}

/**
 * Detects the end of an exchange. `context` is what the platform passed along with the request. On Node, it may contain the
 * response.
 */
export function endingOf(request: Request, context: unknown, settle: Verdict['settle']): Ending {
  if (settle === undefined) return { watched: (response) => response, failed() {} };
  let open = true;
  let unwatch: (() => void) | undefined;
  async function end(status: number, aborted: boolean): Promise<void> {
    if (!open) return;
    open = false;
    request.signal.removeEventListener('abort', leave);
    unwatch?.();
    await settle?.({ status, aborted });
  }
  const leave = (): void => void end(0, true);
  request.signal.addEventListener('abort', leave, { once: true });
  // The client may have disconnected while the store was deciding. In that case, no event follows, and the body may never be
  // read.
  if (request.signal.aborted) leave();
  const outgoing = outgoingOf(context);
  // The signal is not aborted in the cases in which Node's response emits no event (see exchange.ts).
  if (outgoing !== undefined && open)
    unwatch = whenOver(outgoing, () => {
      const { status, aborted } = outcomeOf(outgoing);
      void end(aborted ? 0 : status, aborted);
    });
  return {
    failed: () => void end(500, false),
    watched(response) {
      const { status, body } = response;
      // The body of a response to HEAD is discarded unread, so the exchange is treated as ended here.
      if (body !== null && request.method !== 'HEAD')
        return new Response(
          watchedBody(body, (aborted) => end(status, aborted)),
          response,
        );
      void end(status, request.signal.aborted);
      return response;
    },
  };
}

function watchedBody(
  body: ReadableStream<Uint8Array>,
  end: (aborted: boolean) => Promise<void>,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        controller.close();
        await end(false);
      } catch (error) {
        controller.error(error);
        await end(true);
      }
    },
    async cancel(reason) {
      await end(true);
      await reader.cancel(reason);
    },
  });
}
