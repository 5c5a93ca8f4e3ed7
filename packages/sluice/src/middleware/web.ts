/** What handlers of the web standard share: where the connection's address is, and how the end of a response is seen. */
import type { Verdict } from '../http/index.ts';

/** The address of the connection, where each platform tells it. */
export function connectionOf(request: Request, context: unknown): string | undefined {
  const from = (context ?? {}) as Partial<Platforms>;
  return (
    from.incoming?.socket?.remoteAddress ??
    from.remoteAddr?.hostname ??
    from.requestIP?.(request)?.address ??
    from.server?.requestIP?.(request)?.address ??
    // On Workers the platform sets `cf` on the request, which no client can, and this header.
    ('cf' in request ? (request.headers.get('cf-connecting-ip') ?? undefined) : undefined)
  );
}

interface Platforms {
  /** @hono/node-server */
  readonly incoming: { readonly socket?: { readonly remoteAddress?: string } };
  /** Deno */
  readonly remoteAddr: { readonly hostname?: string };
  /** Bun */
  requestIP(request: Request): { readonly address: string } | null;
  /** Bun, under Hono */
  readonly server: { requestIP?(request: Request): { readonly address: string } | null };
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

/** Sees to it that `settle` hears once how a request ended. */
export interface Ending {
  /** The same response, whose end is told: its body read to the end, or given up by whoever read it. */
  watched(response: Response): Response;
  /** There is no response: the handler threw. */
  failed(): void;
}

export function endingOf(request: Request, settle: Verdict['settle']): Ending {
  if (settle === undefined) return { watched: (response) => response, failed() {} };
  let open = true;
  async function end(status: number, aborted: boolean): Promise<void> {
    if (!open) return;
    open = false;
    request.signal.removeEventListener('abort', leave);
    await settle?.({ status, aborted });
  }
  const leave = (): void => void end(0, true);
  request.signal.addEventListener('abort', leave, { once: true });
  // While the store was asked: no event tells of it any more, and perhaps nobody reads the response either.
  if (request.signal.aborted) leave();
  return {
    failed: () => void end(500, false),
    watched(response) {
      const { status, body } = response;
      // The body of an answer to HEAD is thrown away unread.
      if (body !== null && request.method !== 'HEAD')
        return new Response(
          told(body, (aborted) => end(status, aborted)),
          response,
        );
      void end(status, request.signal.aborted);
      return response;
    },
  };
}

function told(
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
