/**
 * What a lease asks of a policy. Units are debited now and spent up to a span later, so the store keeps back, or
 * remembers for longer, as much as that delay could add: docs/decisions/0020-strict-leases.md has the proof.
 */
import type { Decision, Millis, PlacedPolicy, Plan } from '../../engine/contract.ts';

/** The longest lease, as a part of a policy's window. A bucket keeps back half of it: an eighth. */
const PART = 1 / 4;
/** The same while the limit binds, unless the algorithm knows better: what one node holds then, others wait for. */
const SHORT_PART = 1 / 10;
/** A shorter lease would be over before it is used. */
const SHORTEST: Millis = 20;
/** Units of the tightest policy per node, below which a lease does not pay. */
const FEWEST = 20;
/** A lot has no fewer units than this, however little is left for a node's share. */
const SMALLEST = 10;
/** Of a log, no fewer than so many times a node's even part: at twice the load two in three nodes get one. */
const CROWD = 1.5;
/** Up to this part of a log's rate its lots last for the whole span, for which they are remembered longer. */
const LIGHT = 2 / 3;
/** A window of this many leases is a long one. */
const SLOW = 12;
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
  /** So many units for each millisecond to the end can be spent; what is above has faded. */
  readonly slope: number;
  /** When all that is debited now has to be spent: a window's end. */
  readonly edge: Millis;
  /** Until when they count where they were debited. */
  readonly counts: Millis;
}

export interface Terms {
  /** The longest lease, and the longest while the limit binds. */
  readonly span: Millis;
  readonly short: Millis;
  /** The longest window: for so long the limit is thought to bind after it did. */
  readonly window: Millis;
  /** The window lasts for many leases, so units that are lost with a process are missed for long. */
  readonly isSlow: boolean;
  /** What the store is asked with by everybody: leases and direct checks share one row. */
  readonly plan: Plan;
  /** The same for a lot that is to last for the whole span. */
  readonly lots: Plan;
  /** The greatest cost that can pass. */
  readonly largest: number;
  /** One node leases at most what is left, divided by this, but no fewer than so many. */
  readonly share: number;
  readonly smallest: number;
  /** While there is plenty, a lot holds this part of what is asked for in its life. */
  readonly fill: number;
  /** A node that is asked for more in a span takes short lots. */
  readonly light: number;
  /** A lot lasts for so long at least, whenever it is debited. */
  readonly least: Millis;
  /** The store's next answer before the edge renews what is left of a lot. */
  readonly renews: boolean;
  /** What is lost is missed until a window ends; otherwise it comes back by itself. */
  readonly isMissed: boolean;
  readonly lot: (decision: Decision, sent: Millis) => Lot;
  /** What of the lot may go back to the store now. */
  readonly returnable: (lot: Lot, now: Millis) => number;
}

type Leasable = PlacedPolicy & { readonly lease: NonNullable<PlacedPolicy['algorithm']['lease']> };

/** Undefined where a plan cannot be leased, or where that would not pay. */
export function termsOf(plan: Plan, longest: Millis, nodes: number): Terms | undefined {
  const policies: Leasable[] = [];
  let span = longest;
  let short = longest;
  for (const policy of plan.policies) {
    const { lease } = policy.algorithm;
    if (lease === undefined) return undefined;
    policies.push({ ...policy, lease });
    span = Math.min(span, policy.window * PART);
    short = Math.min(short, policy.window * (lease.shortPart ?? SHORT_PART));
  }
  if (short < SHORTEST) return undefined;
  const reduced = policies.map((policy) => ({
    limit: policy.limit,
    window: policy.window,
    ...(policy.lease.reduced?.(policy.params, span, short) ?? { params: policy.params }),
  }));
  const largest = Math.min(...reduced.map(({ limit }) => limit));
  if (largest < FEWEST * nodes) return undefined;

  const fading = policies.filter(({ lease }) => lease.leak !== undefined);
  const logs = policies.filter(({ lease }) => lease.dated !== undefined);
  const windows = policies.filter(({ lease }) => lease.lasts !== undefined && lease.dated === undefined);
  /** A node's even part of what comes back in so much time. */
  const evenPart = ({ limit, window }: Leasable, time: Millis): number => (limit * time) / (window * nodes);
  const own: Plan = {
    ...plan,
    id: `${plan.id}&leased:${span}`,
    // What is announced is what the store runs: a cost above the limit can never pass.
    policies: plan.policies.map((policy, i) => {
      const { params, limit, window } = reduced[i];
      return { ...policy, params, limit, window, refill: policy.algorithm.refill?.(params, limit, window) };
    }),
  };
  const window = Math.max(...policies.map((policy) => policy.window));
  return {
    span,
    short,
    window,
    isSlow: window >= SLOW * span,
    plan: own,
    lots: logs.length === 0 ? own : dated(own, span),
    largest,
    // The units of windows and logs do not trickle back: one node takes a smaller share.
    share: windows.length + logs.length > 0 ? 2 * nodes : 2,
    smallest: Math.max(
      SMALLEST,
      ...(windows.length > 0 ? [] : logs.map((log) => CROWD * evenPart(log, short))),
    ),
    fill: fillOf(fading.length > 0, windows.length > 0, windows.length === policies.length),
    light: Math.min(...logs.map((log) => LIGHT * evenPart(log, span))),
    least: windows.length === 0 ? short : 0,
    renews: windows.length === policies.length,
    isMissed: windows.length > 0,
    lot(decision, sent) {
      let lasts = Infinity;
      let counts = Infinity;
      policies.forEach(({ lease, params }, i) => {
        const { resetAfter } = decision.policies[i];
        const ownLasts = lease.lasts?.(params, resetAfter) ?? Infinity;
        lasts = Math.min(lasts, ownLasts);
        counts = Math.min(counts, lease.dated === undefined ? ownLasts : resetAfter);
      });
      const { taken } = decision;
      const life = Math.min(span, lasts) * DRIFT;
      return {
        left: taken,
        granted: taken,
        sent,
        end: sent + life,
        slope: fading.length > 0 ? taken / life : Number.MAX_VALUE,
        edge: sent + lasts * DRIFT,
        counts: sent + counts * DRIFT,
      };
    },
    returnable({ left, sent, counts }, now) {
      const then = now + ON_ITS_WAY;
      if (then >= counts) return 0;
      const leaked = fading.map(({ lease, params }) => lease.leak?.(params, then - sent) ?? 0);
      return Math.max(0, Math.floor(left - Math.max(0, ...leaked)));
    },
  };
}

/** Where nothing fades and no window misses what is left over, rather too much than a second call. */
function fillOf(fades: boolean, hasWindows: boolean, renews: boolean): number {
  if (renews || (!fades && !hasWindows)) return 1.1;
  return hasWindows ? 0.8 : 0.9;
}

function dated(plan: Plan, span: Millis): Plan {
  return {
    ...plan,
    id: `${plan.id}&dated:${span}`,
    policies: plan.policies.map((policy) => ({
      ...policy,
      params: policy.algorithm.lease?.dated?.(policy.params, span) ?? policy.params,
    })),
  };
}

/** What of the lot can be spent now: nothing, or less, from its end on. */
export function usable({ left, end, slope }: Lot, now: Millis): number {
  const unfaded = (end - now) * slope;
  return left < unfaded ? left : unfaded;
}
