/**
 * Determines how much of a charge may be refunded if the store's answer came after the deadline, so that no caller used the charge.
 * Units that a bucket has replenished since the charge, or that a window no longer counts, must not be refunded, because the key
 * already has them back.
 */
import { isHolding } from '../../engine/charge.ts';
import {
  type Cost,
  type Decision,
  type Hit,
  leaseOf,
  type Millis,
  type PlacedPolicy,
  type PolicyState,
} from '../../engine/contract.ts';

/** A refund is assumed to reach the store within this time. */
const MAX_REFUND_DELAY: Millis = 1000;
/** Fractions of a unit are rounded down to a multiple of this, so that the refund and the rest add up exactly to the charge. */
const GRAIN = 1 / 1024;

/**
 * The hits that undo a charge that the store made for `hit` after the caller had already received a different answer. `sent` is
 * when the hit was sent. If `keepsRates` is true, only places are released, and charges to rate policies stay.
 */
export function hitsToUndo(
  hit: Hit,
  decision: Decision,
  sent: Millis,
  now: Millis,
  keepsRates: boolean,
): readonly Hit[] {
  const { plan, key } = hit;
  const age = now + MAX_REFUND_DELAY - sent;
  // A renewal does not charge rate policies.
  const isKept = keepsRates || hit.verb === 'renew';
  const base = { plan, key, mode: 'whole', span: 0, of: decision, isLease: hit.isLease } as const;
  const undone = (verb: 'refund' | 'release', cost: Cost): readonly Hit[] => {
    const isSome = typeof cost === 'number' ? cost > 0 : cost.some((units) => units > 0);
    return isSome ? [{ ...base, verb, cost }] : [];
  };
  const parts = plan.policies.map((policy, i) => refundable(policy, decision.policies[i], age));
  if (typeof hit.cost !== 'number') {
    const rates = parts.map((part) => (isKept ? 0 : (part ?? 0)));
    const places = plan.policies.map((policy, i) => (isHolding(policy) ? decision.policies[i].taken : 0));
    return [...undone('refund', rates), ...undone('release', places)];
  }
  const known = parts.filter((part) => part !== undefined);
  const refund = isKept || known.length === 0 ? 0 : Math.min(...known);
  const held = leaseOf(plan) > 0 ? decision.taken - refund : 0;
  return [...undone('refund', refund), ...undone('release', held)];
}

/**
 * The part of a charge that a rate policy still counts when the charge has this age. Undefined if the policy does not limit a rate.
 */
function refundable(
  { algorithm, params }: PlacedPolicy,
  { taken, resetAfter }: PolicyState,
  age: Millis,
): number | undefined {
  if (algorithm.hold !== undefined || algorithm.countsDenials) return undefined;
  const { lease } = algorithm;
  // It is not known when these units are replenished, so they are not refunded.
  if (lease === undefined) return 0;
  const counts = lease.dated === undefined ? (lease.lasts?.(params, resetAfter) ?? Infinity) : resetAfter;
  if (age >= counts) return 0;
  const leaked = lease.leak?.(params, age) ?? 0;
  return leaked === 0 ? taken : Math.max(0, Math.floor((taken - leaked) / GRAIN) * GRAIN);
}
