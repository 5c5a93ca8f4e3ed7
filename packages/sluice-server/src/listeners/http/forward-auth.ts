/**
 * Handles GET /v1/forward-auth, which is a take for proxies that send a GET request before they forward a request, and then look
 * only at the status: auth_request of nginx, forward_auth of Caddy, forwardAuth of Traefik.
 */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { clientAddress } from 'sluice/http';
import { UsageError } from '../../config/usage-error.ts';
import type { Core } from '../../core/core.ts';
import { detachedCopy } from '../../core/detached-copy.ts';
import type { ListenerOptions } from '../listener.ts';
import { HttpProblem } from './reply.ts';
import type { Route } from './routes.ts';
import { answerV1 } from './v1.ts';

/** Statuses that a client can request for a denial. There is no 200, because a proxy would let the denied request pass. */
const STATUSES = ['401', '403', '429'];
/** Members of a take that are numbers. All values in a query are text. */
const NUMBERS = ['cost', 'keep'];

type Options = Pick<ListenerOptions, 'maxKey' | 'log' | 'keyHeader' | 'limitHeader'>;

export function forwardAuthRoute(core: Core, options: Options): Route {
  const { maxKey, log, keyHeader, limitHeader } = options;

  function operationOf(request: IncomingMessage, given: Readonly<Record<string, string>>): object {
    const {
      limit = given['policies'] === undefined ? headerOf(request, limitHeader) : undefined,
      key = keyIn(request),
      ...others
    } = given;
    if (limit === undefined && given['policies'] === undefined)
      throw new HttpProblem('bad-request', `limit is missing; ${whereToPut('limit', limitHeader)}`);
    if (key === undefined || key === '')
      throw new HttpProblem(
        'bad-request',
        `key is ${key === '' ? 'empty' : 'missing'}; ${whereToPut('key', keyHeader)}`,
      );
    const members = Object.entries(others).map(([name, text]) => [
      name,
      NUMBERS.includes(name) ? numberIn(name, text) : text,
    ]);
    return {
      ...Object.fromEntries(members),
      ...(limit !== undefined && { limit }),
      key: core.keepsKeys ? detachedCopy(key) : key,
    };
  }

  /**
   * Returns the key in the header. An IPv6 address is replaced by its prefix, as in the library, because a subscriber can use all
   * addresses with that prefix.
   */
  function keyIn(request: IncomingMessage): string | undefined {
    const key = headerOf(request, keyHeader);
    return key !== undefined && isIP(key) > 0 ? clientAddress({ headers: {}, remoteAddress: key }) : key;
  }

  return {
    method: 'GET',
    verb: 'take',
    statuses: [200, 400, 404, 429, 503],
    isFromProxy: ({ headers }) =>
      [keyHeader, limitHeader].some(
        (name) => name !== undefined && isCustom(name) && headers[name.toLowerCase()] !== undefined,
      ),
    answer(request, query, _body, grant) {
      const { status = '429', ...given } = parametersIn(query);
      if (!STATUSES.includes(status))
        throw new HttpProblem('bad-request', `status must be one of ${STATUSES.join(', ')}`);
      const operation = operationOf(request, given);
      return answerV1(core, 'take', operation, {
        maxKey,
        maxBatch: 1,
        log,
        grant,
        request,
        denied: Number(status),
      });
    },
  };
}

/**
 * Throws a UsageError unless the header can contain a key or a limit. X-Forwarded-For and Forwarded are rejected, because proxies
 * only append to them, so clients could choose their own key.
 */
export function checkHeaderName(flag: string, name: string | undefined): void {
  if (name === undefined) return;
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name))
    throw new UsageError(`--${flag} must be the name of a header; got ${JSON.stringify(name)}`);
  if (/^(x-forwarded-for|forwarded)$/i.test(name))
    throw new UsageError(
      `--${flag} must not be ${name}, which may contain values that the client wrote. Use a header that your proxy overwrites, such as X-Real-IP`,
    );
}

/**
 * Whether no web page can make a browser send the header to another site. Browsers first send an OPTIONS request to ask whether
 * the page may send a custom header, and this server does not permit it.
 */
function isCustom(name: string): boolean {
  return /^x-/i.test(name);
}

/** The value of a header. A header that occurs twice is an error, because one of the values may have been written by the client. */
function headerOf(request: IncomingMessage, name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  const [value, ...others] = request.headersDistinct[name.toLowerCase()] ?? [];
  if (others.length > 0)
    throw new HttpProblem(
      'bad-request',
      `the header ${name} must occur only once; the proxy must overwrite it`,
    );
  return value === undefined ? undefined : utf8In(name, value);
}

/** Decodes the value of a header as UTF-8, because Node decodes headers as Latin-1. */
function utf8In(name: string, value: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(value, 'latin1'));
  } catch {
    throw new HttpProblem('bad-request', `the header ${name} must be UTF-8`);
  }
}

/** A parameter that occurs twice is an error, because a client's value that was not encoded may contain '&'. */
function parametersIn(query: string): Readonly<Record<string, string>> {
  const given: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [name, value] of new URLSearchParams(query)) {
    if (name in given) throw new HttpProblem('bad-request', `${name.slice(0, 100)} must be given only once`);
    given[name] = value;
  }
  return given;
}

function numberIn(name: string, text: string): number {
  if (!/^\d+(\.\d+)?$/.test(text))
    throw new HttpProblem(
      'bad-request',
      `${name} must be a number; got ${JSON.stringify(text.slice(0, 60))}`,
    );
  return Number(text);
}

function whereToPut(name: string, header: string | undefined): string {
  return header === undefined
    ? `add ${name}=… to the query, or start the server with --${name}-header`
    : `add ${name}=… to the query, or send the header ${header}`;
}
