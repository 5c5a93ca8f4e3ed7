/** The public store that sends its hits to a sluice-server. A slow or failing server does not take its callers down. */
import { algorithmsByName } from '../../algorithms/by-name.ts';
import type { Decision, Store } from '../../engine/contract.ts';
import { duration } from '../../internal/duration.ts';
import { SluiceError } from '../../internal/errors.ts';
import { checkOptionNames, functions } from '../../internal/options.ts';
import type { DenyCacheOptions } from '../../wrappers/deny-cache.ts';
import { guardedBy } from '../../wrappers/guarded-by.ts';
import { DEADLINE, type ResilientOptions } from '../../wrappers/resilient/resilient.ts';
import { remoteStore } from './remote-store.ts';

/** The request that `remote` sends. */
export interface RemoteRequest {
  /** The method, which is always POST. */
  readonly method: 'POST';
  /** The header fields, by name. */
  readonly headers: Readonly<Record<string, string>>;
  /** The hits, as JSON. */
  readonly body: string;
  /** Redirects are not followed, because the token would be sent to another server. */
  readonly redirect: 'manual';
  /** Aborts the request when the store is closed, or when the answer is no longer needed. */
  readonly signal: AbortSignal;
}

/** The parts of a response that `remote` uses. */
export interface RemoteResponse {
  /** Whether the status is a success. */
  readonly ok: boolean;
  /** The HTTP status. */
  readonly status: number;
  /** Resolves with the body. */
  text(): Promise<string>;
}

/** The platform's `fetch`, or a function that replaces it, such as the `fetch` of a service binding on Cloudflare Workers. */
export type RemoteFetch = (url: string, init: RemoteRequest) => Promise<RemoteResponse>;

/** Options of `remote`. */
export interface RemoteOptions extends ResilientOptions {
  /** The token that the server requires, which is sent as `Authorization: Bearer …`. Default: no token. */
  readonly token?: string | undefined;
  /** Whether to answer repeated denials from memory, for at most two seconds, without asking the server. Default false. */
  readonly denyCache?: boolean | DenyCacheOptions | undefined;
  /** Sends the requests instead of the global `fetch`, for example through a service binding or a proxy. */
  readonly fetch?: RemoteFetch | undefined;
}

/**
 * Creates a store that sends its hits to a sluice-server, which was started with `--remote`. The server's store keeps the counts,
 * and the server's clock provides the time. The store needs only `fetch`, so it runs on every runtime.
 */
export function remote(url: string | URL, options: RemoteOptions = {}): Store<Promise<Decision>> {
  const {
    token,
    denyCache,
    fetch: send,
    ...rest
  } = checkOptionNames('remote', options, [
    'token',
    'deadline',
    'onFailure',
    'maxInFlight',
    'onEvent',
    'denyCache',
    'fetch',
  ]);
  functions('remote', options, ['fetch']);
  // The token is checked now, because a line break in it would end the header, and `fetch` rejects other invalid characters only
  // when it is called.
  if (token !== undefined && (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token)))
    throw new SluiceError('ERR_OPTIONS', 'remote.token', shape(token), '', 'must be text without spaces');
  const store = remoteStore({
    endpoint: endpointOf(url),
    token,
    // Reads the global `fetch` at each call, so that a test can replace it.
    send: send ?? ((to, init) => fetch(to, init)),
    algorithms: algorithmsByName('remote'),
    deadline: duration('remote.deadline', rest.deadline ?? DEADLINE),
  });
  return guardedBy(store, rest, denyCache);
}

/** The URL of the route that decides hits. The URL may have a path, because the server may be behind a proxy. */
function endpointOf(url: string | URL): string {
  const text = String(url);
  if (!URL.canParse(text)) throw invalidUrl(url, 'it is not a URL');
  const { protocol, username, password, origin, pathname } = new URL(text);
  if (protocol !== 'http:' && protocol !== 'https:') throw invalidUrl(url, 'use http: or https:');
  if (username !== '' || password !== '')
    throw invalidUrl(origin, 'pass the token as remote.token instead of in the URL');
  return `${origin}${pathname.replace(/\/+$/, '')}/v1/hits`;
}

function invalidUrl(url: unknown, hint: string): SluiceError {
  const words = 'must be the URL of a sluice-server, such as http://localhost:8080';
  return new SluiceError('ERR_OPTIONS', 'remote.url', url, hint, words);
}

/** Describes a token in an error message without revealing it. */
function shape(token: unknown): unknown {
  return typeof token === 'string' ? `${token.length} characters` : token;
}
