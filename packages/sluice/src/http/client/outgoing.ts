/** What is to be known of a call before it is made: fetch takes a string, a URL or a Request, and options that override. */

/** A call, as far as `key` and `cost` may want to know it. */
export interface OutgoingRequest {
  /** As given: relative in a browser, perhaps. */
  readonly url: string;
  /** In capitals. */
  readonly method: string;
  /** As they are sent. */
  readonly headers: Headers;
}

/** Whatever a platform makes Headers of. */
type HeadersInput = ConstructorParameters<typeof Headers>[0];

/** The part of a Request that matters here. */
interface RequestLike {
  readonly url: string;
  readonly method?: string;
  readonly headers?: HeadersInput;
  readonly signal?: AbortSignal;
  readonly bodyUsed?: boolean;
}

/** The part of a RequestInit that matters here. */
export interface FetchInit {
  readonly method?: string;
  readonly headers?: HeadersInput;
  readonly signal?: AbortSignal | null;
  readonly body?: unknown;
}

interface Outgoing {
  readonly request: OutgoingRequest;
  readonly signal: AbortSignal | undefined;
  /** Whether it can be sent once more. To be asked after it was sent: a Request with a body has lost it by then. */
  readonly isRepeatable: () => boolean;
}

export function outgoing(input: unknown, init: FetchInit | null | undefined): Outgoing {
  const given = isRequest(input) ? input : undefined;
  return {
    request: {
      url: given?.url ?? String(input),
      method: (init?.method ?? given?.method ?? 'GET').toUpperCase(),
      get headers() {
        return new Headers(init?.headers ?? given?.headers);
      },
    },
    signal: (init?.signal === undefined ? given?.signal : init?.signal) ?? undefined,
    isRepeatable: () => isWhole(init?.body) && given?.bodyUsed !== true,
  };
}

/** The default key. A relative URL stays within its page's origin. */
export function originOf({ url }: OutgoingRequest): string {
  try {
    return new URL(url).origin;
  } catch {
    return 'same-origin';
  }
}

function isRequest(input: unknown): input is RequestLike {
  return typeof (input as RequestLike | undefined)?.url === 'string';
}

/** What can be read more than once, by its tag; anything else may be a stream. */
const WHOLE = /^\[object (?:String|ArrayBuffer|SharedArrayBuffer|URLSearchParams|FormData|Blob|File)\]$/;

function isWhole(body: unknown): boolean {
  return (
    body === undefined ||
    body === null ||
    ArrayBuffer.isView(body) ||
    WHOLE.test(Object.prototype.toString.call(body))
  );
}
