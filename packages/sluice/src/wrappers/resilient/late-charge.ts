/**
 * What of a charge may be given back when its answer came after the deadline, so that nobody passed by it. Time has gone
 * by since: what a bucket has refilled meanwhile, or a window has forgotten, must not be given back a second time.
 */
import { type Decision, type Hit, leaseOf, type Millis, type Plan } from '../../engine/contract.ts';

/** A refund is taken to arrive within this time. */
const ON_ITS_WAY: Millis = 1000;
/** Parts of a unit are rounded down to this, so that a cost and its two parts are exact sums. */
const GRAIN = 1 / 1024;

/**
 * The hits that undo a charge which a store made for `hit`, sent at this time, when its caller had been told otherwise.
 * `keepsRates`: what rates charged stays; only held places are given back.
 */
export function undoing(
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
  const refund = keepsRates || hit.verb === 'renew' ? 0 : refundable(plan, decision, now + ON_ITS_WAY - sent);
  const base = { plan, key, mode: 'whole', span: 0, of: decision } as const;
  const hits: Hit[] = [];
  if (refund > 0) hits.push({ ...base, verb: 'refund', cost: refund });
  if (holds && refund < taken) hits.push({ ...base, verb: 'release', cost: taken - refund });
  return hits;
}

/** How much of a charge every rate of the plan still counts, at most this long after it was made. */
function refundable(plan: Plan, { taken, policies }: Decision, age: Millis): number {
  let least = taken;
  let rates = 0;
  for (const [i, { algorithm, params }] of plan.policies.entries()) {
    if (algorithm.hold !== undefined || algorithm.countsDenials) continue;
    rates++;
    const { lease } = algorithm;
    // Not known when its units come back by themselves: they are left to do so.
    if (lease === undefined) return 0;
    const { resetAfter } = policies[i];
    const counts = lease.dated === undefined ? (lease.lasts?.(params, resetAfter) ?? Infinity) : resetAfter;
    if (age >= counts) return 0;
    least = Math.min(least, taken - (lease.leak?.(params, age) ?? 0));
  }
  if (rates === 0) return 0;
  return least === taken ? taken : Math.max(0, Math.floor(least / GRAIN) * GRAIN);
}
