/** What a configuration says, after every word of it has been checked. */
import type { Mode, Policies } from 'sluice';

/** A mistake in a configuration file, where a person can find it. Line and column count from 1. */
export interface Fault {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

export class ConfigError extends Error {
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    super(faults.map(showFault).join('\n'));
    this.name = 'ConfigError';
    this.faults = faults;
  }
}

/** As compilers print it, so that editors and CI can jump there. */
export function showFault({ file, line, column, message }: Fault): string {
  return `${file}:${line}:${column}: ${message}`;
}

export interface Config {
  /** Sluice's own limits, by name. */
  readonly limits: ReadonlyMap<string, LimitConfig>;
  /** Envoy's, by domain. */
  readonly domains: ReadonlyMap<string, Domain>;
}

export interface LimitConfig {
  readonly name: string;
  readonly policies: Policies;
  readonly tiers: Readonly<Record<string, Policies>>;
  readonly overrides: readonly Override[];
  /** For takes that name no mode of their own. */
  readonly mode: Mode;
  /** Decides and counts, but never denies. */
  readonly shadow: boolean;
  /** As written, in one line. */
  readonly text: string;
}

/** Some keys are treated differently, whoever asks. */
export interface Override {
  /** A key, or a pattern with `*`. */
  readonly keys: string;
  readonly then: 'unlimited' | 'blocked' | { readonly tier: string } | { readonly policies: Policies };
}

export const UNITS = {
  second: 1000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  week: 7 * 86_400_000,
  // As the original has them: 30 and 365 days since 1970, no calendar.
  month: 30 * 86_400_000,
  year: 365 * 86_400_000,
} as const;

export type Unit = keyof typeof UNITS;

export interface Domain {
  readonly name: string;
  readonly level: Level;
}

/** Descriptors beside each other, found by what they ask of an entry, the most specific first. */
export interface Level {
  /** By key and value. */
  readonly exact: Map<string, Rule>;
  /** With a `*` in the value, in the order of the file. */
  readonly patterns: Rule[];
  /** By key alone. */
  readonly any: Map<string, Rule>;
}

export interface Rule {
  readonly key: string;
  /** Undefined: every value. */
  readonly value: string | undefined;
  /** Unambiguous, from the domain down: the name of its limiter, and what metrics call it. */
  readonly path: string;
  readonly limit: RuleLimit | undefined;
  readonly level: Level | undefined;
  readonly shadow: boolean;
  /** Never denies; the answer says which descriptors went over. */
  readonly quota: boolean;
  /** All values that match the pattern are one subject. */
  readonly shared: boolean;
  /** Metrics tell the values of this entry apart. */
  readonly valueToMetric: boolean;
  /** Metrics tell the values of all entries apart. */
  readonly detailed: boolean;
}

export interface RuleLimit {
  readonly kind: 'rate' | 'unlimited' | 'blocked';
  readonly name: string | undefined;
  readonly replaces: readonly string[];
  /** What answers call the limit; undefined: it was written as policies. */
  readonly rate: Rate | undefined;
  /** Undefined: nothing to count. */
  readonly policies: Policies | undefined;
  /** Envoy's limits count what they refuse; policies do not. */
  readonly mode: Mode;
}

export interface Rate {
  readonly requestsPerUnit: number;
  readonly unit: Unit;
  /** The window is so many units long. */
  readonly multiplier: number;
}
