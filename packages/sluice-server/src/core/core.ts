/**
 * What every listener asks: Sluice's limits by name, Envoy's by domain. One configuration, one store. Answers come at once
 * where the store gives them at once.
 */
import { type Decision, type Duration, type MaybePromise, metered, type Store } from 'sluice';
import type { Config } from '../config/model.ts';
import { type ClThrottle, openCell } from './cell.ts';
import { createMetrics, type Metrics } from '../telemetry/metrics/metrics.ts';
import { Descriptors, type Descriptor, type RateLimitAnswer } from './descriptors.ts';
import { type AskOptions, type Limit, openLimit } from './limit.ts';
import { runInSlices, runWhole, type Steps } from './slices.ts';
import { chain, isPromise } from './maybe-promise.ts';

/** What became of a take: `shadowed` if the limit would have denied it, had it not been in shadow mode. */
export interface Verdict extends Decision {
  /** Only then. */
  readonly shadowed?: true;
}

export interface CoreOptions {
  /** Where the state lives; `close` ends it. */
  readonly store: Store;
  /** Whether the store remembers keys as text. Default true. */
  readonly keepsKeys?: boolean | undefined;
  /** What counts; default: counters of its own. */
  readonly metrics?: Metrics | undefined;
  /** All limits decide and count, none denies. */
  readonly shadow?: boolean | undefined;
}

/** The limits of a configuration, as every listener asks them. */
export interface Core {
  /** A key that was cut from a long text must then be a copy, or all of that text is kept with it. */
  readonly keepsKeys: boolean;
  /** The one in force. */
  readonly config: Config;
  /** What was counted so far. */
  readonly metrics: Metrics;
  /** Envoy's ShouldRateLimit. `hitsAddend` is the cost of descriptors without one of their own; 0 only asks. */
  decide(
    domain: string,
    descriptors: readonly Descriptor[],
    hitsAddend?: number,
  ): MaybePromise<RateLimitAnswer>;
  /** As a limiter's, of a limit by its name. Throws an UnknownLimit where there is none, as do the next four. */
  take(limit: string, key: string, options?: AskOptions): MaybePromise<Verdict>;
  /** redis-cell's CL.THROTTLE, whose limit comes with the call instead of the configuration. Returns its five integers. */
  readonly clThrottle: ClThrottle<MaybePromise<Decision>>;
  /** The same answer, nothing written. */
  peek(limit: string, key: string, options?: AskOptions): MaybePromise<Decision>;
  /** Gives back; never above full. */
  refund(limit: string, key: string, options?: AskOptions): MaybePromise<Decision>;
  /** Denies the key for a while, whatever it has left. */
  block(limit: string, key: string, span: Duration): MaybePromise<Decision>;
  /** As if the key had never been seen. */
  reset(limit: string, key: string): MaybePromise<Decision>;
  /**
   * Replaces the configuration, all of it in one step when the promise resolves. Calls are answered meanwhile, by the previous
   * one. Limits of the same name keep their state. If it rejects, the previous configuration stays. Calls must not overlap.
   */
  reload(config: Config): Promise<void>;
  /** Ends the store: leases go back. */
  close(): Promise<void>;
}

/** What metrics call the limits of CL.THROTTLE. */
const CELL = 'cl.throttle';

interface Prepared {
  readonly config: Config;
  readonly limits: ReadonlyMap<string, Limit>;
  readonly descriptors: Descriptors;
  readonly opening: Steps;
}

/** No limit has this name. */
export class UnknownLimit extends Error {
  /** The name that was asked for. */
  readonly limit: string;

  constructor(limit: string) {
    super(`there is no limit ${JSON.stringify(limit.slice(0, 200))}`);
    this.name = 'UnknownLimit';
    this.limit = limit;
  }
}

/** Limits without a listener. The store is the core's from here on. */
export function createCore(config: Config, options: CoreOptions): Core {
  const { metrics = createMetrics(), shadow: isShadow = false, keepsKeys = true } = options;
  const store = metered(options.store, {
    decided(_hit, decision, _outcome, took) {
      if (took !== undefined) metrics.stored(took, decision);
    },
    failed(_hit, _error, fault) {
      metrics.failed(fault);
    },
  });
  let current = prepare(config);
  runWhole(current.opening);

  /** Ready to be asked when `opening` is complete. `replaced`: gives its names to the new limits, and answers until then. */
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

  /** Counts a take, and turns a denial in shadow mode into an allowed verdict. */
  function judged(name: string, key: string, decision: Decision, isLenient: boolean): Verdict {
    metrics.decided(name, key, decision, isLenient);
    return decision.allowed || !isLenient
      ? decision
      : { ...decision, allowed: true, retryAfter: 0, shadowed: true };
  }

  return {
    keepsKeys,
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
    block: (name, key, span) => limitOf(name).block(key, span),
    reset: (name, key) => limitOf(name).reset(key),
    async reload(given) {
      const next = prepare(given, current);
      try {
        await runInSlices(next.opening);
      } catch (error) {
        // The previous limits go on, and the names are free for the next configuration.
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

function passed(answer: RateLimitAnswer): RateLimitAnswer {
  const statuses = answer.statuses.map((status) => ({ ...status, code: 'OK' as const }));
  return { ...answer, overLimit: false, statuses };
}
