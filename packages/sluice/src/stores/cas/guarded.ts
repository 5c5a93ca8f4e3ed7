/** Turns rows into a complete store, and protects callers from a slow or failing service. */
import { clockFrom, type GivenClock, systemClock } from '../../internal/clock.ts';
import type { Clock, Decision, Millis, Store } from '../../engine/contract.ts';
import { duration } from '../../internal/duration.ts';
import type { DenyCacheOptions } from '../../wrappers/deny-cache.ts';
import { guardedBy } from '../../wrappers/guarded-by.ts';
import { DEADLINE, type ResilientOptions } from '../../wrappers/resilient/resilient.ts';
import { type Rows, swapStore } from './swap-store.ts';

export interface GuardedOptions extends ResilientOptions {
  /** Whether to answer repeated denials from memory, for at most two seconds, without asking the service. Default false. */
  readonly denyCache?: boolean | DenyCacheOptions | undefined;
  /** A clock that replaces the service's time, for tests. With such a clock, rows are kept a day longer. */
  readonly clock?: GivenClock | undefined;
}

export const GUARDED = ['deadline', 'onFailure', 'maxInFlight', 'onEvent', 'denyCache', 'clock'] as const;

/** How much longer rows are kept with an injected clock, which may stop while the service's clock advances. */
export const DAY: Millis = 86_400_000;

/** The deadline of a check, in milliseconds. */
export function deadlineOf({ deadline }: ResilientOptions, byDefault: Millis): Millis {
  return duration('deadline', deadline ?? byDefault);
}

/**
 * If `isPerRequest` is true, hits share neither rounds nor timers. This is for runtimes that tie calls and timers to the request
 * that started them, where a hit must not depend on another request's calls or timers.
 */
export function guarded(rows: Rows, options: GuardedOptions, isPerRequest = false): Store<Promise<Decision>> {
  const { denyCache, clock, ...rest } = options;
  const deadline = deadlineOf(rest, DEADLINE);
  const store =
    clock === undefined
      ? swapStore(rows, systemClock, true, 0, deadline, !isPerRequest)
      : swapStore(rows, waitable(clock), false, DAY, deadline, !isPerRequest);
  return guardedBy(store, rest, denyCache, { hasRequestTimers: isPerRequest });
}

function waitable(clock: NonNullable<GuardedOptions['clock']>): Clock {
  return clock.after === undefined ? clockFrom(() => clock.now()) : (clock as Clock);
}
