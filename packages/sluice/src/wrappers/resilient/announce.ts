/** Warns the owner of a store about failures that callers may not notice because the fallback answers. */
import type { Store } from '../../engine/contract.ts';
import { type StoreFault, StoreUnavailable } from '../../internal/errors.ts';
import { warnOnce } from '../../internal/warn.ts';
import type { BreakerEvent } from './breaker.ts';
import type { Fallback } from './fallback.ts';

/** Faults that concern one key or one hit. They say nothing about the health of the store, so no circuit breaker counts them. */
export type HitFault = 'wrong-type' | 'script' | 'overloaded';

interface Notice {
  readonly code: `SLUICE_STORE_${string}`;
  readonly problem: string;
  readonly advice: string;
}

const NOTICES: Readonly<Record<HitFault, Notice>> = {
  'wrong-type': {
    code: 'SLUICE_STORE_WRONG_TYPE',
    problem: 'the store holds a value of another type under the key of a limiter',
    advice: 'Give the limiter a name that no other data uses.',
  },
  script: {
    code: 'SLUICE_STORE_SCRIPT',
    problem: 'the store could not run the script that decides a check',
    advice: 'Check the version of the server and the permissions of its user.',
  },
  overloaded: {
    code: 'SLUICE_STORE_OVERLOADED',
    problem: 'too many checks are in flight, so a check was not sent to the store',
    advice: 'Use a faster store or connection, or raise maxInFlight.',
  },
};

export function isHitFault(fault: StoreFault): fault is HitFault {
  return Object.hasOwn(NOTICES, fault);
}

export interface Announce {
  /** Calls `onEvent`. If there is no `onEvent`, warns when the first circuit breaker opens. */
  breaker(event: BreakerEvent): void;
  /** Warns once for each kind of `HitFault`, unless callers get the error anyway. */
  fault(fault: StoreFault, error: unknown): void;
}

/** Creates the announcer. Each warning about `store` appears only once. */
export function announceFor(
  store: Store,
  { effect, hidesFailures }: Fallback,
  onEvent: ((event: BreakerEvent) => void) | undefined,
): Announce {
  function openWarning({ fault, error, node }: BreakerEvent & { type: 'open' }): string {
    const what = node === undefined ? 'the store' : `node ${node} of the store`;
    return `${what} does not answer (${reason(fault, error)}). Until it does, ${effect} (option onFailure). Pass onEvent to be notified whenever it stops or starts answering.`;
  }

  return {
    breaker(event) {
      try {
        if (onEvent !== undefined) onEvent(event);
        else if (event.type === 'open') warnOnce('SLUICE_STORE_UNAVAILABLE', openWarning(event), store);
      } catch {
        // An error that `onEvent` throws must not reject a check.
      }
    },
    fault(fault, error) {
      if (!hidesFailures || !isHitFault(fault)) return;
      const { code, problem, advice } = NOTICES[fault];
      warnOnce(
        code,
        `${problem} (${reason(fault, error)}). For such checks, ${effect} (option onFailure). ${advice}`,
        store,
      );
    },
  };
}

function reason(fault: StoreFault, error: unknown): string {
  return error instanceof Error && !(error instanceof StoreUnavailable)
    ? `${fault}: ${error.message}`
    : fault;
}
