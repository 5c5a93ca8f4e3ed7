/**
 * Makes all decisions for the listeners: about named limits, Envoy's descriptors and CL.THROTTLE. Decisions are synchronous if
 * the store decides synchronously.
 */
import type { Decision, Duration, ManyDecision, MaybePromise, Store } from 'sluice';
import type { Config } from '../config/model.ts';
import { type ClThrottle, openCell } from './cell.ts';
import type { FallbackWatch } from '../telemetry/fallback-watch.ts';
import { createMetrics, type Metrics } from '../telemetry/metrics/metrics.ts';
import { Descriptors, type Descriptor, type RateLimitAnswer } from './descriptors.ts';
import { boundCharges } from './bounded-charges.ts';
import {
  type AskOptions,
  type Booking,
  type Limit,
  type ManyPart,
  openLimit,
  type Settlement,
} from './limit.ts';
import { measuredStore } from './measured-store.ts';
import { openRequestPolicies, REQUEST_POLICIES } from './request-policies.ts';
import { takeParts } from './take-many.ts';
import { runInSlices, runWhole, type Steps } from './slices.ts';
import { all, chain, isPromise } from './maybe-promise.ts';

/** The decision of a take. */
export interface Verdict extends Decision {
  /** Set if the take would have been denied, but shadow mode let it pass. */
  readonly shadowed?: true;
}

/** One of the takes in a call of `takeMany`, which charges either all of them or none. */
export interface ManyItem extends Omit<AskOptions, 'mode' | 'at' | 'maxDelay'> {
  /** The limit that decides on the key. */
  readonly limit: LimitRef;
  /** The key to charge. */
  readonly key: string;
}

/** The decision of `takeMany`. */
export interface ManyVerdict extends ManyDecision {
  /** Set if the takes would have been denied, but shadow mode let them pass. */
  readonly shadowed?: true;
}

export interface CoreOptions {
  /** Where the state of the limits is kept. `Core.close` closes it. */
  readonly store: Store;
  /** Whether the store keeps the key strings that it is given. Default true. */
  readonly keepsKeys?: boolean | undefined;
  /** The metrics that count the decisions. Default: a new set of counters. */
  readonly metrics?: Metrics | undefined;
  /** Is told where each decision came from, to report when a fallback answers. Default: none. */
  readonly fallback?: FallbackWatch | undefined;
  /** Whether to evaluate and count all limits as usual, but never deny a request. Default false. */
  readonly shadow?: boolean | undefined;
  /**
   * The maximum number of units that one call may charge or give back, for each policy. Default: the policy's limit. Takes above
   * this number are denied if the policy denies them, and otherwise they are errors.
   */
  readonly maxCost?: number | undefined;
  /** Maximum number of different policies that requests may contain at the same time. Default 0, which allows none. */
  readonly requestPolicies?: number | undefined;
}

/**
 * The name of a limit in the configuration, or policies as text such as '10/s burst 20', which are accepted only with the option
 * `requestPolicies`.
 */
export type LimitRef = string | { readonly policies: string };

/** The verbs of a core, for one key of a limit. */
export interface CoreVerbs {
  /**
   * Same as `Limiter.take`, for the limit of this name. Like all other verbs, it throws an UnknownLimit if the configuration has
   * no such limit.
   */
  take(limit: LimitRef, key: string, options?: AskOptions): MaybePromise<Verdict>;
  /** Returns the decision that `take` would return, without charging anything. */
  peek(limit: LimitRef, key: string, options?: AskOptions): MaybePromise<Decision>;
  /** Charges the key now for a turn that may be in the future, and returns how long to wait for that turn. */
  reserve(limit: LimitRef, key: string, options?: AskOptions): MaybePromise<Booking & Verdict>;
  /** Gives units back, up to the full limit. */
  refund(limit: LimitRef, key: string, options?: AskOptions): MaybePromise<Decision>;
  /** Frees places that the key holds under a concurrency limit. Units that other policies charged are not given back. */
  release(limit: LimitRef, key: string, options?: AskOptions): MaybePromise<Decision>;
  /**
   * Corrects a charge to what was used: charges the difference, even if the key is then overdrawn, or gives the difference back.
   */
  settle(limit: LimitRef, key: string, options: Settlement): MaybePromise<Decision>;
  /** Denies all takes of the key for `duration`, even if the limit would allow them. */
  block(limit: string, key: string, duration: Duration): MaybePromise<Decision>;
  /** Ends a manual block. The units that the key has used still count. */
  unblock(limit: string, key: string): MaybePromise<Decision>;
  /** Deletes the key's usage and its manual block. */
  reset(limit: string, key: string): MaybePromise<Decision>;
}

/** The limits of a configuration, ready to decide. All listeners of a server share one core. */
export interface Core extends CoreVerbs {
  /**
   * Whether the store keeps key strings. If so, callers must copy a key that is a slice of a longer string; otherwise, the longer
   * string stays in memory.
   */
  readonly keepsKeys: boolean;
  /** The store of all limits, which reports each hit to the metrics. It does not bound what a hit charges or gives back. */
  readonly store: Store;
  /** The configuration in use. */
  readonly config: Config;
  /** Whether all limits are in shadow mode, in which they are evaluated and counted but never deny a request. */
  readonly isShadow: boolean;
  /** Counters of everything decided so far. */
  readonly metrics: Metrics;
  /**
   * Decides Envoy's ShouldRateLimit. `hitsAddend` is the cost of descriptors that do not specify a cost. A cost of 0 checks
   * without charging.
   */
  decide(
    domain: string,
    descriptors: readonly Descriptor[],
    hitsAddend?: number,
  ): MaybePromise<RateLimitAnswer>;
  /**
   * Takes from several keys, of the same or different limits. Either all keys are charged, or none is. The decision's `atomic`
   * says whether the store decided on all keys in one step. An item whose limit is in shadow mode never prevents the other items
   * from being charged.
   */
  takeMany(items: readonly ManyItem[]): MaybePromise<ManyVerdict>;
  /**
   * Decides redis-cell's CL.THROTTLE, whose limit is given in the call instead of in the configuration. Returns the five integers
   * of the CL.THROTTLE reply.
   */
  readonly clThrottle: ClThrottle<MaybePromise<Decision>>;
  /**
   * The same verbs without any effect. An invalid call throws its usual error, and a valid call returns a decision that has no
   * meaning.
   */
  readonly dry: CoreVerbs;
  /**
   * Replaces the whole configuration in one step, just before the promise resolves. Until then, and if the promise rejects, the
   * previous configuration stays in use. Limits with the same name keep their state. Calls must not overlap.
   */
  reload(config: Config): Promise<void>;
  /** Gives leased units back and closes the store. */
  close(): Promise<void>;
}

/** The name that stands for the limits of CL.THROTTLE in metrics and in the `limits` of a token. */
export const CELL = 'cl.throttle';

interface Prepared {
  readonly config: Config;
  readonly limits: ReadonlyMap<string, Limit>;
  readonly descriptors: Descriptors;
  readonly opening: Steps;
}

/** Thrown if the configuration has no limit of this name. */
export class UnknownLimit extends Error {
  /** The name that was requested. */
  readonly limit: string;

  constructor(limit: string) {
    super(`unknown limit ${JSON.stringify(limit.slice(0, 200))}`);
    this.name = 'UnknownLimit';
    this.limit = limit;
  }
}

/** Opens the limits of a configuration. The core takes ownership of the store. */
export function createCore(config: Config, options: CoreOptions): Core {
  const { metrics = createMetrics(), shadow: isShadow = false, keepsKeys = true } = options;
  const { maxCost, requestPolicies = 0 } = options;
  const measured = measuredStore(options.store, metrics, options.fallback);
  const store = boundCharges(measured, maxCost);
  const ownPolicies = openRequestPolicies(store, requestPolicies);
  let current = prepare(config);
  runWhole(current.opening);

  /**
   * Prepares a configuration, which is ready to use when all steps of `opening` have run. The limits of `replaced` release their
   * names during these steps, but continue to decide.
   */
  function prepare(given: Config, replaced?: Prepared): Prepared {
    const limits = new Map<string, Limit>();
    const descriptors = new Descriptors(given.domains, store, observeRule);
    function* open(): Steps {
      if (replaced !== undefined) yield* freeNames(replaced);
      for (const [name, one] of given.limits) {
        limits.set(name, openLimit(one, store));
        yield;
      }
      yield* descriptors.open();
    }
    return { config: given, limits, descriptors, opening: open() };
  }

  function* freeNames({ limits, descriptors }: Prepared): Steps {
    for (const limit of limits.values()) {
      limit.close();
      yield;
    }
    yield* descriptors.close();
  }

  function observeRule(label: string, key: string, decision: Decision, shadowed: boolean): void {
    metrics.decided(label, key, decision, shadowed || isShadow);
  }

  function limitOf(name: LimitRef): Limit {
    if (typeof name === 'object') return ownPolicies.limitOf(name.policies);
    const limit = current.limits.get(name);
    if (limit === undefined) throw new UnknownLimit(name);
    return limit;
  }

  /** Counts a take, and turns a denial in shadow mode into an allowed decision. */
  function judged(name: string, key: string, decision: Decision, isLenient: boolean): Verdict {
    metrics.decided(name, key, decision, isLenient);
    return decision.allowed || !isLenient
      ? decision
      : { ...decision, allowed: true, retryAfter: 0, shadowed: true };
  }

  const isShadowLimit = ({ limit }: ManyItem): boolean => limitOf(limit).config.shadow;
  const partOf = ({ limit, key, ...ask }: ManyItem): ManyPart => limitOf(limit).manyPart(key, ask);

  /** Charges the items whose limits are not in shadow mode. Undefined if there are none. */
  function takeEnforced(items: readonly ManyItem[]): MaybePromise<ManyVerdict | undefined> {
    const enforced = items.filter((item) => !isShadowLimit(item));
    if (enforced.length === 0) return undefined;
    return chain(takeParts(enforced.map(partOf)), (made): ManyVerdict => {
      for (const [i, { limit, key }] of enforced.entries()) {
        const decision = made.decisions[i];
        // If one item was denied, the other items were not charged, so their decisions are not counted.
        if (made.allowed || !decision.allowed) metrics.decided(labelOf(limit), key, decision, isShadow);
      }
      return made.allowed || !isShadow ? made : { ...made, allowed: true, retryAfter: 0, shadowed: true };
    });
  }

  /**
   * Charges the items whose limits are in shadow mode, or only peeks at their keys if the other items were denied, and adds the
   * decisions on these items to `made`.
   */
  function withShadowed(
    items: readonly ManyItem[],
    made: ManyVerdict | undefined,
  ): MaybePromise<ManyVerdict> {
    const shadowed = items.filter(isShadowLimit);
    if (shadowed.length === 0 && made !== undefined) return made;
    const isTaken = made?.allowed !== false;
    const asked = shadowed.map(({ limit, key, ...ask }) =>
      isTaken ? takeOne(limit, key, ask) : limitOf(limit).peek(key, ask),
    );
    return chain(all(asked), (others) => {
      const rest = { made: [...(made?.decisions ?? [])], others: [...others] };
      const decisions = items.map(
        (item) => rest[isShadowLimit(item) ? 'others' : 'made'].shift() as Decision,
      );
      const taken = isTaken ? decisions.reduce((sum, decision) => sum + decision.taken, 0) : 0;
      return { ...(made ?? others[0]), taken, atomic: items.length === 1, decisions };
    });
  }

  function takeOne(name: LimitRef, key: string, ask: AskOptions): MaybePromise<Verdict> {
    const limit = limitOf(name);
    const answer = limit.take(key, ask);
    const isLenient = isShadow || limit.config.shadow;
    const label = labelOf(name);
    return isPromise(answer)
      ? answer.then((decision) => judged(label, key, decision, isLenient))
      : judged(label, key, answer, isLenient);
  }

  return {
    keepsKeys,
    store: measured,
    metrics,
    isShadow,
    get config() {
      return current.config;
    },
    decide(domain, asked, hitsAddend) {
      const answer = current.descriptors.decide(domain, asked, hitsAddend);
      return isShadow ? chain(answer, passed) : answer;
    },
    take: (name, key, ask = {}) => takeOne(name, key, ask),
    takeMany: (items) => chain(takeEnforced(items), (made) => withShadowed(items, made)),
    reserve(name, key, ask = {}) {
      const limit = limitOf(name);
      const isLenient = isShadow || limit.config.shadow;
      return chain(limit.reserve(key, ask), (booking) => {
        const verdict = judged(labelOf(name), key, booking, isLenient);
        return { ...verdict, delay: verdict.shadowed ? 0 : booking.delay };
      });
    },
    clThrottle: openCell(store, (key, decision) => judged(CELL, key, decision, isShadow)),
    dry: {
      take: (name, key, ask = {}) => store.rehearse(() => limitOf(name).take(key, ask)),
      peek: (name, key, ask = {}) => store.rehearse(() => limitOf(name).peek(key, ask)),
      reserve: (name, key, ask = {}) => store.rehearse(() => limitOf(name).reserve(key, ask)),
      refund: (name, key, ask = {}) => store.rehearse(() => limitOf(name).refund(key, ask)),
      release: (name, key, ask = {}) => store.rehearse(() => limitOf(name).release(key, ask)),
      settle: (name, key, settlement) => store.rehearse(() => limitOf(name).settle(key, settlement)),
      block: (name, key, duration) => store.rehearse(() => limitOf(name).block(key, duration)),
      unblock: (name, key) => store.rehearse(() => limitOf(name).unblock(key)),
      reset: (name, key) => store.rehearse(() => limitOf(name).reset(key)),
    },
    peek: (name, key, ask = {}) => limitOf(name).peek(key, ask),
    refund: (name, key, ask = {}) => limitOf(name).refund(key, ask),
    release: (name, key, ask = {}) => limitOf(name).release(key, ask),
    settle: (name, key, settlement) => limitOf(name).settle(key, settlement),
    block: (name, key, duration) => limitOf(name).block(key, duration),
    unblock: (name, key) => limitOf(name).unblock(key),
    reset: (name, key) => limitOf(name).reset(key),
    async reload(given) {
      const next = prepare(given, current);
      try {
        await runInSlices(next.opening);
      } catch (error) {
        // The previous limits stay in use. Release the names of the new limits, so that the next configuration can use these
        // names.
        runWhole(freeNames(next));
        throw error;
      }
      current = next;
    },
    async close() {
      await store.close();
    },
  };
}

/** The name of a limit in metrics. */
function labelOf(limit: LimitRef): string {
  return typeof limit === 'string' ? limit : REQUEST_POLICIES;
}

/** Lets a request pass in shadow mode. Its statuses still say which limits it exceeds, as in envoyproxy/ratelimit. */
function passed(answer: RateLimitAnswer): RateLimitAnswer {
  return answer.overLimit ? { ...answer, overLimit: false } : answer;
}
