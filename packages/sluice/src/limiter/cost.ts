/** Converts the costs that a caller passes by policy name to the costs of a hit, which are in the order of the plan's policies. */
import { costAt, isHolding } from '../engine/charge.ts';
import type { Cost, Decision, Plan, PlacedPolicy } from '../engine/contract.ts';
import { SluiceError } from '../internal/errors.ts';
import { cost as checkCost } from '../internal/options.ts';

/** One number for all policies, or an object with a number per policy name. */
export type ByPolicy<Name extends string = string> =
  | number
  | Readonly<Partial<Record<Name, number | undefined>>>;

/** The costs of a call. `unnamed` is the cost of a policy that the caller does not name. */
export function costOn(plan: Plan, given: ByPolicy, unnamed: number, option = 'cost'): Cost {
  if (typeof given !== 'object' || given === null) return checkCost(given, option);
  checkNames(plan, given, option);
  return collapsed(
    plan.policies.map((policy) => {
      const cost = partOf(given, policy.name);
      return cost === undefined ? unnamed : checkCost(cost, `${option}.${policy.name}`);
    }),
  );
}

/**
 * The number for a policy. Reads only own properties, because every object inherits a member named `constructor`, and a policy may
 * have that name.
 */
function partOf(given: Exclude<ByPolicy, number>, name: string): number | undefined {
  return Object.hasOwn(given, name) ? given[name] : undefined;
}

/** Throws if a name does not belong to a policy that can be charged. */
function checkNames({ policies, slots }: Plan, given: object, option: string): void {
  const chargeable = ({ algorithm }: PlacedPolicy): boolean => algorithm.countsDenials !== true;
  for (const [name, value] of Object.entries(given)) {
    // A name that only another tier uses is accepted, so that a caller can pass the same cost for all tiers.
    const policy = policies.find((own) => own.name === name) ?? slots.find((other) => other.name === name);
    if (policy !== undefined && chargeable(policy)) continue;
    const hint = `the policies are ${policies
      .filter(chargeable)
      .map(({ name: known }) => known)
      .join(', ')}`;
    const words = policy === undefined ? 'is not a policy of this limiter' : 'counts denials and has no cost';
    throw new SluiceError('ERR_COST', `${option}.${name}`, value, hint, words);
  }
}

/** Converts a list of equal costs to one number, so that the store and its wrappers can take their fastest path. */
function collapsed(costs: readonly number[]): Cost {
  return costs.every((cost) => cost === costs[0] && cost > 0) ? costs[0] : costs;
}

/** Whether nothing would be charged. */
export function isFree(cost: Cost): boolean {
  return typeof cost === 'number' ? cost === 0 : cost.every((units) => units === 0);
}

/** How many places of the plan's concurrency policy this cost takes; 0 if the plan has no such policy. */
export function placesOf({ policies }: Plan, cost: Cost): number {
  const index = policies.findIndex(isHolding);
  return index < 0 ? 0 : costAt(cost, index);
}

/** What a decision of this plan charged. */
export function chargedBy({ policies }: Plan, { taken, policies: states }: Decision): Cost {
  const isOwn = states.length === policies.length && states.every(({ name }, i) => name === policies[i].name);
  return isOwn ? collapsed(states.map((state) => state.taken)) : taken;
}

/** How much more was used than charged. A policy that `used` does not name has used exactly its charge. */
export function differenceOn(plan: Plan, charged: Cost, used: ByPolicy): Cost {
  if (typeof used === 'number' && typeof charged === 'number') return checkCost(used, 'used') - charged;
  const usedOn = costOn(plan, used, Number.NaN, 'used');
  return plan.policies.map((_, i) => {
    const units = costAt(usedOn, i);
    return Number.isNaN(units) ? 0 : units - costAt(charged, i);
  });
}

/** The units that each policy must keep free. A number below 1 is a fraction of the limit. */
export function keepOn(
  plan: Plan,
  given: ByPolicy | undefined,
  option = 'keep',
): readonly number[] | undefined {
  if (given === undefined) return undefined;
  if (typeof given === 'object' && given !== null) checkNames(plan, given, option);
  const units = plan.policies.map(({ name, limit, algorithm }) => {
    const keep = typeof given === 'object' && given !== null ? partOf(given, name) : given;
    const kept =
      keep === undefined ? 0 : checkKeep(keep, typeof given === 'object' ? `${option}.${name}` : option);
    if (limit === Infinity || algorithm.countsDenials === true) return 0;
    return kept < 1 ? kept * limit : kept;
  });
  return units.every((kept) => kept === 0) ? undefined : units;
}

function checkKeep(value: unknown, option: string): number {
  if (typeof value === 'number' && value >= 0 && (value < 1 || Number.isSafeInteger(value))) return value;
  throw new SluiceError(
    'ERR_NUMBER',
    option,
    value,
    'for 30 %, use 0.3',
    'must be a fraction from 0 to below 1, or a whole number of units',
  );
}
