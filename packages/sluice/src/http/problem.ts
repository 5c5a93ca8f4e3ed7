/** Problem details (RFC 9457) for denials, with the problem types of the IETF's RateLimit draft. */
import { type Decision, MANUAL_BLOCK } from '../engine/contract.ts';
import { seconds } from './headers.ts';

/** Problem details as defined by RFC 9457 and the IETF's RateLimit draft. */
export interface Problem {
  /** A URI that identifies the kind of problem. */
  readonly type: string;
  /** A short summary, the same for all problems of this type. */
  readonly title: string;
  /** The HTTP status of the response. */
  readonly status: number;
  /** Says when to try again. Absent if a retry can never pass. */
  readonly detail?: string;
  /** The names of the policies that denied the request. */
  readonly 'violated-policies': readonly string[];
}

export const PROBLEM_TYPE = 'application/problem+json';

const TYPES = 'https://iana.org/assignments/http-problem-types#';

/** Returns the problem details (RFC 9457) that describe a denial, for use as a response body. */
export function problem(decision: Decision, status = 429): Problem {
  const { policy, policies, retryAfter } = decision;
  const violated = policies.filter((state) => state.retryAfter > 0).map(({ name }) => name);
  return {
    ...kindOf(decision),
    status,
    ...(retryAfter < Infinity && { detail: `Try again in ${seconds(retryAfter)} s.` }),
    'violated-policies': violated.length > 0 ? violated : [policy],
  };
}

function kindOf({ policy, source }: Decision): Pick<Problem, 'type' | 'title'> {
  if (source === 'fallback')
    return {
      type: `${TYPES}temporary-reduced-capacity`,
      title: 'Service temporarily running at reduced capacity',
    };
  if (policy === MANUAL_BLOCK)
    return { type: `${TYPES}abnormal-usage-detected`, title: 'Client temporarily blocked' };
  return { type: `${TYPES}quota-exceeded`, title: 'Quota exceeded' };
}

/** The problem details sent while the store is unavailable and `onFailure` is 'throw'. */
export function unavailable(): { readonly type: string; readonly title: string; readonly status: number } {
  return {
    type: `${TYPES}temporary-reduced-capacity`,
    title: 'Rate limits temporarily unavailable',
    status: 503,
  };
}
