/** The response of a route, as data. Only http.ts writes it to a socket. */
import type { ServerResponse } from 'node:http';
import type { DeniedTake } from '../request-log.ts';
import type { Asked } from '../../telemetry/traces/tracer.ts';

export interface Reply {
  readonly status: number;
  readonly type: string;
  readonly body: string | Buffer;
  readonly headers?: readonly (readonly [name: string, value: string])[];
  /** Describes the request for its span. */
  readonly asked?: () => Asked;
  /** The takes that were denied, for the log. Undefined if none was. */
  readonly denied?: (() => readonly DeniedTake[]) | undefined;
  /** Writes the response after the headers. Used instead of `body`. */
  readonly stream?: (response: ServerResponse) => void;
}

export const JSON_TYPE = 'application/json; charset=utf-8';
const PROBLEM_TYPE = 'application/problem+json; charset=utf-8';

export function json(value: unknown, status = 200, headers: Reply['headers'] = []): Reply {
  return { status, type: JSON_TYPE, body: JSON.stringify(value), headers };
}

export function text(body: string, status = 200, type = 'text/plain; charset=utf-8'): Reply {
  return { status, type, body };
}

/** Problem details (RFC 9457). */
export interface ProblemBody {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail?: string;
  readonly [more: string]: unknown;
}

export type ProblemKind =
  | 'bad-request'
  | 'unauthorized'
  | 'foreign-origin'
  | 'forbidden'
  | 'not-found'
  | 'unknown-limit'
  | 'method-not-allowed'
  | 'too-large'
  | 'too-many-attempts'
  | 'store-unavailable'
  | 'unavailable'
  | 'internal-error';

const TITLES: Readonly<Record<ProblemKind, readonly [status: number, title: string]>> = {
  'bad-request': [400, 'Invalid request'],
  unauthorized: [401, 'A valid token is required'],
  'foreign-origin': [403, 'Cross-origin requests are not allowed'],
  forbidden: [403, 'Permission denied'],
  'not-found': [404, 'Not found'],
  'unknown-limit': [404, 'Unknown limit'],
  'method-not-allowed': [405, 'Method not allowed'],
  'too-large': [413, 'Request too large'],
  'too-many-attempts': [429, 'Too many failed authentication attempts'],
  'store-unavailable': [503, 'Limits cannot be checked right now'],
  unavailable: [503, 'Service unavailable'],
  'internal-error': [500, 'Internal server error'],
};

/** Thrown by any code that handles a route. The client receives it as problem details. */
export class HttpProblem extends Error {
  readonly body: ProblemBody;
  readonly headers: NonNullable<Reply['headers']>;

  constructor(
    kind: ProblemKind,
    detail?: string,
    more: Readonly<Record<string, unknown>> = {},
    headers: NonNullable<Reply['headers']> = [],
  ) {
    const [status, title] = TITLES[kind];
    super(detail ?? title);
    this.name = 'HttpProblem';
    this.body = {
      type: `urn:sluice:${kind}`,
      title,
      status,
      ...(detail !== undefined && { detail }),
      ...more,
    };
    this.headers = headers;
  }
}

export function problemReply({ body, headers }: HttpProblem): Reply {
  return { status: body.status, type: PROBLEM_TYPE, body: JSON.stringify(body), headers };
}
