/** Who asks: the address of a client behind the proxies that are trusted, and no other. */
import { SluiceError } from '../internal/errors.ts';
import { checkOptionNames } from '../internal/options.ts';
import { contains, embeddedV4, formatPrefix, parseAddress, parseRange, type Range } from './ip.ts';

/** Platforms that put the client's address into a header of their own, and overwrite what the client put there. */
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
 * false: nobody; the address of the connection counts. A number: so many proxies stand before us.
 * CIDRs ('10.0.0.0/8', 'loopback', 'private'): whoever connects from there is believed about who came before.
 * A platform, or a header of your own that a proxy overwrites; with `from`, only if the connection comes from there.
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

/** Which proxies are believed, and how much of an address counts. */
export interface ClientAddressOptions {
  /**
   * Default `false` for `clientAddress`. Middlewares use the framework's own proxy setting by default: Express' `trust proxy`,
   * Fastify's `trustProxy`, Koa's `app.proxy`.
   */
  readonly trustProxy?: TrustProxy | undefined;
  /**
   * Leading bits of an IPv6 address that identify one client, since one subscriber holds a whole prefix. Default 56; 128
   * limits each address separately. An address that embeds an IPv4 address (IPv4-mapped, NAT64, 6to4) counts as that one.
   */
  readonly ipv6Prefix?: number | undefined;
}

/** What is read of a request: Node's and the frameworks' on top of it, or the web standard's. */
export interface RequestLike {
  /** Where proxies say who came before. */
  readonly headers: HeadersLike;
  /** Whose address counts where no proxy is trusted. */
  readonly socket?: { readonly remoteAddress?: string | undefined } | null | undefined;
  /** Of the connection, where a platform tells it otherwise. */
  readonly remoteAddress?: string | undefined;
}

/** The web standard's, or an object with names in small letters. */
export type HeadersLike =
  | { get(name: string): string | null }
  | { readonly [name: string]: string | readonly string[] | undefined };

/** What a connection without an address is called: a Unix socket, or a client that has gone. */
const UNKNOWN = 'unknown';

/** Returns the address of the client behind the trusted proxies; for IPv6, its prefix. */
export function clientAddress(request: RequestLike, options: ClientAddressOptions = {}): string {
  return clientAddressBy(options)(request);
}

/** Reads the options once, for middlewares. `what`: the function that was called with them. */
export function clientAddressBy(
  options: ClientAddressOptions,
  what = 'clientAddress',
): (request: RequestLike) => string {
  const { trustProxy = false, ipv6Prefix = 56 } = checkOptionNames(what, options, [
    'trustProxy',
    'ipv6Prefix',
  ]);
  if (!Number.isInteger(ipv6Prefix) || ipv6Prefix < 1 || ipv6Prefix > 128)
    throw new SluiceError('ERR_NUMBER', `${what}.ipv6Prefix`, ipv6Prefix, '1 to 128');
  const claimed = claimedBy(trustProxy, `${what}.trustProxy`);
  return (request) => {
    const connection = request.remoteAddress ?? request.socket?.remoteAddress;
    const address = claimed(request, connection);
    if (address !== undefined) return subject(address, ipv6Prefix);
    if (request.socket) return UNKNOWN;
    throw new SluiceError('ERR_ADDRESS', 'request', request);
  };
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

/** Back from the connection, over every address that is trusted, to the first that is not. */
function fromChain(trusted: readonly Range[]): Claim {
  const isTrusted = (text: string | undefined): boolean => {
    // A connection without an address is a Unix socket: local.
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

/** X-Forwarded-For, oldest first, from the newest back to the first entry that is no address. */
function forwarded({ headers }: RequestLike): string[] {
  const chain = list(headerOf(headers, 'x-forwarded-for')).map(withoutPort);
  const bad = chain.findLastIndex((text) => parseAddress(text) === undefined);
  return chain.slice(bad + 1);
}

/** A header's value, or an empty string. Node lists some headers by value: they are joined. */
export function headerOf(headers: HeadersLike, name: string): string {
  if (typeof headers.get === 'function') return headers.get(name) ?? '';
  const value = (headers as Readonly<Record<string, string | readonly string[] | undefined>>)[name];
  return value === undefined ? '' : typeof value === 'string' ? value : value.join(',');
}

function list(value: string): string[] {
  return value === '' ? [] : value.split(',').map((part) => part.trim());
}

/** `1.2.3.4:80` and `[::1]:80`, as some proxies write them. */
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
  // Fast path: most addresses are IPv4, written alone or IPv4-mapped by a dual-stack listener.
  if (!text.includes(':')) return text;
  if (MAPPED.test(text)) return text.slice(7);
  const address = parseAddress(text);
  if (address === undefined) return text;
  return embeddedV4(address) ?? formatPrefix(address, ipv6Prefix);
}
