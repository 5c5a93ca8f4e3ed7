/** Checks whether the HTTP listener may answer a request. */
import type { IncomingMessage } from 'node:http';
import { secondsOf } from '../auth-attempts.ts';
import {
  CERTIFIED,
  checkVerb,
  Forbidden,
  type Grant,
  grantFor,
  isAdminVerb,
  LOCAL_ADMIN,
  NO_TOKEN,
  type TokenVerb,
} from '../grants.ts';
import { type ListenerOptions, isLoopback } from '../listener.ts';
import { HttpProblem } from './reply.ts';

type Access = Pick<
  ListenerOptions,
  'tokens' | 'adminTokens' | 'adminWithoutToken' | 'attempts' | 'address' | 'tls'
>;

/**
 * Returns what the client may do. Throws an HttpProblem if the client must send a token, or a Forbidden if it may not use the
 * verb.
 */
export function checkAccess(request: IncomingMessage, verb: TokenVerb, options: Access): Grant {
  const grant = grantOf(request, verb, options);
  checkVerb(grant, verb);
  return grant;
}

/** Whether the client may reset keys, and so may send the synthetic traffic that the Live page offers. */
export function isAdmin(request: IncomingMessage, options: Access): boolean {
  try {
    checkAccess(request, 'reset', options);
    return true;
  } catch (error) {
    if (error instanceof HttpProblem || error instanceof Forbidden) return false;
    throw error;
  }
}

function grantOf(request: IncomingMessage, verb: TokenVerb, options: Access): Grant {
  const { tokens, adminTokens, tls } = options;
  const isAdmin = isAdminVerb(verb);
  if (tokens !== undefined || (isAdmin && adminTokens !== undefined)) return checkToken(request, options);
  if (!isAdmin) return NO_TOKEN;
  if (tls?.ca !== undefined) return CERTIFIED;
  checkLocal(request, options);
  return LOCAL_ADMIN;
}

function checkToken(request: IncomingMessage, options: Access): Grant {
  const { tokens, attempts } = options;
  const shown = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
  const refusal = unauthorized(tokens === undefined ? 'an admin token is required' : undefined);
  if (shown === '') throw refusal;
  const client = attempts?.clientOf(request) ?? '';
  const wait = secondsOf(attempts?.waitOf(client) ?? 0);
  if (wait > 0)
    throw new HttpProblem('too-many-attempts', `Too many failed attempts. Retry in ${wait} s.`, {}, [
      ['Retry-After', String(wait)],
      ['Connection', 'close'],
    ]);
  const grant = grantFor(shown, options);
  if (grant !== undefined) return grant;
  attempts?.failed(client, shown);
  throw refusal;
}

/**
 * If no token is configured, a request from this machine cannot be distinguished from an external request that a local proxy
 * forwards, because many proxies add no header. So resetting and blocking must be allowed explicitly, and even then the request
 * must look local.
 */
function checkLocal({ headers }: IncomingMessage, { adminWithoutToken, address }: Access): void {
  const forbid = (reason: string): HttpProblem =>
    new HttpProblem('forbidden', `this server has no admin token, so ${reason}`);
  if (adminWithoutToken !== true || !isLoopback(address))
    throw forbid('keys cannot be reset or blocked. Start the server with --admin-token-file.');
  if (Object.keys(headers).some((name) => FORWARDED.test(name)))
    throw forbid('requests forwarded by a proxy cannot reset or block keys');
  if (!OWN_NAME.test(headers.host ?? 'localhost'))
    throw forbid('requests that reset or block keys must be sent to localhost');
}

/** Headers that proxies add to requests they forward. */
const FORWARDED = /^(forwarded|via|x-forwarded(-.*)?|x-real-ip|x-envoy-.*|.*-(client|connecting)-ip)$/;

/**
 * Matches host names of this machine, which prevents DNS rebinding. A web page can point its own host name to this machine, but
 * the browser then sends that name, which does not match.
 */
const OWN_NAME = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i;

function unauthorized(detail?: string): HttpProblem {
  return new HttpProblem('unauthorized', detail, {}, [['WWW-Authenticate', 'Bearer realm="sluice"']]);
}

/**
 * Rejects cross-origin requests, because any web page can make a browser on this machine send requests. Browsers add an Origin
 * header to most cross-origin requests, but not to a GET whose response the page cannot read, such as an image. Such a GET has a
 * Sec-Fetch-Site header.
 */
export function checkOrigin({ headers }: IncomingMessage): void {
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'] ?? 'none';
  const isForeign = origin !== undefined && (!URL.canParse(origin) || new URL(origin).host !== host);
  // 'none' means that the user typed the address.
  if (isForeign || (site !== 'same-origin' && site !== 'none')) throw new HttpProblem('foreign-origin');
}
