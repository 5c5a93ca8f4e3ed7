/**
 * The client's address according to the framework's own proxy setting, which an application behind a proxy has usually configured
 * already. The settings are Express's `trust proxy`, Fastify's `trustProxy` and Koa's `proxy`.
 */
import { BELIEVES_ANYONE, type FrameworkAddress } from '../../http/index.ts';

interface ExpressRequest {
  readonly app?: { get?(setting: string): unknown } | undefined;
  readonly ip?: string | undefined;
}

interface FastifyRequest {
  readonly server?: object | undefined;
  /** Addresses of the client and the proxies. Undefined unless `trustProxy` is set. */
  readonly ips?: readonly string[] | undefined;
}

/** The parts of Koa's context that depend on the application's proxy settings. */
export interface KoaProxy {
  /** The application. Its `proxy` setting says whether it runs behind a proxy. */
  readonly app?: { readonly proxy?: boolean; readonly maxIpsCount?: number; readonly proxyIpHeader?: string };
  /** The client's address according to these settings. */
  readonly ip?: string;
}

/** The client's address according to Express, even if NestJS or tRPC runs on top of it. Undefined if `trust proxy` is not set. */
export function expressAddress(request: object): FrameworkAddress {
  const { app } = request as ExpressRequest;
  if (typeof app?.get !== 'function' || !app.get('trust proxy')) return undefined;
  // `ip` is a getter that parses X-Forwarded-For, so it is read only where it is needed.
  return believesAnyone(app, request) ? BELIEVES_ANYONE : (request as ExpressRequest).ip;
}

/** The client's address according to Fastify, even if NestJS or tRPC runs on top of it. Undefined if `trustProxy` is not set. */
export function fastifyAddress(request: object): FrameworkAddress {
  const { server, ips } = request as FastifyRequest;
  if (server === undefined || ips === undefined) return undefined;
  return believesAnyone(server, request) ? BELIEVES_ANYONE : ips.at(-1);
}

/** The client's address according to Koa. Undefined if `app.proxy` is not set. */
export function koaAddress(context: KoaProxy): FrameworkAddress {
  const { app } = context;
  if (app?.proxy !== true) return undefined;
  // Without a maximum, Koa uses the first entry of the list, which the client can choose.
  const isList = app.proxyIpHeader?.toLowerCase() === 'x-forwarded-for';
  return isList && !((app.maxIpsCount ?? 0) > 0) ? BELIEVES_ANYONE : context.ip;
}

const CLIENT = '198.51.100.1';
const PROXY = '203.0.113.1';
/** Number of proxies in the synthetic request. It is larger than the number of proxies that any real application has. */
const HOPS = 32;

/** Whether each application that was examined trusts every proxy. */
const known = new WeakMap<object, boolean>();

/**
 * Detects whether the framework trusts every proxy, by reading the client's address from a synthetic request with unknown
 * proxies.
 */
function believesAnyone(app: object, request: object): boolean {
  let answer = known.get(app);
  if (answer === undefined) {
    const headers = { 'x-forwarded-for': [CLIENT, ...Array(HOPS).fill(PROXY)].join(', ') };
    const socket = { remoteAddress: PROXY };
    const raw = { headers, socket, connection: socket };
    const stranger = Object.create(request, {
      raw: { value: raw },
      headers: { value: headers },
      socket: { value: socket },
      connection: { value: socket },
    }) as { readonly ip?: string };
    answer = stranger.ip === CLIENT;
    known.set(app, answer);
  }
  return answer;
}
