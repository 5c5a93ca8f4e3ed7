/** Handles GET /rlconfig, which shows the configuration in use, one line per limit. */
import type { Config, Level, Rule, RuleLimit } from '../../config/model.ts';

/** `isShadow` says whether the whole server is in shadow mode. */
export function showConfig(config: Config, isShadow: boolean): string {
  const lines = rulesOf(config).map(
    ({ label, limit, shadow }) => `${label}: ${showLimit(limit)}, shadow_mode: ${isShadow || shadow}`,
  );
  for (const { name, text, tiers, overrides, mode, shadow } of config.limits.values()) {
    lines.push(
      `limit ${name}: ${text}, mode: ${mode}, tiers: ${Object.keys(tiers).length}, overrides: ${overrides.length}, shadow_mode: ${isShadow || shadow}`,
    );
  }
  return lines.map((line) => `${line}\n`).join('');
}

/** The rules that have a limit, in all domains. */
export function rulesOf({ domains }: Config): (Rule & { readonly limit: RuleLimit })[] {
  return [...domains.values()].flatMap(({ level }) => rulesIn(level));
}

function rulesIn({ exact, patterns, any }: Level): (Rule & { readonly limit: RuleLimit })[] {
  return [...exact.values(), ...patterns, ...any.values()].flatMap((rule) => [
    ...(rule.limit === undefined ? [] : [{ ...rule, limit: rule.limit }]),
    ...(rule.level === undefined ? [] : rulesIn(rule.level)),
  ]);
}

function showLimit({ kind, rate, text }: RuleLimit): string {
  if (kind === 'unlimited') return kind;
  if (rate === undefined) return `policies=${text}`;
  const times = rate.multiplier === 1 ? '' : ` unit_multiplier=${rate.multiplier}`;
  return `unit=${rate.unit.toUpperCase()}${times} requests_per_unit=${rate.requestsPerUnit}`;
}
