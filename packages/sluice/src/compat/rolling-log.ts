/** What the rolling windows share: logs and a gap in one row, and a log that counts on when its limit is reached. */
import { type Decision, minInterval, type Policy } from '../index.ts';

/**
 * How far past its limit a log may count. Its own limit is raised by this much, so that `remaining` also says how much
 * was too much; and a cost raised by this much asks whether the cost fits the limit that was meant.
 */
export const ABOVE: number = 2 ** 40;

/**
 * Every attempt counts, and none is refused by the log itself. At least `entries` are kept apart; beyond that and beyond
 * the limit the oldest merge, which shows only in how much was too much.
 */
export function countPast(log: Policy, entries = 0): Policy {
  const limit = log.limit + ABOVE;
  return {
    ...log,
    limit,
    params: { ...log.params, limit, entries: Math.max(log.params['entries'] as number, entries) },
  };
}

export const GAP = 'gap';

/** The logs, and the longest of the least times between two actions. */
export function policiesOf(logs: readonly Policy[], gaps: readonly number[]): Record<string, Policy> {
  const policies = Object.fromEntries(logs.map((log, index) => [`log ${index}`, log]));
  const every = Math.max(...gaps);
  return every > 0 ? { ...policies, [GAP]: minInterval({ every }) } : policies;
}

/** What is left of the log with least left. */
export function leftOf({ policies }: Decision): number {
  return Math.min(...policies.filter(({ name }) => name !== GAP).map(({ remaining }) => remaining));
}
