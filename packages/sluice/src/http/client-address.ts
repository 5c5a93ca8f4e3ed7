/** Finds the address of the client behind the trusted proxies. Addresses reported by anyone else are ignored. */
import { SluiceError } from '../internal/errors.ts';
import { checkOptionNames } from '../internal/options.ts';
import { contains, embeddedV4, formatPrefix, parseAddress, parseRange, type Range } from './ip.ts';

/** Platforms that report the client's address in a header of their own and overwrite any value that the client sent in it. */
const PLATFORMS = {
  cloudflare: { header: 'cf-connecting-ip' },
  fly: { header: 'fly-client-ip' },
  vercel: { header: 'x-vercel-forwarded-for' },
  nginx: { header: 'x-real-ip', from: ['loopback', 'private'] },
} as const;

const RANGES: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1'],
  private: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16', 'fc00::/7', 'fe80::/10'],
};

/**
 * Which proxies are trusted to report the client's address:
 * - `false`: none. The address of the connection is the client's address.
 * - a number: how many proxies a request passes before it reaches this server.
 * - IP addresses and CIDR ranges (`'10.0.0.0/8'`, `'loopback'`, `'private'`): the addresses of trusted proxies.
 * - a platform name, or `{ header }`: a header that the platform or proxy always overwrites. With `from`, the header is used
 *   only if the connection comes from one of these ranges.
 */
export type TrustProxy =
  | false
  | number
  | 'cloudflare'
  | 'fly'
  | 'vercel'
  | 'nginx'
  | (string & {})
  | readonly string[]
  | { readonly header: string; readonly from?: readonly string[] | undefined };

/** Options for finding a client's address: trusted proxies, and how many bits of an IPv6 address identify a client. */
export interface ClientAddressOptions {
  /**
   * Which proxies are trusted to report the client's address. Default for `clientAddress`: `false`. Middlewares default to the
   * framework's own proxy setting: Express' `trust proxy`, Fastify's `trustProxy`, Koa's `app.proxy`.
   */
  readonly trustProxy?: TrustProxy | undefined;
  /**
   * How many leading bits of an IPv6 address identify one client. Addresses with the same prefix count as one client, because a
   * subscriber usually has a whole prefix. Default 56. With 128, each address is limited separately. An address that embeds an
   * IPv4 address (IPv4-mapped, NAT64, 6to4) is treated as that IPv4 address.
   */
  readonly ipv6Prefix?: number | undefined;
}

/**
 * The parts of a request that `clientAddress` reads. The requests of Node and its frameworks have these parts, and so do
 * web-standard requests.
 */
export interface RequestLike {
  /** The request's headers, in which proxies report the client's address. */
  readonly headers: HeadersLike;
  /** The connection. Its address is the client's address if no proxy is trusted. */
  readonly socket?: { readonly remoteAddress?: string | undefined } | null | undefined;
  /** The address of the connection, on platforms without `socket`. */
  readonly remoteAddress?: string | undefined;
}

/** Web-standard `Headers`, or an object whose header names are in lowercase. */
export type HeadersLike =
  | { get(name: string): string | null }
  | { readonly [name: string]: string | readonly string[] | undefined };

/** Key of a connection that has no address because it is a Unix socket or its client has disconnected. */
const UNKNOWN = 'unknown';

/** Returns the address of the client behind the trusted proxies. For IPv6, returns the prefix of that address. */
export function clientAddress(request: RequestLike, options: ClientAddressOptions = {}): string {
  return clientAddressBy(options)(request);
}

/**
 * Same as `clientAddress`, but validates the options only once. `what` is the name of the function in error messages. The
 * returned function also accepts the address of the connection, for callers that already know it.
 */
export function clientAddressBy(
  options: ClientAddressOptions,
  what = 'clientAddress',
): (request: RequestLike, connection?: string) => string {
  const { trustProxy = false, ipv6Prefix = 56 } = checkOptionNames(what, options, [
    'trustProxy',
    'ipv6Prefix',
  ]);
  if (!Number.isInteger(ipv6Prefix) || ipv6Prefix < 1 || ipv6Prefix > 128)
    throw new SluiceError(
      'ERR_NUMBER',
      `${what}.ipv6Prefix`,
      ipv6Prefix,
      '',
      'must be a whole number from 1 to 128',
    );
  const claimed = claimedBy(trustProxy, `${what}.trustProxy`);
  return (request, connection = connectionOf(request)) => {
    const address = claimed(request, connection);
    if (address !== undefined) return subject(address, ipv6Prefix);
    if (request.socket) return UNKNOWN;
    throw new SluiceError('ERR_ADDRESS', 'request', request);
  };
}

export function connectionOf({ remoteAddress, socket }: RequestLike): string | undefined {
  return remoteAddress ?? socket?.remoteAddress;
}

type Claim = (request: RequestLike, connection: string | undefined) => string | undefined;

function claimedBy(trust: TrustProxy, option: string): Claim {
  if (trust === false) return (_, connection) => connection;
  if (typeof trust === 'number') {
    if (!Number.isSafeInteger(trust) || trust < 0) throw new SluiceError('ERR_TRUST_PROXY', option, trust);
    return (request, connection) => {
      const chain = forwarded(request);
      return trust === 0 || chain.length === 0 ? connection : chain[Math.max(0, chain.length - trust)];
    };
  }
  if (typeof trust === 'string' && Object.hasOwn(PLATFORMS, trust))
    return fromHeader(PLATFORMS[trust as keyof typeof PLATFORMS], option);
  if (typeof trust === 'string' || isList(trust)) return fromChain(rangesOf(trust, option));
  if (typeof trust === 'object' && trust !== null && typeof trust.header === 'string') {
    if (trust.from !== undefined && !isList(trust.from)) refuse(trust.from, option);
    return fromHeader(trust, option);
  }
  throw new SluiceError('ERR_TRUST_PROXY', option, trust);
}

/** Walks X-Forwarded-For back from the connection, past every trusted address, to the first one that is not trusted. */
function fromChain(trusted: readonly Range[]): Claim {
  const isTrusted = (text: string | undefined): boolean => {
    // A connection without an address is a Unix socket, which is always local.
    if (text === undefined) return true;
    const address = parseAddress(text);
    return address !== undefined && trusted.some((range) => contains(range, address));
  };
  return (request, connection) => {
    let client = connection;
    const chain = forwarded(request);
    for (let i = chain.length - 1; i >= 0 && isTrusted(client); i--) client = chain[i];
    return client;
  };
}

function fromHeader(
  { header, from }: { header: string; from?: readonly string[] | undefined },
  option: string,
): Claim {
  const name = header.toLowerCase();
  const trusted = from === undefined ? undefined : rangesOf(from, option);
  return (request, connection) => {
    if (trusted !== undefined && connection !== undefined) {
      const address = parseAddress(connection);
      if (address === undefined || !trusted.some((range) => contains(range, address))) return connection;
    }
    return (
      list(headerOf(request.headers, name))
        .map(withoutPort)
        .find((text) => parseAddress(text)) ?? connection
    );
  };
}

/**
 * The entries of X-Forwarded-For, oldest first. If an entry is not an address, that entry and all entries before it are dropped.
 */
function forwarded({ headers }: RequestLike): string[] {
  const chain = list(headerOf(headers, 'x-forwarded-for')).map(withoutPort);
  const bad = chain.findLastIndex((text) => parseAddress(text) === undefined);
  return chain.slice(bad + 1);
}

/** Returns a header's value, or an empty string. If Node gives several values, they are joined with commas. */
export function headerOf(headers: HeadersLike, name: string): string {
  if (typeof headers.get === 'function') return headers.get(name) ?? '';
  const value = (headers as Readonly<Record<string, string | readonly string[] | undefined>>)[name];
  return value === undefined ? '' : typeof value === 'string' ? value : value.join(',');
}

function list(value: string): string[] {
  return value === '' ? [] : value.split(',').map((part) => part.trim());
}

/** Strips the port from `1.2.3.4:80` and `[::1]:80`, which some proxies send. */
function withoutPort(text: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(text);
  if (bracketed) return bracketed[1];
  return /^[\d.]+:\d+$/.test(text) ? text.slice(0, text.indexOf(':')) : text;
}

function rangesOf(texts: string | readonly string[], option: string): Range[] {
  const words = typeof texts === 'string' ? texts.split(',').map((word) => word.trim()) : texts;
  return words.flatMap((word) =>
    Object.hasOwn(RANGES, word) ? rangesOf(RANGES[word], option) : [parseRange(word) ?? refuse(word, option)],
  );
}

function refuse(word: unknown, option: string): never {
  throw new SluiceError('ERR_TRUST_PROXY', option, word);
}

function isList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((word) => typeof word === 'string');
}

const MAPPED = /^::ffff:\d+\.[\d.]+$/;

function subject(text: string, ipv6Prefix: number): string {
  // Fast path: most addresses are IPv4, either plain or in the IPv4-mapped form that a dual-stack listener reports.
  if (!text.includes(':')) return text;
  if (MAPPED.test(text)) return text.slice(7);
  const address = parseAddress(text);
  if (address === undefined) return text;
  return embeddedV4(address) ?? formatPrefix(address, ipv6Prefix);
}
