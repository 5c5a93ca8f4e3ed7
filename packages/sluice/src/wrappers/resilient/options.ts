/** The options of `resilient`. */
import type { Hit } from '../../engine/contract.ts';
import type { Duration } from '../../internal/duration.ts';
import type { BreakerEvent } from './breaker.ts';
import type { OnFailure } from './fallback.ts';

/** What happens to a hit when the store is slow or unavailable. */
export interface ResilientOptions {
  /**
   * How long a hit may take. Default 200 ms. Until the store has answered once, hits get up to two seconds, because the client may
   * still be connecting.
   */
  readonly deadline?: Duration | undefined;
  /**
   * What decides when the store is unavailable. With 'local' (default), each limiter's own policies decide, and each process
   * counts separately. `{ byName }` selects the answer for each limiter by its name.
   */
  readonly onFailure?: OnFailure | undefined;
  /** The maximum number of hits in flight. Further hits fail immediately. Default 10,000. */
  readonly maxInFlight?: number | undefined;
  /**
   * Called when a circuit breaker opens and when it closes. Without this option, a warning is printed when the first breaker
   * opens.
   */
  readonly onEvent?: ((event: BreakerEvent) => void) | undefined;
}

/** Hooks between `resilient` and Sluice's own stores. */
export interface Hooks {
  /** Called after units or places were returned in the background. */
  readonly givenBack?: (hit: Hit) => void;
  /** Returns the cluster node that serves a hit, or undefined if it is not known. */
  readonly nodeOf?: ((hit: Hit) => string | undefined) | undefined;
  /** True if each hit must have a timer of its own, because timers end with the request in which they were set. */
  readonly hasRequestTimers?: boolean | undefined;
}
