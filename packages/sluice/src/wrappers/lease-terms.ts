/**
 * What a lease asks of a policy. Units are debited now and spent up to a span later, so the store runs a policy that
 * keeps back as much as that delay could add: docs/decisions/0020-strict-leases.md has the proof.
 */
import type { Decision, Millis, PlacedPolicy, Plan } from '../contract.ts';

/** The longest lease, as a part of a policy's window: what is kept back is never much. */
const PART = 1 / 10;
/** A shorter lease would be over before it is used. */
const SHORTEST: Millis = 20;
/** Units of the tightest policy per node, below which a lease does not pay. */
const FEWEST = 20;
/** Clocks of two machines run alike to a thousandth, and mostly far better. */
const DRIFT = 0.999;
/** The longest that a returned unit is thought to be on its way. */
const ON_ITS_WAY: Millis = 1000;

/** Units debited at the store in one go. They are spent before `end` on this node's own clock, or never. */
export interface Lot {
  left: number;
  readonly granted: number;
  /** Before the debit: when it was asked for. */
  readonly sent: Millis;
  readonly end: Millis;
  /** Until when they count where they were debited. */
  readonly counts: Millis;
}

export interface Terms {
  /** The longest lease. */
  readonly span: Millis;
  /** What the store is asked with, by everybody: leases and direct checks share one row. */
  readonly plan: Plan;
  /** The greatest cost that can pass. */
  readonly largest: number;
  /** One node leases at most what is left, divided by this. */
  readonly share: number;
  readonly lot: (decision: Decision, sent: Millis) => Lot;
  /** What of the lot may go back to the store now. */
  readonly returnable: (lot: Lot, now: Millis) => number;
}

type Leasable = PlacedPolicy & { readonly lease: NonNullable<PlacedPolicy['algorithm']['lease']> };

/** Undefined where a plan cannot be leased, or where that would not pay. */
export function termsOf(plan: Plan, longest: Millis, nodes: number): Terms | undefined {
  const policies: Leasable[] = [];
  let span = longest;
  for (const policy of plan.policies) {
    const { lease } = policy.algorithm;
    if (lease === undefined) return undefined;
    policies.push({ ...policy, lease });
    span = Math.min(span, policy.window * (lease.part ?? PART));
  }
  if (span < SHORTEST) return undefined;
  const reduced = policies.map((policy) => policy.lease.reduced?.(policy.params, span) ?? policy);
  const largest = Math.min(...reduced.map(({ limit }) => limit));
  if (largest < FEWEST * nodes) return undefined;

  const lasting = (decision: Decision): Millis =>
    Math.min(
      ...policies.map(
        ({ lease, params }, i) => lease.lasts?.(params, decision.policies[i].resetAfter) ?? Infinity,
      ),
    );
  return {
    span,
    plan: {
      ...plan,
      id: `${plan.id}&leased:${span}`,
      // The limit that is announced stays the one that was written.
      policies: plan.policies.map((policy, i) => ({ ...policy, params: reduced[i].params })),
    },
    largest,
    // A window's units do not trickle back: one node takes a smaller share.
    share: policies.some(({ lease }) => lease.lasts !== undefined) ? 2 * nodes : 2,
    lot(decision, sent) {
      const lasts = lasting(decision);
      const end = sent + Math.min(span, lasts) * DRIFT;
      return { left: decision.taken, granted: decision.taken, sent, end, counts: sent + lasts * DRIFT };
    },
    returnable({ left, sent, counts }, now) {
      const then = now + ON_ITS_WAY;
      if (then >= counts) return 0;
      const leaked = Math.max(...policies.map(({ lease, params }) => lease.leak?.(params, then - sent) ?? 0));
      return Math.max(0, Math.floor(left - leaked));
    },
  };
}
