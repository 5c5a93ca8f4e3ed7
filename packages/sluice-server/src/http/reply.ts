/** What a route answers: data. Only the door writes it to a socket. */
import type { ServerResponse } from 'node:http';
import type { Asked } from '../traces/tracer.ts';

export interface Reply {
  readonly status: number;
  readonly type: string;
  readonly body: string | Buffer;
  readonly headers?: readonly (readonly [name: string, value: string])[];
  /** For traces. */
  readonly asked?: () => Asked;
  /** In place of the body: goes on writing, after the head. */
  readonly stream?: (response: ServerResponse) => void;
}

const JSON_TYPE = 'application/json; charset=utf-8';
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
  | 'store-unavailable'
  | 'unavailable'
  | 'internal-error';

const TITLES: Readonly<Record<ProblemKind, readonly [status: number, title: string]>> = {
  'bad-request': [400, 'The request cannot be understood'],
  unauthorized: [401, 'A token is needed'],
  'foreign-origin': [403, 'Pages of other origins may not ask'],
  forbidden: [403, 'An admin token is needed'],
  'not-found': [404, 'There is nothing here'],
  'unknown-limit': [404, 'There is no such limit'],
  'method-not-allowed': [405, 'This method does not fit'],
  'too-large': [413, 'The request is too large'],
  'store-unavailable': [503, 'The limits cannot be checked now'],
  unavailable: [503, 'Not now'],
  'internal-error': [500, 'The server made a mistake'],
};

/** A refusal, thrown from anywhere below a route. */
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
