/** Parses a decision from a server. JSON has no Infinity, so the server sends null instead. */

export interface LimitAnswer {
  readonly allowed: boolean;
  readonly policy: string;
  readonly limit: number;
  readonly remaining: number;
  readonly retryAfter: number;
  readonly resetAfter: number;
}

export function numbersOf(body: unknown): LimitAnswer {
  const answer = Object(body) as Record<string, unknown>;
  const number = (name: string) => (typeof answer[name] === 'number' ? answer[name] : Infinity);
  return {
    allowed: answer['allowed'] === true,
    policy: String(answer['policy']),
    limit: number('limit'),
    remaining: number('remaining'),
    retryAfter: number('retryAfter'),
    resetAfter: number('resetAfter'),
  };
}
