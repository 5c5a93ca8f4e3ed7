/** What a request costs in each policy of a limit. The page offers costs only for limits that combine several policies. */
import { createLimiter } from 'sluice';
import { type Part, policiesOf } from './policy.ts';
import type { Bound } from './run.ts';

/** One cost per policy, in the order of the text. Empty if a request costs 1 in every policy. */
export type Costs = readonly number[];

/** The maximum cost that the library accepts. */
export const MOST_COST = 2 ** 53;

/** Whether requests have a cost in the policy. A penalty counts denials, so it has no cost. */
export function isCharged({ limit }: Pick<Part, 'limit'>): boolean {
  return limit < Infinity;
}

/** The costs that apply to these policies. A policy without a cost gets 1. */
export function costsFor(parts: readonly Part[], costs: Costs): Costs {
  if (parts.length === 1) return [];
  const own = parts.map((part, i) => (isCharged(part) ? (costs.at(i) ?? 1) : 1));
  return own.every((cost) => cost === 1) ? [] : own;
}

/** The names that the library gives to the policies. */
export function namesOf(text: string): readonly string[] {
  return createLimiter(policiesOf(text))
    .peek('')
    .policies.map(({ name }) => name);
}

/** The `cost` option of a take. */
export function costByPolicy(
  policies: readonly { readonly name: string; readonly limit: number }[],
  costs: Costs,
): Readonly<Record<string, number>> {
  const entries = policies.map((policy, i) => ({ policy, cost: costs.at(i) ?? 1 }));
  return Object.fromEntries(
    entries.filter(({ policy }) => isCharged(policy)).map(({ policy, cost }) => [policy.name, cost]),
  );
}

export function boundsOf(parts: readonly Part[], costs: Costs): readonly Bound[] {
  return parts
    .map(({ limit, per }, i) => ({ limit, per, cost: costs.at(i) ?? 1 }))
    .filter(({ limit }) => limit < Infinity);
}

/** Parses costs in a link, such as `1,4200`. Invalid numbers become 1. */
export function readCosts(text: string): Costs {
  // A limit's text is too short to contain more than 100 policies.
  const costs = text.split(',', 100).map((piece) => {
    const cost = piece.trim() === '' ? 1 : Number(piece);
    // Math.abs turns -0 into 0.
    return cost >= 0 && cost <= MOST_COST ? Math.abs(cost) : 1;
  });
  return costs.every((cost) => cost === 1) ? [] : costs;
}
