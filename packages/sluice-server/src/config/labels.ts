/** Names of the limits of a configuration in metrics. */
import type { Config, Level } from './model.ts';

/** The names that are known before the first request. Rules whose names contain values of requests are left out. */
export function labelsOf({ limits, domains }: Config): string[] {
  return [...limits.keys(), ...[...domains.values()].flatMap(({ level }) => fixedLabels(level))];
}

function fixedLabels({ exact, patterns, any }: Level): string[] {
  return [...exact.values(), ...patterns, ...any.values()].flatMap((rule) => {
    const { label, limit, level, detailed, valueToMetric } = rule;
    if (valueToMetric) return [];
    return [
      ...(limit === undefined || limit.kind === 'unlimited' || detailed ? [] : [label]),
      ...(level === undefined ? [] : fixedLabels(level)),
    ];
  });
}
