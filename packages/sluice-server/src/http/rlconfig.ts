/** GET /rlconfig: what is loaded, a line each. */
import type { Config, Level, Rule } from '../config/model.ts';

export function showConfig({ limits, domains }: Config): string {
  const lines: string[] = [];
  for (const { level } of domains.values()) showLevel(level, lines);
  for (const { name, text, tiers, overrides, mode, shadow } of limits.values()) {
    lines.push(
      `limit ${name}: ${text}, mode: ${mode}, tiers: ${Object.keys(tiers).length}, overrides: ${overrides.length}, shadow_mode: ${shadow}`,
    );
  }
  return lines.map((line) => `${line}\n`).join('');
}

function showLevel({ exact, patterns, any }: Level, lines: string[]): void {
  for (const rule of [...exact.values(), ...patterns, ...any.values()]) {
    const limit = showLimit(rule);
    if (limit !== undefined) lines.push(`${rule.label}: ${limit}, shadow_mode: ${rule.shadow}`);
    if (rule.level !== undefined) showLevel(rule.level, lines);
  }
}

function showLimit({ limit }: Rule): string | undefined {
  if (limit === undefined || limit.kind === 'unlimited') return limit?.kind;
  const { rate, text } = limit;
  if (rate === undefined) return `policies=${text}`;
  const times = rate.multiplier === 1 ? '' : ` unit_multiplier=${rate.multiplier}`;
  return `unit=${rate.unit.toUpperCase()}${times} requests_per_unit=${rate.requestsPerUnit}`;
}
