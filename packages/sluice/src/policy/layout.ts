/** Lays out named policies side by side in one row. */
import { MANUAL_BLOCK, type PlacedPolicy, type Plan, type Policy } from '../engine/contract.ts';
import { digest } from '../internal/hash.ts';
import { show, SluiceError } from '../internal/errors.ts';
import { type NamedPolicy, type Slot, slotsOf } from './shared-cells.ts';

export type NamedPolicies = Readonly<Record<string, Policy>>;

const RESERVED = `must not be named '${MANUAL_BLOCK}', because that name stands for a manual block in a decision`;

/**
 * Creates the plans of one limiter, such as those of its tiers, which share one row per key. The default name is derived from the
 * first plan's policies, so unnamed limiters whose policies have the same names and numbers share keys.
 */
export function placeTogether(all: readonly NamedPolicies[], name?: string): Plan[] {
  const plans = all.map(checked);
  const slots = slotsOf(plans);
  name ??= plans[0].map((policy) => `${policy.name} ${describe(policy)}`).join('&');
  return plans.map((policies, i) =>
    planInRow(
      name,
      slots.map((slot) => placeIn(slot, i, policies)),
    ),
  );
}

function placeIn(slot: Slot, plan: number, policies: readonly NamedPolicy[]): Place {
  const own = slot.policies[plan];
  if (own !== undefined) return { policy: own, index: policies.indexOf(own) };
  return { policy: slot.policies.find((other) => other !== undefined) as NamedPolicy, index: -1 };
}

function checked(named: NamedPolicies): NamedPolicy[] {
  // JavaScript callers may pass anything.
  if (typeof named !== 'object' || named === null) throw new SluiceError('ERR_POLICY', 'policies', named);
  const policies = Object.entries(named).map(([name, policy]) => {
    if (!isPolicy(policy))
      throw new SluiceError('ERR_POLICY', 'policies', named, `${name} is ${show(policy)}`);
    if (name === MANUAL_BLOCK)
      throw new SluiceError('ERR_POLICY', 'policies', name, 'choose another name', RESERVED);
    const { algorithm, params, limit, window, per } = policy;
    return { algorithm, params, limit, window, per, name };
  });
  if (!policies.some((policy) => !policy.algorithm.countsDenials)) {
    throw new SluiceError(
      'ERR_POLICY',
      'policies',
      named,
      '',
      'must include a policy that denies by itself, not only penalty()',
    );
  }
  return policies;
}

/** A policy that has cells in a row. */
export interface Place {
  readonly policy: NamedPolicy;
  /** The policy's position in `Plan.policies`, or −1 if the policy does not decide in this plan. */
  readonly index: number;
}

/** The plan for a row that contains these policies, in this order. */
export function planInRow(name: string, places: readonly Place[]): Plan {
  const policies: PlacedPolicy[] = [];
  const slots: PlacedPolicy[] = [];
  let width = 0;
  for (const { policy, index } of places) {
    const { algorithm, params, limit, window } = policy;
    const grows = algorithm.variableLength !== undefined;
    const refill = algorithm.refill?.(params, limit, window);
    const placed = { ...policy, offset: width, grows, refill };
    slots.push(placed);
    if (index >= 0) policies[index] = placed;
    width += grows ? 1 : algorithm.width(params);
  }
  return {
    name,
    id: places.map(({ policy, index }) => (index < 0 ? '' : describe(policy))).join('&'),
    policies,
    slots,
    width,
    signature: signatureOf(slots),
  };
}

/**
 * Describes what a row contains. Plans of one limiter with the same algorithms have the same signature, and read each other's
 * rows.
 */
export function signatureOf(slots: readonly Policy[]): string {
  return slots.map((policy) => policy.algorithm.name).join('&');
}

/** A suffix that is added to a signature to identify the plan's numbers. */
export function numbered(id: string): string {
  return `~${digest(id).toString(36)}`;
}

/** Whether a value is a policy. JavaScript callers may pass anything. */
export function isPolicy(value: unknown): value is Policy {
  return typeof value === 'object' && value !== null && 'algorithm' in value && 'params' in value;
}

function describe({ algorithm, params }: Policy): string {
  return [algorithm.name, ...Object.values(params)].join(':');
}
