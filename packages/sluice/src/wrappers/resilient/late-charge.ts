/**
 * Determines how much of a charge may be refunded if no caller used it, because the answer came after the deadline. Units that a
 * bucket has replenished since then, or that a window no longer counts, must not be refunded a second time.
 */
import { type Decision, type Hit, leaseOf, type Millis, type Plan } from '../../engine/contract.ts';

/** A refund is assumed to reach the store within this time. */
const MAX_REFUND_DELAY: Millis = 1000;
/** Fractions of a unit are rounded down to a multiple of this, so that the refund and the rest add up exactly to the charge. */
const GRAIN = 1 / 1024;

/**
 * The hits that undo a charge that the store made for `hit` after the caller had already received a different answer. `sent` is
 * when the hit was sent. If `keepsRates` is true, only places are released, and charges to rates stay.
 */
export function hitsToUndo(
  hit: Hit,
  decision: Decision,
  sent: Millis,
  now: Millis,
  keepsRates: boolean,
): readonly Hit[] {
  const { plan, key } = hit;
  const { taken } = decision;
  const holds = leaseOf(plan) > 0;
  // A renewal charges no rate.
  const refund =
    keepsRates || hit.verb === 'renew' ? 0 : refundable(plan, decision, now + MAX_REFUND_DELAY - sent);
  const base = { plan, key, mode: 'whole', span: 0, of: decision } as const;
  const hits: Hit[] = [];
  if (refund > 0) hits.push({ ...base, verb: 'refund', cost: refund });
  if (holds && refund < taken) hits.push({ ...base, verb: 'release', cost: taken - refund });
  return hits;
}

/** The part of a charge that every rate of the plan still counts when the charge has this age. */
function refundable(plan: Plan, { taken, policies }: Decision, age: Millis): number {
  let least = taken;
  let rates = 0;
  for (const [i, { algorithm, params }] of plan.policies.entries()) {
    if (algorithm.hold !== undefined || algorithm.countsDenials) continue;
    rates++;
    const { lease } = algorithm;
    // It is not known when these units are replenished, so they are not refunded.
    if (lease === undefined) return 0;
    const { resetAfter } = policies[i];
    const counts = lease.dated === undefined ? (lease.lasts?.(params, resetAfter) ?? Infinity) : resetAfter;
    if (age >= counts) return 0;
    least = Math.min(least, taken - (lease.leak?.(params, age) ?? 0));
  }
  if (rates === 0) return 0;
  return least === taken ? taken : Math.max(0, Math.floor(least / GRAIN) * GRAIN);
}
