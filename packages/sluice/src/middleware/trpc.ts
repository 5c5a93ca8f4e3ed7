/** tRPC 11: `t.procedure.use(rateLimit({ limiter, key: ({ ctx }) => ctx.user.id }))`. */
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

/** What a middleware of tRPC is told. */
export interface TrpcCall<C = unknown> {
  /** The application's context. */
  readonly ctx: C;
  /** Of the procedure. */
  readonly path: string;
  /** 'query', 'mutation' or 'subscription'. */
  readonly type: string;
  /** Aborted when the client leaves. */
  readonly signal?: AbortSignal | undefined;
  /** A function of its own for each call of a batch, the same for all its middlewares: that is what a call is known by. */
  readonly getRawInput?: (() => unknown) | undefined;
}

/** What adapters put into a context, if its owner passes it on. */
interface Carried {
  readonly req?: RequestLike;
  readonly res?: { readonly headersSent?: boolean; setHeader?(name: string, value: string): unknown };
  readonly resHeaders?: { set(name: string, value: string): void };
}

const carried = ({ ctx }: TrpcCall): Carried => ctx ?? {};

const trpcView: View<TrpcCall> = {
  addressed: (call) => carried(call).req ?? { headers: {} },
  identity: (call) => call.getRawInput ?? call,
  byFramework(call) {
    const { req = {} } = carried(call);
    return expressAddress(req) ?? fastifyAddress(req);
  },
};

/** What tRPC takes for its own error: it goes by the name. */
export class TooManyRequests extends Error {
  /** tRPC's own; 'SERVICE_UNAVAILABLE' when the store could not be asked. */
  readonly code: 'TOO_MANY_REQUESTS' | 'SERVICE_UNAVAILABLE';
  /** Undefined: the store could not be asked. */
  readonly decision: Verdict['decision'];

  constructor(decision: Verdict['decision']) {
    super(decision === undefined ? 'the limits cannot be checked now' : 'too many requests');
    this.name = 'TRPCError';
    this.code = decision === undefined ? 'SERVICE_UNAVAILABLE' : 'TOO_MANY_REQUESTS';
    this.decision = decision;
  }
}

/** The default key is the address of `ctx.req`; headers go to `ctx.res` or `ctx.resHeaders`, if they are there. */
export function rateLimit<C = unknown>(
  options: GuardOptions<TrpcCall<C>> | GuardLimiter,
): <T>(call: TrpcCall<C> & { next(): Promise<T> }) => Promise<T> {
  const guard = createGuard<TrpcCall<C>>(options, trpcView);
  return async (call) => {
    const verdict = await guard(call);
    announce(carried(call), verdict);
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
    // A client that leaves before its subscription has begun: nobody reads the iterable.
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

/** The result of a call, which ends with its data: a subscription when its iterable or observable does. */
function untilDataIsOver<T>(result: T, end: (status: number) => void): T {
  const { data } = result as { data?: unknown };
  return { ...result, data: untilOver(data, (hasFailed) => end(hasFailed ? 500 : 200)) };
}

function announce({ res, resHeaders }: Carried, { headers }: Verdict): void {
  for (const [name, value] of headers) {
    resHeaders?.set(name, value);
    // A streamed batch is on its way before its calls are decided on.
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
