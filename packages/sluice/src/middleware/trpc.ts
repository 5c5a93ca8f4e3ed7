/** Middleware for tRPC 11, for use as in `t.procedure.use(rateLimit({ limiter, key: ({ ctx }) => ctx.user.id }))`. */
import {
  createGuard,
  type GuardLimiter,
  type GuardOptions,
  type RequestLike,
  type Verdict,
  type View,
} from '../http/index.ts';
import { expressAddress, fastifyAddress } from './shared/framework-address.ts';
import { untilOver } from './shared/lifetime.ts';

/** The arguments of a tRPC middleware that the limiter uses. */
export interface TrpcCall<C = unknown> {
  /** The application's context. */
  readonly ctx: C;
  /** The path of the procedure. */
  readonly path: string;
  /** The type of the procedure: 'query', 'mutation' or 'subscription'. */
  readonly type: string;
  /** A signal that is aborted when the client disconnects. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Identifies a call, because tRPC creates one such function per call of a batch and passes it to all middlewares of that call.
   */
  readonly getRawInput?: (() => unknown) | undefined;
}

/** The values that adapters pass to `createContext`, if the application includes them in its context. */
interface AdapterContext {
  readonly req?: RequestLike;
  readonly res?: { readonly headersSent?: boolean; setHeader?(name: string, value: string): unknown };
  readonly resHeaders?: { set(name: string, value: string): void };
}

const adapterContext = ({ ctx }: TrpcCall): AdapterContext => ctx ?? {};

const trpcView: View<TrpcCall> = {
  addressed: (call) => adapterContext(call).req ?? { headers: {} },
  identity: (call) => call.getRawInput ?? call,
  byFramework(call) {
    const { req = {} } = adapterContext(call);
    return expressAddress(req) ?? fastifyAddress(req);
  },
};

/** The error that denies a call. tRPC treats it as one of its own errors, because its name is 'TRPCError'. */
export class TooManyRequests extends Error {
  /** The tRPC error code. It is 'SERVICE_UNAVAILABLE' if the store cannot be reached. */
  readonly code: 'TOO_MANY_REQUESTS' | 'SERVICE_UNAVAILABLE';
  /** The decision, or undefined if the store cannot be reached. */
  readonly decision: Verdict['decision'];

  constructor(decision: Verdict['decision']) {
    super(decision === undefined ? 'rate limits temporarily unavailable' : 'too many requests');
    this.name = 'TRPCError';
    this.code = decision === undefined ? 'SERVICE_UNAVAILABLE' : 'TOO_MANY_REQUESTS';
    this.decision = decision;
  }
}

/**
 * Returns a middleware for `procedure.use`. The default key is the client's address from `ctx.req`. Headers are set on `ctx.res` or
 * `ctx.resHeaders`, if the context has one of them.
 */
export function rateLimit<C = unknown>(
  options: GuardOptions<TrpcCall<C>> | GuardLimiter,
): <T>(call: TrpcCall<C> & { next(): Promise<T> }) => Promise<T> {
  const guard = createGuard<TrpcCall<C>>(options, trpcView);
  return async (call) => {
    const verdict = await guard(call);
    setHeaders(adapterContext(call), verdict);
    if (verdict.refusal !== undefined) throw new TooManyRequests(verdict.decision);
    const { settle } = verdict;
    if (settle === undefined) return call.next();
    let isSettled = false;
    const end = (status: number, aborted = false): void => {
      if (isSettled) return;
      isSettled = true;
      call.signal?.removeEventListener('abort', leave);
      void settle({ status, aborted });
    };
    // If the client disconnects before its subscription has started, the iterable is never read, so only the signal shows that the
    // call is over.
    const leave = (): void => end(0, true);
    try {
      const result = await call.next();
      const status = statusOf(result);
      if (status !== 200) end(status);
      call.signal?.addEventListener('abort', leave, { once: true });
      if (call.signal?.aborted) leave();
      return isSettled ? result : untilDataIsOver(result, end);
    } catch (error) {
      end(500);
      throw error;
    }
  };
}

/** Calls `end` when the result's data ends. A subscription's data ends when its iterable or observable ends. */
function untilDataIsOver<T>(result: T, end: (status: number) => void): T {
  const { data } = result as { data?: unknown };
  return { ...result, data: untilOver(data, (hasFailed) => end(hasFailed ? 500 : 200)) };
}

function setHeaders({ res, resHeaders }: AdapterContext, { headers }: Verdict): void {
  for (const [name, value] of headers) {
    resHeaders?.set(name, value);
    // A streamed batch sends its headers before its calls are checked.
    if (res?.headersSent === false) res.setHeader?.(name, value);
  }
}

const STATUS: Readonly<Record<string, number>> = {
  BAD_REQUEST: 400,
  PARSE_ERROR: 400,
  UNAUTHORIZED: 401,
  PAYMENT_REQUIRED: 402,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  CONFLICT: 409,
  UNPROCESSABLE_CONTENT: 422,
  TOO_MANY_REQUESTS: 429,
};

function statusOf(result: unknown): number {
  const { ok, error } = result as { ok?: boolean; error?: { code?: string } };
  return ok === false ? (STATUS[error?.code ?? ''] ?? 500) : 200;
}
