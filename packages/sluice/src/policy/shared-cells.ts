/**
 * Determines which policies of a limiter's plans share cells. A limiter has one row per key for its own policies and those of all
 * its tiers. Policies that express the same limit in two tiers must use the same cells, because otherwise a key could use up both
 * limits by changing tiers.
 *
 * The result must not depend on the order in which policies or tiers were written, because processes with the same configuration
 * must share rows.
 */
import type { Policy } from '../engine/contract.ts';

export interface NamedPolicy extends Policy {
  readonly name: string;
}

/** The policies that share the same cells, at most one from each plan. */
export interface Slot {
  /** The shortest window of the policies. Slots are sorted by window, then by name. */
  readonly window: number;
  readonly name: string;
  /** One entry for each plan, which is undefined if the plan has no policy in this slot. */
  readonly policies: readonly (NamedPolicy | undefined)[];
}

/** The slots of a row that all of these plans share, in the order in which the row contains them. */
export function slotsOf(plans: readonly (readonly NamedPolicy[])[]): Slot[] {
  const algorithms = new Set(plans.flatMap((plan) => plan.map(({ algorithm }) => algorithm.name)));
  return [...algorithms].sort(byText).flatMap((algorithm) => {
    const own = plans.map((plan) => plan.filter((policy) => policy.algorithm.name === algorithm));
    return groups(own)
      .map((policies) => slotFrom(plans.length, policies))
      .sort(bySlot);
  });
}

interface Placed {
  readonly plan: number;
  readonly policy: NamedPolicy;
}

/** Divides policies that use the same algorithm into groups. The policies in a group share cells. */
function groups(plans: readonly (readonly NamedPolicy[])[]): Placed[][] {
  const used = plans.filter((policies) => policies.length > 0);
  const [{ length: count }] = used;
  const placed = plans.map((policies, plan) => policies.map((policy) => ({ plan, policy })));
  if (used.every(({ length }) => length === count) && !haveSameNames(used))
    return Array.from({ length: count }, (_, i) =>
      placed.flatMap((policies) => [...policies].sort(byPolicy).slice(i, i + 1)),
    );
  return byNameOrWindow(placed.flat());
}

function haveSameNames(plans: readonly (readonly NamedPolicy[])[]): boolean {
  const names = plans.map((policies) => JSON.stringify(policies.map(({ name }) => name).sort(byText)));
  return new Set(names).size === 1;
}

/**
 * Groups policies that have the same name. Then merges two groups if they have a window in common and no plan has policies in both.
 */
function byNameOrWindow(placed: readonly Placed[]): Placed[][] {
  const named = new Map<string, Placed[]>();
  for (const one of placed) named.set(one.policy.name, [...(named.get(one.policy.name) ?? []), one]);
  const result: Placed[][] = [];
  for (const [, policies] of [...named].sort(([a], [b]) => byText(a, b))) {
    const same = result.find(
      (others) =>
        !others.some(({ plan }) => policies.some((one) => one.plan === plan)) &&
        others.some(({ policy }) => policies.some((one) => one.policy.window === policy.window)),
    );
    if (same === undefined) result.push(policies);
    else same.push(...policies);
  }
  return result;
}

function slotFrom(plans: number, placed: readonly Placed[]): Slot {
  const policies = Array.from({ length: plans }, (_, i) => placed.find(({ plan }) => plan === i)?.policy);
  const [first] = [...placed].sort(byPolicy);
  return { window: first.policy.window, name: first.policy.name, policies };
}

function byPolicy({ policy: a }: Placed, { policy: b }: Placed): number {
  return bySlot(a, b);
}

/** Compares slots by window first, because a name that is derived from a policy's text changes with its numbers. */
function bySlot(a: Pick<Slot, 'window' | 'name'>, b: Pick<Slot, 'window' | 'name'>): number {
  return a.window - b.window || byText(a.name, b.name);
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
