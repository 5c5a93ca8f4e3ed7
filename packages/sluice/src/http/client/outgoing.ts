/** Normalizes the arguments of fetch, which are a string, a URL or a Request, and options that override those of the Request. */

/** The request that `key` and `cost` receive. */
export interface OutgoingRequest {
  /** The URL that was passed to fetch. In a browser, it may be relative. */
  readonly url: string;
  /** The method in uppercase. */
  readonly method: string;
  /** The headers as they will be sent. */
  readonly headers: Headers;
}

/** Everything that the `Headers` constructor accepts. */
type HeadersInput = ConstructorParameters<typeof Headers>[0];

/** The parts of a Request that are used here. */
interface RequestLike {
  readonly url: string;
  readonly method?: string;
  readonly headers?: HeadersInput;
  readonly signal?: AbortSignal;
  readonly bodyUsed?: boolean;
}

/** The parts of a RequestInit that are used here. */
export interface FetchInit {
  readonly method?: string;
  readonly headers?: HeadersInput;
  readonly signal?: AbortSignal | null;
  readonly body?: unknown;
}

interface Outgoing {
  readonly request: OutgoingRequest;
  readonly signal: AbortSignal | undefined;
  /** Whether the request can be sent again. Must be called after sending, because a Request loses its body when it is sent. */
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

/** The default key, which is the URL's origin. Relative URLs share the key 'same-origin'. */
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

/** Tags of bodies that can be read more than once. Anything else may be a stream. */
const WHOLE = /^\[object (?:String|ArrayBuffer|SharedArrayBuffer|URLSearchParams|FormData|Blob|File)\]$/;

function isWhole(body: unknown): boolean {
  return (
    body === undefined ||
    body === null ||
    ArrayBuffer.isView(body) ||
    WHOLE.test(Object.prototype.toString.call(body))
  );
}
