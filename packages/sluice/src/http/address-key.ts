/**
 * Computes the default key of a guard, which is the client's address. `trustProxy` determines how the address is found. Without
 * this option, the framework's own proxy setting applies.
 */
import { warnOnce } from '../internal/warn.ts';
import {
  clientAddressBy,
  type ClientAddressOptions,
  connectionOf,
  headerOf,
  type HeadersLike,
  type RequestLike,
} from './client-address.ts';

/**
 * Returned for a framework that trusts every proxy, such as Express with `trust proxy: true`. With such a setting, clients can
 * forge their address.
 */
export const BELIEVES_ANYONE: unique symbol = Symbol.for('sluice.believes-anyone');

/**
 * The client's address according to the framework's own proxy setting, or undefined if the application has not configured that
 * setting.
 */
export type FrameworkAddress = string | typeof BELIEVES_ANYONE | undefined;

/** How to find the client's address in a framework's request. */
export interface Addressed<Q> {
  /** Returns the request's headers and connection. */
  addressed(request: Q): RequestLike;
  /** Returns the client's address according to the framework's own proxy setting, if the framework has one. */
  byFramework?(request: Q): FrameworkAddress;
}

/**
 * Returns the function that computes the default key. If `trustProxy` is given, even as `false`, it decides which proxies are
 * trusted. Otherwise, the framework's proxy setting decides. If neither is set, no proxy is trusted.
 */
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
    const addressed = view.addressed(request);
    const connection = own ?? connectionOf(addressed);
    if (!isWarned && isForwarded(addressed.headers, connection)) {
      isWarned = true;
      warnOnce('SLUICE_PROXY_NOT_TRUSTED', NOT_TRUSTED);
    }
    return addressOf(addressed, connection);
  };
}

const TRUSTS_ANYONE =
  'the framework is set to trust every proxy, so clients could choose their own address and with it their own limit. ' +
  'The rate limiter uses the nearest public address in X-Forwarded-For instead. ' +
  "Set the framework's proxy setting, or rateLimit's trustProxy option, to the number or the addresses of your proxies.";

const NOT_TRUSTED =
  'requests carry X-Forwarded-For, but no proxy is trusted, so all clients behind the same proxy share one limit. ' +
  "Set rateLimit's trustProxy option, or the framework's own proxy setting, to the number or the addresses of your proxies; " +
  'set trustProxy to false if clients connect directly.';

/**
 * Whether X-Forwarded-For is set but does not contain the address that was found. On some platforms, the address of the connection
 * is already the client's address, and the header contains that address.
 */
function isForwarded(headers: HeadersLike, client: string | undefined): boolean {
  const list = headerOf(headers, 'x-forwarded-for');
  return list !== '' && (client === undefined || !list.includes(client));
}
