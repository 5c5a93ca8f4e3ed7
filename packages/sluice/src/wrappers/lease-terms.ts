/**
 * What a lease asks of a policy. Units are debited now and spent up to a span later, so the store runs a policy that
 * keeps back as much as that delay could add: docs/decisions/0020-strict-leases.md has the proof.
 *
 * The one place outside algorithms/ that reads their numbers. An algorithm without a line here is checked directly.
 */
import type { Decision, Millis, Params, Plan } from '../contract.ts';

interface Rule {
  /** The longest lease, as a part of the policy's window: what is kept back is never much. */
  readonly part: number;
  /** What the store runs, and the most that it lets pass at once. */
  reduced(params: Numbers, span: Millis): { readonly params: Params; readonly limit: number };
  /** Units that come back by themselves within the span. Returned with a lease, they would come back twice. */
  leak(params: Numbers, span: Millis): number;
  /** For how long after the debit the units count where they were debited. */
  lasts(params: Numbers, resetAfter: Millis): Millis;
  /** A window's units do not trickle back: one node takes a smaller share. */
  readonly isWindow: boolean;
}

type Numbers = Readonly<Record<string, number>>;

/** r units a millisecond leak from a bucket, so in any span w at most B + r·w pass; one of B − r·span debits no more than that. */
const gcra: Rule = {
  part: 1 / 10,
  reduced(p, span) {
    const credit = p['credit'] - span;
    const burst = credit * p['rate'];
    return { params: { ...p, burst, credit }, limit: burst };
  },
  leak: (p, span) => span * p['rate'],
  lasts: () => Infinity,
  isWindow: false,
};

/** The same in drips: of those in w + span, at most ⌈span / dripRate⌉ are more than in w. */
const leakyBucket: Rule = {
  part: 1 / 10,
  reduced(p, span) {
    const size = p['size'] - leakyBucket.leak(p, span);
    return { params: { ...p, size }, limit: size };
  },
  leak: (p, span) => Math.ceil(span / p['dripRate']) * p['dripSize'],
  lasts: () => Infinity,
  isWindow: false,
};

/** Nothing is kept back: a lease ends with the window it was debited in. */
const fixedWindow: Rule = {
  part: 1 / 10,
  reduced: (params) => ({ params, limit: params['limit'] }),
  leak: () => 0,
  lasts: (_, resetAfter) => resetAfter,
  isWindow: true,
};

/** Clear after the current window and the next, so the current one ends `per` earlier. */
const slidingWindow: Rule = { ...fixedWindow, lasts: (p, resetAfter) => resetAfter - p['per'] };

/** Remembers each debit for a span longer, so that it outlives the last unit spent of it. */
const slidingLog: Rule = {
  ...fixedWindow,
  part: 1 / 25,
  reduced: (p, span) => ({ params: { ...p, per: p['per'] + span }, limit: p['limit'] }),
};

const RULES: ReadonlyMap<string, Rule> = new Map([
  ['gcra', gcra],
  ['leaky-bucket', leakyBucket],
  ['fixed-window', fixedWindow],
  ['calendar-window', fixedWindow],
  ['sliding-window', slidingWindow],
  ['sliding-log', slidingLog],
]);

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

/** Undefined where a plan cannot be leased, or where that would not pay. */
export function termsOf(plan: Plan, longest: Millis, nodes: number): Terms | undefined {
  const rules: [Rule, Numbers][] = [];
  let span = longest;
  for (const { algorithm, params, window } of plan.policies) {
    const rule = RULES.get(algorithm.name);
    if (rule === undefined) return undefined;
    rules.push([rule, params as Numbers]);
    span = Math.min(span, window * rule.part);
  }
  if (span < SHORTEST) return undefined;
  const reduced = rules.map(([rule, params]) => rule.reduced(params, span));
  const largest = Math.min(...reduced.map(({ limit }) => limit));
  if (largest < FEWEST * nodes) return undefined;

  const lasting = ({ policies }: Decision): Millis =>
    Math.min(...rules.map(([rule, params], i) => rule.lasts(params, policies[i].resetAfter)));
  return {
    span,
    plan: {
      ...plan,
      id: `${plan.id}&leased:${span}`,
      // The limit that is announced stays the one that was written.
      policies: plan.policies.map((policy, i) => ({ ...policy, params: reduced[i].params })),
    },
    largest,
    share: rules.some(([rule]) => rule.isWindow) ? 2 * nodes : 2,
    lot(decision, sent) {
      const lasts = lasting(decision);
      const end = sent + Math.min(span, lasts) * DRIFT;
      return { left: decision.taken, granted: decision.taken, sent, end, counts: sent + lasts * DRIFT };
    },
    returnable({ left, sent, counts }, now) {
      const then = now + ON_ITS_WAY;
      if (then >= counts) return 0;
      const leaked = Math.max(...rules.map(([rule, params]) => rule.leak(params, then - sent)));
      return Math.max(0, Math.floor(left - leaked));
    },
  };
}
