/** Identifies HTTP requests in log lines. An id is created only if a line is written, so most requests cost nothing. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** Ids of other forms are replaced, because an id is copied to the log and to the response. */
const VALID = /^[\w.:+/=@-]{1,128}$/;

/** Property of a request that holds the id that was created for it. */
const CREATED: unique symbol = Symbol('request id');

type Identified = Pick<IncomingMessage, 'headers'> & { [CREATED]?: string };

/** The id in the header X-Request-Id, if it is valid. */
export function validRequestId(given: unknown): string | undefined {
  return typeof given === 'string' && VALID.test(given) ? given : undefined;
}

/** The id of a request: the one in its header or, if there is no valid one, a new id that stays the same for the request. */
export function requestIdOf(request: Identified): string {
  const known = knownRequestId(request);
  if (known !== undefined) return known;
  request[CREATED] = randomUUID();
  return request[CREATED];
}

/** The id of a request. Undefined if the client sent none and none was created. */
export function knownRequestId(request: Identified): string | undefined {
  return request[CREATED] ?? validRequestId(request.headers['x-request-id']);
}
