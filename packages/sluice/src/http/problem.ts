/** A denial as a body: problem details (RFC 9457) with the types of the IETF's RateLimit draft. */
import { type Decision, MANUAL_BLOCK } from '../engine/contract.ts';
import { seconds } from './headers.ts';

/** Problem details, as RFC 9457 and the IETF's RateLimit draft have them. */
export interface Problem {
  /** A URI that says what kind of problem it is. */
  readonly type: string;
  /** The same for all of this type. */
  readonly title: string;
  /** Of the response. */
  readonly status: number;
  /** When to come again, if ever. */
  readonly detail?: string;
  /** The names of the policies that denied. */
  readonly 'violated-policies': readonly string[];
}

export const PROBLEM_TYPE = 'application/problem+json';

const TYPES = 'https://iana.org/assignments/http-problem-types#';

/** The body of a refusal: problem details, RFC 9457. */
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
    return { type: `${TYPES}temporary-reduced-capacity`, title: 'The service serves less for the moment' };
  if (policy === MANUAL_BLOCK)
    return { type: `${TYPES}abnormal-usage-detected`, title: 'This client is blocked for a while' };
  return { type: `${TYPES}quota-exceeded`, title: 'The quota is used up' };
}

/** What a client hears while the store cannot decide and the declared answer is 'throw'. */
export function unavailable(): { readonly type: string; readonly title: string; readonly status: number } {
  return {
    type: `${TYPES}temporary-reduced-capacity`,
    title: 'The limits cannot be checked now',
    status: 503,
  };
}
