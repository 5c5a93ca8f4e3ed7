/**
 * Recognizes plans that make the same decisions, because a policy function may return equal policies in a new object for each
 * hit.
 */
import type { Plan } from '../../engine/contract.ts';

/** An id that is the same for plans with the same name, policies and numbers. */
export function equalPlansId({ name, signature, id, policies }: Plan): string {
  return [name, signature, id, ...policies.map((policy) => policy.name)].join('\0');
}
