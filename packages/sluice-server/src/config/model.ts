/** The data model of a validated configuration. */
import type { LimiterOptions, Millis, Mode, Policies } from 'sluice';

/** Describes something invalid in a configuration file, and where it is. */
export interface Fault {
  /** Path of the file, as it was given by the user. */
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  /** Counted from 1. */
  readonly column: number;
  /** Explains what is invalid. */
  readonly message: string;
}

/** Thrown for an invalid configuration. The message lists all faults, one per line. */
export class ConfigError extends Error {
  /** The faults found in all files. */
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    super(faults.map(showFault).join('\n'));
    this.name = 'ConfigError';
    this.faults = faults;
  }
}

/** Formats a fault in the format that compilers use, so that editors and CI can link to its position. */
export function showFault({ file, line, column, message }: Fault): string {
  return `${file}:${line}:${column}: ${message}`;
}

/** A validated configuration. */
export interface Config {
  /** The limits of the `limits` section, by name. */
  readonly limits: ReadonlyMap<string, LimitConfig>;
  /** Envoy rate limit domains, by name. */
  readonly domains: ReadonlyMap<string, Domain>;
}

/** A limit of the `limits` section. */
export interface LimitConfig {
  /** Name that requests use for this limit. */
  readonly name: string;
  /** Policies in the form that `createLimiter` accepts. */
  readonly policies: Policies;
  /** Policies of each tier, by the tier's name. */
  readonly tiers: Readonly<Record<string, Policies>>;
  /** Classes of takes, by name, and how much of each policy a take of the class must leave free. */
  readonly classes: NonNullable<LimiterOptions['classes']>;
  /** Exceptions for some keys. An exact key takes precedence over patterns; among patterns, the first match applies. */
  readonly overrides: readonly Override[];
  /** Mode of takes that do not specify a mode. */
  readonly mode: Mode;
  /** Whether the limit is in shadow mode, in which it is evaluated and counted but never denies a request. */
  readonly shadow: boolean;
  /** What decides while the store is unavailable. Undefined for the server's default, `--on-failure`. */
  readonly onFailure?: FailureAnswer | undefined;
  /** The policies as written in the file, on one line. */
  readonly text: string;
}

/**
 * What decides while the store is unavailable: this server alone (`local`), an error (`throw`), or the same answer for every
 * request (`allow` or `deny`).
 */
export type FailureAnswer = 'local' | 'throw' | 'allow' | 'deny';

export const FAILURE_ANSWERS: readonly FailureAnswer[] = ['local', 'throw', 'allow', 'deny'];

/** The classes of a limit, in the form that `createLimiter` accepts. */
export type Classes = NonNullable<LimiterOptions['classes']>;

/** An exception for some keys, regardless of the caller's tier. */
export interface Override {
  /** A key, or a pattern in which `*` matches any text. */
  readonly keys: string;
  /** What applies to these keys instead of the limit's policies. */
  readonly treatment: Treatment;
}

/** What applies to overridden keys: no limit, always denied, a tier of the limit, or separate policies. */
export type Treatment = 'unlimited' | 'blocked' | { readonly tier: string } | { readonly policies: Policies };

/** Time unit of an Envoy rate limit. */
export type Unit = 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year';

const DAY = 86_400_000;

/** Length of each unit. Windows are aligned to 1970. As in envoyproxy/ratelimit, a month has 30 days and a year has 365 days. */
export const UNITS: Readonly<Record<Unit, Millis>> = {
  second: 1000,
  minute: 60_000,
  hour: 3_600_000,
  day: DAY,
  week: 7 * DAY,
  month: 30 * DAY,
  year: 365 * DAY,
};

/** An Envoy rate limit domain. */
export interface Domain {
  /** Name that requests use for this domain. */
  readonly name: string;
  /** The outermost descriptors. */
  readonly level: Level;
}

/** Sibling descriptors, indexed by how specific they are. */
export interface Level {
  /** Descriptors with a key and a value. */
  readonly exact: Map<string, Rule>;
  /** Descriptors whose value contains `*`, in file order. */
  readonly patterns: Rule[];
  /** Descriptors with only a key. */
  readonly any: Map<string, Rule>;
}

/** A descriptor in the configuration. */
export interface Rule {
  /** Key that a request's entry must have. */
  readonly key: string;
  /** Value or pattern that the entry must match. Undefined matches every value. */
  readonly value: string | undefined;
  /** Unique path from the domain to this descriptor. The name of the descriptor's limiter contains this path. */
  readonly path: string;
  /** Name in metrics, in the format of envoyproxy/ratelimit: domain.key_value.key. */
  readonly label: string;
  /** The limit of this descriptor. Undefined if only nested descriptors have limits. */
  readonly limit: RuleLimit | undefined;
  /** Nested descriptors. */
  readonly level: Level | undefined;
  /** Whether the descriptor is in shadow mode, in which it is evaluated and counted but never denies a request. */
  readonly shadow: boolean;
  /**
   * Whether the descriptor is in quota mode, in which a request is denied only if all of its descriptors in quota mode exceed their
   * limits.
   */
  readonly quota: boolean;
  /** Data that the response contains while the descriptor is within its limit. */
  readonly metadata: Metadata | undefined;
  /** Whether all values that match the pattern share one count. */
  readonly shared: boolean;
  /** Whether metrics have a separate label for each value of this entry. */
  readonly valueToMetric: boolean;
  /** Whether metrics have a separate label for each combination of values. */
  readonly detailed: boolean;
}

/** The `metadata` of a descriptor: a map of names to JSON values. */
export type Metadata = Readonly<Record<string, unknown>>;

/** The limit of a descriptor. */
export interface RuleLimit {
  /** Only limits of kind 'rate' count requests. 'unlimited' always allows, and 'blocked' always denies. */
  readonly kind: 'rate' | 'unlimited' | 'blocked';
  /** Name that other limits can refer to in `replaces`. */
  readonly name: string | undefined;
  /** Names of limits that do not apply to a request if this limit applies to it. */
  readonly replaces: readonly string[];
  /** The rate as reported to clients. Undefined if the limit was written as policies. */
  readonly rate: Rate | undefined;
  /** The policies as written in the file. Undefined if the limit was written as a rate. */
  readonly text: string | undefined;
  /** The policies that count requests. Undefined if `kind` is 'unlimited' or 'blocked', because these kinds count nothing. */
  readonly policies: Policies | undefined;
  /**
   * How costs are charged. Rates use 'always', which also counts denied requests, as envoyproxy/ratelimit does. Policies use
   * 'whole'.
   */
  readonly mode: Mode;
}

/** A rate limit in the terms of Envoy's service. */
export interface Rate {
  /** Requests allowed in each window. */
  readonly requestsPerUnit: number;
  /** Unit of the window's length. */
  readonly unit: Unit;
  /** Length of the window, as a multiple of `unit`. */
  readonly multiplier: number;
}
