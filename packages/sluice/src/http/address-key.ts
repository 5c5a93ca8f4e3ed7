/** The default key of a guard: the client's address, by its own options or else by the framework's proxy setting. */
import { warnOnce } from '../internal/warn.ts';
import {
  clientAddressBy,
  type ClientAddressOptions,
  headerOf,
  type HeadersLike,
  type RequestLike,
} from './client-address.ts';

/** What a framework returns that believes any client about its own address, such as Express with `trust proxy: true`. */
export const BELIEVES_ANYONE: unique symbol = Symbol('believes anyone');

/** The client's address by the framework's own proxy setting. Undefined: the setting was not made. */
export type FrameworkAddress = string | typeof BELIEVES_ANYONE | undefined;

/** Where a framework keeps a request's address. */
export interface Addressed<Q> {
  /** Headers and connection. */
  addressed(request: Q): RequestLike;
  /** The address by the framework's own proxy setting, where frameworks have one. */
  byFramework?(request: Q): FrameworkAddress;
}

/** `trustProxy` decides if it is given, `false` included. Otherwise the framework's setting does; without one, nobody is trusted. */
export function addressKeyOf<Q>(options: ClientAddressOptions, view: Addressed<Q>): (request: Q) => string {
  const { trustProxy, ipv6Prefix } = options;
  const addressOf = clientAddressBy({ trustProxy, ipv6Prefix }, 'rateLimit');
  if (trustProxy !== undefined) return (request) => addressOf(view.addressed(request));
  const nearest = clientAddressBy({ trustProxy: 'loopback, private', ipv6Prefix }, 'rateLimit');
  let isWarned = false;
  return (request) => {
    const own = view.byFramework?.(request);
    if (own === BELIEVES_ANYONE) {
      warnOnce('SLUICE_PROXY_TRUSTS_ANYONE', TRUSTS_ANYONE);
      return nearest(view.addressed(request));
    }
    const { headers, remoteAddress, socket } = view.addressed(request);
    const connection = own ?? remoteAddress ?? socket?.remoteAddress;
    if (!isWarned && isForwarded(headers, connection)) {
      isWarned = true;
      warnOnce('SLUICE_PROXY_NOT_TRUSTED', NOT_TRUSTED);
    }
    return addressOf({ headers, socket, remoteAddress: connection });
  };
}

const TRUSTS_ANYONE =
  'the framework is set to trust every proxy, so clients could choose their own address and with it their own limit. ' +
  'The rate limiter uses the nearest public address in X-Forwarded-For instead. ' +
  "Set the framework's proxy setting, or trustProxy of rateLimit, to the number or the addresses of your proxies.";

const NOT_TRUSTED =
  'requests carry X-Forwarded-For, but no proxy is trusted, so all clients behind the same proxy share one limit. ' +
  "Set trustProxy of rateLimit, or the framework's own proxy setting, to the number or the addresses of your proxies; " +
  'set trustProxy to false if clients connect directly.';

/** Whether a proxy names other clients than the one found. On some platforms the connection has the client's own address. */
function isForwarded(headers: HeadersLike, client: string | undefined): boolean {
  const list = headerOf(headers, 'x-forwarded-for');
  return list !== '' && (client === undefined || !list.includes(client));
}
