/**
 * The client's address by the framework's own proxy setting, which an application behind a proxy has usually made already:
 * Express' `trust proxy`, Fastify's `trustProxy`, Koa's `proxy`.
 */
import { BELIEVES_ANYONE, type FrameworkAddress } from '../../http/index.ts';

interface ExpressRequest {
  readonly app?: { get?(setting: string): unknown } | undefined;
  readonly ip?: string | undefined;
}

interface FastifyRequest {
  readonly server?: object | undefined;
  /** Undefined unless `trustProxy` is set. */
  readonly ips?: readonly string[] | undefined;
}

/** The part of Koa's context that says how the application treats proxies. */
export interface KoaProxy {
  /** The application, whose `proxy` says whether it runs behind one. */
  readonly app?: { readonly proxy?: boolean; readonly maxIpsCount?: number; readonly proxyIpHeader?: string };
  /** The client's address by these settings. */
  readonly ip?: string;
}

/** Express, also below NestJS and tRPC. Undefined where `trust proxy` is not set. */
export function expressAddress(request: object): FrameworkAddress {
  const { app, ip } = request as ExpressRequest;
  if (typeof app?.get !== 'function' || !app.get('trust proxy')) return undefined;
  return believesAnyone(app, request) ? BELIEVES_ANYONE : ip;
}

/** Fastify, also below NestJS and tRPC. Undefined where `trustProxy` is not set. */
export function fastifyAddress(request: object): FrameworkAddress {
  const { server, ips } = request as FastifyRequest;
  if (server === undefined || ips === undefined) return undefined;
  return believesAnyone(server, request) ? BELIEVES_ANYONE : ips.at(-1);
}

/** Koa. Undefined where `app.proxy` is not set. */
export function koaAddress({ app, ip }: KoaProxy): FrameworkAddress {
  if (app?.proxy !== true) return undefined;
  // Without a bound, Koa takes the first entry of the list, which is whatever the client wrote.
  const isList = app.proxyIpHeader?.toLowerCase() === 'x-forwarded-for';
  return isList && !((app.maxIpsCount ?? 0) > 0) ? BELIEVES_ANYONE : ip;
}

const CLIENT = '198.51.100.1';
const PROXY = '203.0.113.1';
/** Longer than any number of proxies that an application would be told to trust. */
const HOPS = 32;

/** Applications by whether they believe any client about its own address. */
const known = new WeakMap<object, boolean>();

/** Asks the framework who the client is for a request from an unknown address that lists unknown proxies. */
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
