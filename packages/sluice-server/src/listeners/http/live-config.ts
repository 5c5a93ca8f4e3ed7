/**
 * Creates the data of the `config` event of /live: the limits in use, when they were loaded, and why a newer file was rejected.
 */
import type { Config, RuleLimit } from '../../config/model.ts';
import type { Loaded } from '../../config/reload.ts';
import { VERSION } from '../../version.ts';
import { rulesOf } from './rlconfig.ts';

export interface LiveFacts {
  readonly loaded: Loaded;
  /** The files that were loaded, as text. */
  readonly source: string;
  /** Whether the whole server is in shadow mode. */
  readonly isShadow: boolean;
}

export function liveConfig(config: Config, { loaded, source, isShadow }: LiveFacts): object {
  const own = [...config.limits.values()].map(({ name, text: policies, shadow }) => ({
    name,
    policies,
    shadow: isShadow || shadow,
  }));
  const rules = rulesOf(config).map(({ label: name, limit, shadow }) => ({
    name,
    policies: showLimit(limit),
    shadow: isShadow || shadow,
    descriptor: true,
  }));
  return {
    version: VERSION,
    startedAt: Math.round(performance.timeOrigin),
    source,
    loadedAt: loaded.loadedAt,
    error: loaded.error,
    shadow: isShadow,
    limits: [...own, ...rules],
  };
}

function showLimit({ kind, rate, text }: RuleLimit): string {
  if (kind !== 'rate') return kind;
  if (rate === undefined) return text ?? '';
  const { requestsPerUnit, multiplier, unit } = rate;
  return `${requestsPerUnit} per ${multiplier === 1 ? unit : `${multiplier} ${unit}s`}`;
}
