/**
 * What passed and what did not, by limiter and policy: counters in plain numbers, for whoever shows them. How many there
 * are is bounded, whatever names come, and no key is among them.
 */
import type { Hit, Plan } from '../engine/contract.ts';
import { SluiceError, type StoreFault } from '../internal/errors.ts';
import { bound, checkOptionNames } from '../internal/options.ts';
import type { Observer } from '../wrappers/metered.ts';
import type { Family } from './family.ts';

export interface TallyOptions {
  /** What passes when more than this share of the limit is used is near it. Default 0.8. */
  readonly nearRatio?: number | undefined;
  /** Limiters told apart; what comes after is counted as 'other'. Default 200. */
  readonly maxLimiters?: number | undefined;
}

export interface Tally extends Required<Observer> {
  /** The limiter's name, or 'other'. */
  nameOf(hit: Hit): string;
  families(): Family[];
}

interface Counts {
  allowed: number;
  denied: number;
  near: number;
}

/** Policies of a limiter told apart. Those by key could be any number. */
const MAX_POLICIES = 50;
const OTHER = 'other';

export function tally(what: string, options: TallyOptions = {}): Tally {
  const { nearRatio = 0.8, maxLimiters = 200 } = checkOptionNames(what, options, [
    'nearRatio',
    'maxLimiters',
  ]);
  if (!(nearRatio > 0 && nearRatio <= 1))
    throw new SluiceError('ERR_NUMBER', `${what}.nearRatio`, nearRatio, 'at most 1');
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

  /** Most hits are of the same limiter and policy as the one before. */
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
          help: 'Takes, reservations and turns decided.',
          samples: rows.flatMap(({ labels, counts }) => [
            { labels: { ...labels, outcome: 'allowed' }, value: counts.allowed },
            { labels: { ...labels, outcome: 'denied' }, value: counts.denied },
          ]),
        },
        {
          name: 'sluice.near_limit',
          type: 'counter',
          help: 'Those that passed near the limit.',
          samples: rows.map(({ labels, counts }) => ({ labels, value: counts.near })),
        },
        {
          name: 'sluice.answers',
          type: 'counter',
          help: 'Answers to hits of all verbs, by who gave them.',
          samples: Object.entries(answers).map(([source, value]) => ({ labels: { source }, value })),
        },
        {
          name: 'sluice.store.errors',
          type: 'counter',
          help: 'Hits that ended in an error, by fault.',
          samples: [...faults].map(([fault, value]) => ({ labels: { fault }, value })),
        },
      ];
    },
  };
}
