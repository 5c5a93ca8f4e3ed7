/** Decides Envoy's ShouldRateLimit: whether a request with the given descriptors may pass. */
import {
  createLimiter,
  type Decision,
  type Limiter,
  type MaybePromise,
  type Millis,
  type Policies,
  type Store,
} from 'sluice';
import { limitOf, pathWord } from '../config/descriptors.ts';
import {
  type Config,
  type Domain,
  type Metadata,
  type Rate,
  type Rule,
  type RuleLimit,
  type Unit,
  UNITS,
} from '../config/model.ts';
import type { Steps } from './slices.ts';
import { boundedCache } from './bounded-cache.ts';
import { isCostError } from './bounded-charges.ts';
import { blocked } from './limit.ts';
import { type Entry, type Match, matchRule } from './match.ts';
import { all, chain } from './maybe-promise.ts';

/** A descriptor: a list of key-value pairs that Envoy uses to describe a request. */
export interface Descriptor {
  /** The key-value pairs, ordered from the outermost to the innermost level of the configuration. */
  readonly entries: readonly Entry[];
  /** A limit to use instead of the configured one. */
  readonly limit?: { readonly requestsPerUnit: number; readonly unit: Unit } | undefined;
  /** Cost of this descriptor, instead of the request's `hitsAddend`. A cost of 0 checks without charging. */
  readonly hitsAddend?: number | undefined;
  /** Whether to refund the hits instead of charging them. */
  readonly isNegativeHits?: boolean | undefined;
}

/** The result for one descriptor. */
export interface DescriptorStatus {
  /** Result code, as Envoy's service defines it. */
  readonly code: 'OK' | 'OVER_LIMIT';
  /** The limit that applies. Undefined if no limit applies. */
  readonly currentLimit?: CurrentLimit | undefined;
  /** Requests left in the current window. For an unlimited descriptor, the largest uint32. */
  readonly limitRemaining: number;
  /** Time until the current window ends. Undefined if no limit applies. */
  readonly resetAfter?: Millis | undefined;
}

/** The limit that applied to a descriptor. */
export interface CurrentLimit {
  /** Name of the limit in the configuration, if the limit has a name. */
  readonly name: string | undefined;
  /** Requests allowed in each window. */
  readonly requestsPerUnit: number;
  /** Length of the window. Undefined if Envoy has no unit of this length. */
  readonly unit: Unit | undefined;
}

/** The answer to Envoy's ShouldRateLimit. */
export interface RateLimitAnswer {
  /** Whether the request must be denied. */
  readonly overLimit: boolean;
  /** One status per descriptor, in the same order. */
  readonly statuses: readonly DescriptorStatus[];
  /** Whether a limit in quota mode applied to at least one descriptor. */
  readonly quotaMode: boolean;
  /** Indexes of the descriptors in quota mode that exceeded their limit. */
  readonly quotaViolations: readonly number[];
  /**
   * The configured `metadata` of all descriptors that are within their limit. If several of them set the same name, the first one
   * applies. Undefined if none of them has metadata.
   */
  readonly metadata?: Metadata | undefined;
}

/** Called with each decision. `shadowed` is true for a denial that shadow or quota mode let pass. */
export type Observe = (label: string, key: string, decision: Decision, shadowed: boolean) => void;

/** Maximum number of descriptors in one request. */
export const MAX_DESCRIPTORS = 1000;
const MAX_REMAINING = 2 ** 32 - 1;
const OK: DescriptorStatus = { code: 'OK', limitRemaining: 0 };
/**
 * Minimum number of entries to keep in each cache: the cache of limits that come with requests, and the cache of their limiters.
 */
const CACHED = 1000;

type AnyLimiter = Limiter<MaybePromise<Decision>>;

export class Descriptors {
  private readonly domains: Config['domains'];
  private readonly store: Store;
  private readonly observe: Observe;
  private readonly limiters = new Map<Rule, AnyLimiter>();
  /** Limits that came with requests, by rate and unit. */
  private readonly ownLimits = boundedCache<RuleLimit>(CACHED);
  /** Limiters for the limits that came with requests, by path. One limiter serves all rates that requests send for its path. */
  private readonly ownLimiters = boundedCache<AnyLimiter>(CACHED);
  /** Policies for the next take of a limiter in `ownLimiters`. The limiter reads them synchronously. */
  private ownPolicies: Policies = [];

  constructor(domains: Config['domains'], store: Store, observe: Observe) {
    this.domains = domains;
    this.store = store;
    this.observe = observe;
  }

  /** Creates the limiters. Must be complete before the first decision. */
  *open(): Steps {
    for (const { level } of this.domains.values()) yield* this.openLevel(level);
  }

  /**
   * Releases the names of all limiters, so that limiters with different policies can use the names. The released limiters keep
   * working.
   */
  *close(): Steps {
    for (const limiter of this.limiters.values()) {
      void limiter.close();
      yield;
    }
  }

  decide(
    domainName: string,
    descriptors: readonly Descriptor[],
    hitsAddend = 1,
  ): MaybePromise<RateLimitAnswer> {
    const domain = this.domains.get(domainName);
    const found = descriptors.map((one) => (domain === undefined ? undefined : this.find(domain, one)));
    removeReplaced(found);
    const statuses = descriptors.map((descriptor, i): MaybePromise<DescriptorStatus> => {
      const match = found[i];
      if (match === undefined || match.limit === undefined) return OK;
      return this.ask(match, match.limit, descriptor, descriptor.hitsAddend ?? hitsAddend);
    });
    return chain(all(statuses), (asked) => this.answer(asked, found));
  }

  /**
   * Combines the statuses. As in envoyproxy/ratelimit, a request is over the limit if a descriptor outside quota mode exceeds its
   * limit, or if all descriptors in quota mode do.
   */
  private answer(
    statuses: readonly DescriptorStatus[],
    found: readonly (Found | undefined)[],
  ): RateLimitAnswer {
    let overLimit = false;
    let quotas = 0;
    const quotaViolations: number[] = [];
    let metadata: Metadata | undefined;
    for (let i = 0; i < statuses.length; i++) {
      const isOver = statuses[i].code === 'OVER_LIMIT';
      const rule = found[i]?.limit === undefined ? undefined : found[i]?.rule;
      if (rule?.quota) {
        quotas++;
        if (isOver) quotaViolations.push(i);
      } else overLimit ||= isOver;
      if (rule?.metadata !== undefined && !isOver) metadata = { ...rule.metadata, ...metadata };
    }
    if (quotas > 0 && quotaViolations.length === quotas) overLimit = true;
    for (const i of quotaViolations) {
      const { label, subject, overQuota } = found[i] as Found;
      if (overQuota !== undefined) this.observe(label, subject, overQuota, !overLimit);
    }
    const answer = { overLimit, statuses, quotaMode: quotas > 0, quotaViolations };
    return metadata === undefined ? answer : { ...answer, metadata };
  }

  private find(domain: Domain, descriptor: Descriptor): Found | undefined {
    const { entries, limit } = descriptor;
    if (limit !== undefined) return this.ownLimit(domain, entries, { ...limit, multiplier: 1 });
    const match = matchRule(domain, entries);
    if (match === undefined) return undefined;
    // Listing the fields is much faster than spreading, and this runs for every descriptor.
    const { rule, subject, label } = match;
    return {
      rule,
      subject,
      label,
      limit: rule.limit,
      limiter: this.limiters.get(rule),
      overQuota: undefined,
    };
  }

  /** The limit that comes with the request, which is counted separately from the configured limits. */
  private ownLimit(domain: Domain, entries: readonly Entry[], rate: Rate): Found {
    const path = [domain.name, '', ...entries.map(({ key }) => key)].map(pathWord).join('/');
    const numbers = `${rate.requestsPerUnit} ${rate.unit}`;
    const limit =
      this.ownLimits.get(numbers) ??
      this.ownLimits.set(numbers, { name: undefined, replaces: [], ...limitOf(rate) });
    const limiter =
      limit.policies === undefined ? undefined : (this.ownLimiters.get(path) ?? this.openOwn(path));
    const subject = entries.map(({ value }) => pathWord(value)).join('/');
    const label = `${domain.name}/override`;
    return { rule: undefined, subject, label, limit, limiter, overQuota: undefined };
  }

  /** Opens one limiter for all rates of a path, because a client may send a different rate with each descriptor. */
  private openOwn(path: string): AnyLimiter {
    const limiter = createLimiter(() => this.ownPolicies, { name: `rls:${path}`, store: this.store });
    return this.ownLimiters.set(path, limiter);
  }

  private ask(
    match: Found,
    limit: RuleLimit,
    { isNegativeHits = false }: Descriptor,
    cost: number,
  ): MaybePromise<DescriptorStatus> {
    if (limit.kind === 'unlimited') return { code: 'OK', limitRemaining: MAX_REMAINING };
    const { rule, subject, label, limiter } = match;
    if (rule === undefined && limit.policies !== undefined) this.ownPolicies = limit.policies;
    const isShadow = rule?.shadow === true;
    let isTooMuch = false;
    let decision: MaybePromise<Decision>;
    try {
      decision = limiter === undefined ? blocked() : hit(limiter, subject, cost, limit, isNegativeHits);
    } catch (error) {
      if (!isCostError(error) || limiter === undefined) throw error;
      // Envoy lets requests pass if this service returns an error, so a cost that is too high is denied instead. Limits that count
      // denied requests are charged as much as possible.
      isTooMuch = true;
      decision =
        isNegativeHits || limit.mode === 'always'
          ? hit(limiter, subject, error.most, limit, isNegativeHits)
          : limiter.peek(subject);
    }
    return chain(decision, (known) => {
      const isOver = (isTooMuch || !known.allowed) && !isNegativeHits;
      const shown = known.allowed === !isOver ? known : { ...known, allowed: !isOver };
      // Whether a denial in quota mode denies the request depends on the other descriptors.
      if (isOver && !isShadow && rule?.quota) match.overQuota = shown;
      else this.observe(label, subject, shown, isOver && isShadow);
      const status = statusOf(limit, known, isOver);
      return isOver && isShadow ? { ...status, code: 'OK' } : status;
    });
  }

  private *openLevel(level: Rule['level']): Steps {
    if (level === undefined) return;
    for (const rule of [...level.exact.values(), ...level.patterns, ...level.any.values()]) {
      if (rule.limit?.policies !== undefined) {
        const { policies } = rule.limit;
        this.limiters.set(rule, createLimiter(policies, { name: `rls:${rule.path}`, store: this.store }));
      }
      yield;
      yield* this.openLevel(rule.level);
    }
  }
}

interface Found extends Omit<Match, 'rule'> {
  /** The rule in the configuration. Undefined if the limit came with the request. */
  readonly rule: Rule | undefined;
  readonly limit: RuleLimit | undefined;
  readonly limiter: AnyLimiter | undefined;
  /** The denial of a limit in quota mode, until it is known whether the request is denied. */
  overQuota: Decision | undefined;
}

function hit(
  limiter: AnyLimiter,
  subject: string,
  cost: number,
  { mode }: RuleLimit,
  isRefund: boolean,
): MaybePromise<Decision> {
  if (isRefund) return limiter.refund(subject, cost);
  // A call without options is faster, because there is nothing to validate.
  return cost === 1 && mode === 'whole' ? limiter.take(subject) : limiter.take(subject, { cost, mode });
}

/** Removes the matches whose limit is replaced by the limit of another match. */
function removeReplaced(found: (Found | undefined)[]): void {
  if (found.every((match) => (match?.limit?.replaces.length ?? 0) === 0)) return;
  const replaced = new Set(found.flatMap((match) => match?.limit?.replaces ?? []));
  found.forEach((match, i) => {
    if (match?.limit?.name !== undefined && replaced.has(match.limit.name)) found[i] = undefined;
  });
}

function statusOf(limit: RuleLimit, decision: Decision, isOver: boolean): DescriptorStatus {
  const { rate, name } = limit;
  return {
    code: isOver ? 'OVER_LIMIT' : 'OK',
    currentLimit:
      rate === undefined
        ? { name, requestsPerUnit: wholeOf(decision.limit), unit: unitOfWindow(decision) }
        : { name, requestsPerUnit: rate.requestsPerUnit, unit: rate.unit },
    limitRemaining: isOver ? 0 : wholeOf(decision.remaining),
    resetAfter: resetOf(rate, decision),
  };
}

function wholeOf(value: number): number {
  return Math.max(0, Math.min(Math.floor(value), MAX_REMAINING));
}

/** Time until the window ends, even if nothing has been counted in it yet. */
function resetOf(rate: Rate | undefined, { resetAfter }: Decision): Millis {
  if (rate === undefined || (resetAfter > 0 && resetAfter < Infinity)) return resetAfter;
  const window = UNITS[rate.unit] * rate.multiplier;
  return window - (Date.now() % window);
}

function unitOfWindow({ policy, policies }: Decision): Unit | undefined {
  const window = policies.find(({ name }) => name === policy)?.window;
  return (Object.keys(UNITS) as Unit[]).find((unit) => UNITS[unit] === window);
}
