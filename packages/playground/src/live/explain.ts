/** Explains in sentences what a limit says about a key, from the answer to a peek. */
import { showDuration, showNumber } from '../model/format.ts';
import type { LimitAnswer, PolicyAnswer } from './answer.ts';

/** One sentence about the key, then one about each policy. */
export interface Explanation {
  readonly isAllowed: boolean;
  /** Continues a sentence that starts with the key. */
  readonly summary: string;
  readonly policies: readonly {
    readonly name: string;
    readonly isAllowed: boolean;
    readonly sentence: string;
  }[];
}

/** `text` is the limit's policies as text. It replaces the name of a policy that has no name of its own. */
export function explain(answer: LimitAnswer, text: string): Explanation {
  const nameOf = (name: string) => (answer.policies.length === 1 && name === 'default' ? text : name);
  return {
    isAllowed: answer.allowed,
    summary: summaryOf(answer, nameOf(answer.policy)),
    policies: answer.policies.map((policy) => ({
      name: nameOf(policy.name),
      isAllowed: policy.retryAfter === 0,
      sentence: sentenceOf(policy),
    })),
  };
}

function summaryOf({ allowed, policy, policies, retryAfter }: LimitAnswer, name: string): string {
  const isDeclared = policies.length === 0;
  if (isDeclared && policy === 'unlimited')
    return 'is never denied, because the configuration makes it unlimited.';
  if (isDeclared && policy === 'blocked') return 'is always denied, because the configuration blocks it.';
  if (allowed) return 'would pass now.';
  if (policy === 'block')
    return retryAfter === Infinity
      ? 'is denied by a manual block that has no end.'
      : `is denied by a manual block, which ends in ${showDuration(retryAfter)}.`;
  return retryAfter === Infinity
    ? `is denied by ${name}, and can never pass.`
    : `is denied by ${name}. Its next request passes in ${showDuration(retryAfter)}.`;
}

function sentenceOf({ limit, remaining, retryAfter, resetAfter }: PolicyAnswer): string {
  // A penalty has no units. It either locks a key out or does not.
  if (limit === Infinity)
    return retryAfter > 0
      ? `The key is locked out for another ${showDuration(retryAfter)}.`
      : 'The key is not locked out.';
  const left = `${showNumber(remaining)} of ${showNumber(limit)} left.`;
  if (remaining >= limit) return left;
  const units = limit === 1 ? 'The next one is' : `All ${showNumber(limit)} are`;
  const whole = `${units} back in ${showDuration(resetAfter)}.`;
  const isGradual = retryAfter > 0 && retryAfter < resetAfter;
  return isGradual ? `${left} One more is back in ${showDuration(retryAfter)}. ${whole}` : `${left} ${whole}`;
}
