/** Tells which problems are logged as refused requests, and with which detail. */
import type { RefusalReason } from '../request-log.ts';
import type { HttpProblem, ProblemKind } from './reply.ts';

const REASONS: Readonly<Partial<Record<ProblemKind, RefusalReason>>> = {
  unauthorized: 'unauthorized',
  'too-many-attempts': 'unauthorized',
  forbidden: 'forbidden',
  'foreign-origin': 'forbidden',
  'unknown-limit': 'unknown-limit',
  'bad-request': 'invalid',
  'too-large': 'invalid',
};

/** Undefined if the problem is not logged. A list of operations is logged if one of them names an unknown limit. */
export function refusalReason({ body }: HttpProblem): RefusalReason | undefined {
  const { type, errors } = body;
  const isUnknown = (one: unknown): boolean =>
    (one as { type?: unknown }).type === 'urn:sluice:unknown-limit';
  if (Array.isArray(errors) && errors.some(isUnknown)) return 'unknown-limit';
  return REASONS[type.slice('urn:sluice:'.length) as ProblemKind];
}

/** The detail of a problem without values from the request body, because they may be keys, which are often personal data. */
export function loggedDetail({ message }: HttpProblem): string {
  return message.replace(/; got .*$/s, '').replace(/(not valid JSON): .*$/s, '$1');
}
