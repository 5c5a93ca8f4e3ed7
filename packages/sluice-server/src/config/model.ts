/** What a configuration says, after every word of it has been checked. */
import type { Millis, Mode, Policies } from 'sluice';

/** A mistake in a configuration file, where a person can find it. Line and column count from 1. */
export interface Fault {
  /** Its name, as it was given. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
  /** What is wrong there. */
  readonly message: string;
}

/** What is wrong with a configuration: all of it, a line each. */
export class ConfigError extends Error {
  /** One by one. */
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

/** A configuration, after every word of it has been checked. */
export interface Config {
  /** Sluice's own limits, by name. */
  readonly limits: ReadonlyMap<string, LimitConfig>;
  /** Envoy's, by domain. */
  readonly domains: ReadonlyMap<string, Domain>;
}

/** One of Sluice's own limits. */
export interface LimitConfig {
  /** By which it is asked for. */
  readonly name: string;
  /** As for `createLimiter`. */
  readonly policies: Policies;
  /** As for `createLimiter`. */
  readonly tiers: Readonly<Record<string, Policies>>;
  /** A key's own counts before patterns, and of these the first that fits. */
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
  /** How. */
  readonly treatment: Treatment;
}

/** Passes always, never, by a tier, or by policies of its own. */
export type Treatment = 'unlimited' | 'blocked' | { readonly tier: string } | { readonly policies: Policies };

/** Of Envoy's rates. */
export type Unit = 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year';

const DAY = 86_400_000;

/** Months and years are 30 and 365 days since 1970, as in the original: no calendar. */
export const UNITS: Readonly<Record<Unit, Millis>> = {
  second: 1000,
  minute: 60_000,
  hour: 3_600_000,
  day: DAY,
  week: 7 * DAY,
  month: 30 * DAY,
  year: 365 * DAY,
};

/** One of Envoy's domains. */
export interface Domain {
  /** By which it is asked for. */
  readonly name: string;
  /** Its outermost descriptors. */
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

/** A descriptor of the configuration. */
export interface Rule {
  /** What an entry must be called. */
  readonly key: string;
  /** Undefined: every value. */
  readonly value: string | undefined;
  /** Unambiguous, from the domain down: the name of its limiter. */
  readonly path: string;
  /** For people, as the original writes it: domain.key_value.key. */
  readonly label: string;
  /** Undefined: only descriptors below it have limits. */
  readonly limit: RuleLimit | undefined;
  /** The descriptors below it. */
  readonly level: Level | undefined;
  /** Decides and counts, but never denies. */
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

/** What a descriptor allows. */
export interface RuleLimit {
  /** Only a rate is counted. */
  readonly kind: 'rate' | 'unlimited' | 'blocked';
  /** For `replaces` of others. */
  readonly name: string | undefined;
  /** Names of limits that do not count where this one does. */
  readonly replaces: readonly string[];
  /** What answers call the limit; undefined: it was written as policies. */
  readonly rate: Rate | undefined;
  /** The policies as written. */
  readonly text: string | undefined;
  /** Undefined: nothing to count. */
  readonly policies: Policies | undefined;
  /** Envoy's limits count what they refuse; policies do not. */
  readonly mode: Mode;
}

/** As Envoy's service writes it. */
export interface Rate {
  /** So many … */
  readonly requestsPerUnit: number;
  /** … in each of these. */
  readonly unit: Unit;
  /** The window is so many units long. */
  readonly multiplier: number;
}
