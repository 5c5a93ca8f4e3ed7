/**
 * Counts decisions by limiter and policy, as plain numbers for the exporters. The number of counters is bounded, however many names
 * occur, and keys are never used as labels.
 */
import type { Hit, Plan } from '../engine/contract.ts';
import { SluiceError, type StoreFault } from '../internal/errors.ts';
import { bound, checkOptionNames } from '../internal/options.ts';
import type { Observer } from '../wrappers/metered.ts';
import type { Family } from './family.ts';

/** Options that all metrics observers share. */
export interface TallyOptions {
  /**
   * An allowed request counts as near the limit if more than this fraction of the limit is used once the request has passed.
   * Default 0.8.
   */
  readonly nearRatio?: number | undefined;
  /** The maximum number of limiters that are counted separately. Further limiters are counted as 'other'. Default 200. */
  readonly maxLimiters?: number | undefined;
}

/** Counts decisions for an exporter. Created by `tally`. */
export interface Tally extends Required<Observer> {
  /** Returns the limiter's name, or 'other'. */
  nameOf(hit: Hit): string;
  /** Returns the current counts as metrics. */
  families(): Family[];
}

interface Counts {
  allowed: number;
  denied: number;
  near: number;
}

/**
 * The maximum number of policies per limiter that are counted separately. There must be a maximum, because the number of policies
 * that a policy function returns is unbounded.
 */
const MAX_POLICIES = 50;
const OTHER = 'other';

/** Creates the counters. `what` is the function that error messages name. */
export function tally(what: string, options: TallyOptions = {}): Tally {
  const { nearRatio = 0.8, maxLimiters = 200 } = checkOptionNames(what, options, [
    'nearRatio',
    'maxLimiters',
  ]);
  if (!(nearRatio > 0 && nearRatio <= 1))
    throw new SluiceError('ERR_NUMBER', `${what}.nearRatio`, nearRatio, '', 'must be above 0 and at most 1');
  bound(`${what}.maxLimiters`, maxLimiters);
  const limiters = new Map<string, Map<string, Counts>>();
  const faults = new Map<StoreFault, number>();
  const answers = { store: 0, 'deny-cache': 0, lease: 0, fallback: 0 };

  function nameOf({ plan: { name } }: Hit): string {
    if (limiters.has(name)) return name;
    if (limiters.size >= maxLimiters) return OTHER;
    limiters.set(name, new Map());
    return name;
  }

  /** The counts of the previous hit. Most hits have the same limiter and policy as the hit before. */
  let last: { readonly plan: Plan; readonly policy: string; readonly counts: Counts } | undefined;

  function countsOf(hit: Hit, policy: string): Counts {
    if (last?.plan === hit.plan && last.policy === policy) return last.counts;
    const counts = limiters.get(hit.plan.name)?.get(policy) ?? countsFor(nameOf(hit), policy);
    last = { plan: hit.plan, policy, counts };
    return counts;
  }

  function countsFor(limiter: string, policy: string): Counts {
    const policies = limiters.get(limiter) ?? new Map<string, Counts>();
    limiters.set(limiter, policies);
    const shown = policies.has(policy) || policies.size < MAX_POLICIES ? policy : OTHER;
    const counts = policies.get(shown) ?? { allowed: 0, denied: 0, near: 0 };
    policies.set(shown, counts);
    return counts;
  }

  return {
    nameOf,
    decided(hit, { policy, source, limit, remaining }, outcome) {
      answers[source]++;
      if (outcome === undefined) return;
      const counts = countsOf(hit, policy);
      counts[outcome]++;
      if (outcome === 'allowed' && limit < Infinity && limit - remaining > limit * nearRatio) counts.near++;
    },
    failed(_hit, _error, fault) {
      faults.set(fault, (faults.get(fault) ?? 0) + 1);
    },
    families() {
      const rows = [...limiters].flatMap(([limiter, policies]) =>
        [...policies].map(([policy, counts]) => ({ labels: { limiter, policy }, counts })),
      );
      return [
        {
          name: 'sluice.decisions',
          type: 'counter',
          help: 'Decisions on takes, reservations and acquired turns.',
          samples: rows.flatMap(({ labels, counts }) => [
            { labels: { ...labels, outcome: 'allowed' }, value: counts.allowed },
            { labels: { ...labels, outcome: 'denied' }, value: counts.denied },
          ]),
        },
        {
          name: 'sluice.near_limit',
          type: 'counter',
          help: 'Allowed requests whose key was close to its limit.',
          samples: rows.map(({ labels, counts }) => ({ labels, value: counts.near })),
        },
        {
          name: 'sluice.answers',
          type: 'counter',
          help: 'Number of answered hits, for all verbs, by source.',
          samples: Object.entries(answers).map(([source, value]) => ({ labels: { source }, value })),
        },
        {
          name: 'sluice.store.errors',
          type: 'counter',
          help: 'Hits that failed, by kind of fault.',
          samples: [...faults].map(([fault, value]) => ({ labels: { fault }, value })),
        },
      ];
    },
  };
}
