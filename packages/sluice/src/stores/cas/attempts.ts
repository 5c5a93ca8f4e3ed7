/**
 * Retries of stores that use compare-and-swap. A round decides all hits that wait for a row, and makes another attempt if another
 * process has changed the row.
 */
import type { Millis } from '../../engine/contract.ts';
import { StoreUnavailable } from '../../internal/errors.ts';

/** A caller that waits for a round. */
export interface Waiting {
  /** When the caller stops waiting. From then on, its hits are not tried again, even if other hits of the same round are. */
  readonly due: Millis;
  readonly reject: (error: unknown) => void;
}

/** Maximum number of attempts in a round. An attempt fails if another process has changed a row since it was read. */
export const TRIES = 100;
/** A round that takes longer than this, in milliseconds, may never end, so new hits do not wait for it. */
export const PATIENCE: Millis = 10_000;
/** The longest pause after a conflict, in milliseconds. */
const LONGEST_PAUSE = 16;

/** Rejects the callers whose deadline has passed and removes them from the batch. Returns whether any are left. */
export function removeOverdue(batch: Waiting[]): boolean {
  const now = performance.now();
  // Callers arrive in the order of their deadlines.
  while (batch.length > 0 && batch[0].due <= now) batch.shift()?.reject(new StoreUnavailable('deadline'));
  return batch.length > 0;
}

/** Rejects and removes the callers that wait for a round that may never end. */
export function dismiss(waiting: Waiting[]): void {
  for (const { reject } of waiting.splice(0)) reject(new StoreUnavailable('deadline'));
}

/**
 * Waits after a conflict. The pause grows with the number of conflicts, and is random so that competing processes do not collide
 * again.
 */
export function pause(lost: number): Promise<void> {
  const span = Math.random() * Math.min(2 ** lost, LONGEST_PAUSE);
  return new Promise((resolve) => void setTimeout(resolve, span));
}

export function tooManyConflicts(): StoreUnavailable {
  return new StoreUnavailable(
    'overloaded',
    new Error(`gave up after ${TRIES} attempts, because other processes changed the row each time`),
  );
}
