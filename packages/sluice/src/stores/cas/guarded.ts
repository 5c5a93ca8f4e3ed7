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
const DAY: Millis = 86_400_000;

/** The deadline of a check, in milliseconds. */
export function deadlineOf({ deadline }: ResilientOptions, byDefault: Millis): Millis {
  return duration('deadline', deadline ?? byDefault);
}

export function guarded(rows: Rows, options: GuardedOptions): Store<Promise<Decision>> {
  const { denyCache, clock, ...rest } = options;
  const deadline = deadlineOf(rest, DEADLINE);
  const store =
    clock === undefined ? swapStore(rows, systemClock, true, 0, deadline) : onClock(rows, clock, deadline);
  return guardedBy(store, rest, denyCache);
}

function onClock(
  rows: Rows,
  clock: NonNullable<GuardedOptions['clock']>,
  deadline: Millis,
): Store<Promise<Decision>> {
  const waitable = clock.after === undefined ? clockFrom(() => clock.now()) : (clock as Clock);
  return swapStore(rows, waitable, false, DAY, deadline);
}
