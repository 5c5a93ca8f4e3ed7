/** Parses a decision from a server. JSON has no Infinity, so the server sends null instead. */

/** What one policy, or the limiting policy, says about a key. */
export interface PolicyAnswer {
  readonly name: string;
  readonly limit: number;
  /** Milliseconds in which the whole limit comes back. */
  readonly window: number;
  readonly remaining: number;
  readonly retryAfter: number;
  readonly resetAfter: number;
}

export interface LimitAnswer extends Omit<PolicyAnswer, 'name' | 'window'> {
  readonly allowed: boolean;
  /** The name of the limiting policy, or 'block' if the key is denied by a manual block. */
  readonly policy: string;
  readonly policies: readonly PolicyAnswer[];
}

export function numbersOf(body: unknown): LimitAnswer {
  const answer = Object(body) as Record<string, unknown>;
  const { policies } = answer;
  return {
    ...numbersIn(answer),
    allowed: answer['allowed'] === true,
    policy: String(answer['policy']),
    policies: Array.isArray(policies) ? policies.map(policyOf) : [],
  };
}

function policyOf(value: unknown): PolicyAnswer {
  const policy = Object(value) as Record<string, unknown>;
  const { window } = policy;
  return {
    ...numbersIn(policy),
    name: String(policy['name']),
    window: typeof window === 'number' ? window : Infinity,
  };
}

function numbersIn(from: Record<string, unknown>): Omit<PolicyAnswer, 'name' | 'window'> {
  const number = (name: string) => (typeof from[name] === 'number' ? from[name] : Infinity);
  return {
    limit: number('limit'),
    remaining: number('remaining'),
    retryAfter: number('retryAfter'),
    resetAfter: number('resetAfter'),
  };
}
