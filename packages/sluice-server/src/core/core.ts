/**
 * Makes all decisions for the listeners, on named limits, on Envoy's descriptors and on CL.THROTTLE. Decisions are synchronous
 * if the store decides synchronously.
 */
import type { Decision, Duration, MaybePromise, Store } from 'sluice';
import type { Config } from '../config/model.ts';
import { type ClThrottle, openCell } from './cell.ts';
import { createMetrics, type Metrics } from '../telemetry/metrics/metrics.ts';
import { Descriptors, type Descriptor, type RateLimitAnswer } from './descriptors.ts';
import { type AskOptions, type Limit, openLimit, type Settlement } from './limit.ts';
import { measuredStore } from './measured-store.ts';
import { runInSlices, runWhole, type Steps } from './slices.ts';
import { chain, isPromise } from './maybe-promise.ts';

/** The decision of a take. */
export interface Verdict extends Decision {
  /** Set if the take would have been denied, but shadow mode let it pass. */
  readonly shadowed?: true;
}

export interface CoreOptions {
  /** Where the state of the limits is kept. `Core.close` closes it. */
  readonly store: Store;
  /** Whether the store keeps the key strings that it is given. Default true. */
  readonly keepsKeys?: boolean | undefined;
  /** The metrics that count the decisions. Default: a new set of counters. */
  readonly metrics?: Metrics | undefined;
  /** Evaluates and counts limits as usual, but never denies a request. Default false. */
  readonly shadow?: boolean | undefined;
}

/** The limits of a configuration, ready to decide. All listeners of a server share one core. */
export interface Core {
  /**
   * Whether the store keeps key strings. If so, callers must copy a key that is a slice of a longer string; otherwise, the longer
   * string stays in memory.
   */
  readonly keepsKeys: boolean;
  /** The store of all limits. It reports each hit to the metrics. */
  readonly store: Store;
  /** The configuration in use. */
  readonly config: Config;
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
   * Same as `Limiter.take`, for the limit of this name. Like `peek`, `refund`, `settle`, `block` and `reset`, it throws an
   * UnknownLimit if there is no such limit.
   */
  take(limit: string, key: string, options?: AskOptions): MaybePromise<Verdict>;
  /**
   * Decides redis-cell's CL.THROTTLE, whose limit is given in the call instead of in the configuration. Returns the five integers
   * of the CL.THROTTLE reply.
   */
  readonly clThrottle: ClThrottle<MaybePromise<Decision>>;
  /** Returns the decision that `take` would return, without charging anything. */
  peek(limit: string, key: string, options?: AskOptions): MaybePromise<Decision>;
  /** Gives units back, up to the full limit. */
  refund(limit: string, key: string, options?: AskOptions): MaybePromise<Decision>;
  /** Corrects a charge to what was used: charges the difference, even if that overdraws the key, or gives it back. */
  settle(limit: string, key: string, options: Settlement): MaybePromise<Decision>;
  /** Denies all takes of the key for `duration`, even if the limit would allow them. */
  block(limit: string, key: string, duration: Duration): MaybePromise<Decision>;
  /** Deletes the key's usage and its manual block. */
  reset(limit: string, key: string): MaybePromise<Decision>;
  /**
   * Replaces the whole configuration in one step, when the promise resolves. Until then, or if the promise rejects, the previous
   * configuration stays in use. Limits with the same name keep their state. Calls must not overlap.
   */
  reload(config: Config): Promise<void>;
  /** Returns leases and closes the store. */
  close(): Promise<void>;
}

/** The name under which metrics count the limits of CL.THROTTLE. */
const CELL = 'cl.throttle';

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

/** Opens the limits of a configuration. The core owns the store from then on. */
export function createCore(config: Config, options: CoreOptions): Core {
  const { metrics = createMetrics(), shadow: isShadow = false, keepsKeys = true } = options;
  const store = measuredStore(options.store, metrics);
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

  function limitOf(name: string): Limit {
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

  return {
    keepsKeys,
    store,
    metrics,
    get config() {
      return current.config;
    },
    decide(domain, asked, hitsAddend) {
      const answer = current.descriptors.decide(domain, asked, hitsAddend);
      return isShadow ? chain(answer, passed) : answer;
    },
    take(name, key, ask = {}) {
      const limit = limitOf(name);
      const answer = limit.take(key, ask);
      const isLenient = isShadow || limit.config.shadow;
      return isPromise(answer)
        ? answer.then((decision) => judged(name, key, decision, isLenient))
        : judged(name, key, answer, isLenient);
    },
    clThrottle: openCell(store, (key, decision) => judged(CELL, key, decision, isShadow)),
    peek: (name, key, ask = {}) => limitOf(name).peek(key, ask),
    refund: (name, key, ask = {}) => limitOf(name).refund(key, ask),
    settle: (name, key, settlement) => limitOf(name).settle(key, settlement),
    block: (name, key, duration) => limitOf(name).block(key, duration),
    reset: (name, key) => limitOf(name).reset(key),
    async reload(given) {
      const next = prepare(given, current);
      try {
        await runInSlices(next.opening);
      } catch (error) {
        // The previous limits stay in use. Release the names of the new ones, so that the next configuration can use them.
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

/** Lets a request pass in shadow mode. Its statuses still say which limits it exceeds, as in envoyproxy/ratelimit. */
function passed(answer: RateLimitAnswer): RateLimitAnswer {
  return answer.overLimit ? { ...answer, overLimit: false } : answer;
}
