/**
 * A store on rows that support compare-and-swap: it reads a row, and writes the row only if it has not changed since. The engine
 * runs in this process.
 *
 * Hits of one key wait while a round is under way, and the next round decides all of them with one read and one write. So
 * processes compete for a row, but callers within a process do not.
 */
import type { Clock, Decision, Hit, MaybePromise, Millis, Store } from '../../engine/contract.ts';
import { futureInstant, isInFuture } from '../../engine/decide.ts';
import {
  dismiss,
  PATIENCE,
  pause,
  removeOverdue,
  tooManyConflicts,
  TRIES,
  type Waiting,
} from './attempts.ts';
import { digestOf, idOf, isLong } from './key.ts';
import { rowTimes } from './row-time.ts';
import { decideAll, numbersIn, writtenAt } from './row.ts';
import { manyTaker } from './swap-many.ts';

export interface Found {
  readonly value: Uint8Array | undefined;
  readonly version: unknown;
  readonly now: Millis;
  /** True if the row was just read, not remembered or guessed. A decision that writes nothing needs such a row. */
  readonly sure: boolean;
}

export interface Rows {
  /** Returns the row. If `sure` is true, the row must be read from the service now, not taken from memory. */
  get(key: string, sure: boolean): MaybePromise<Found>;
  /**
   * Writes the value and returns true if the row has not changed since it was found. Otherwise returns the current row, or false
   * if the current row is not known.
   */
  put(key: string, found: Found, value: Uint8Array, expiresIn: Millis): Promise<true | false | Found>;
  /**
   * Writes all values in one atomic step and returns true if none of the rows has changed since it was found. Otherwise writes
   * nothing and returns false. Undefined if the service cannot write several rows in one step.
   */
  putAll?: ((writes: readonly Write[]) => Promise<boolean>) | undefined;
}

/** The arguments of a `put`. */
export interface Write {
  readonly key: string;
  readonly found: Found;
  readonly value: Uint8Array;
  readonly expiresIn: Millis;
}

interface Pending extends Waiting {
  readonly hit: Hit;
  readonly resolve: (decision: Decision) => void;
}

/** The hits that wait for a key's next round. */
interface Line {
  waiting: Pending[];
  /** When the current round began. */
  since: Millis;
}

/**
 * `steady` computes a row's time, which never goes back, even if the clocks of several processes differ. `keep` is how long a row
 * is kept after it is fully replenished. `deadline` is how long a caller waits. After that, its hit is not tried again, because
 * work for callers that have given up would delay the callers that still wait.
 */
export function swapStore(
  rows: Rows,
  clock: Pick<Clock, 'after'>,
  steady: boolean,
  keep: Millis,
  deadline: Millis,
): Store<Promise<Decision>> {
  /** The keys that have a round under way. */
  const lines = new Map<string, Line>();
  const timeOf = steady ? rowTimes(rows) : undefined;
  const takeAll = rows.putAll && manyTaker(rows, rows.putAll, timeOf, keep, deadline);

  function apply(hit: Hit): Promise<Decision> {
    return new Promise((resolve, reject) => {
      const id = idOf(hit.plan, hit.key);
      const line = lines.get(id);
      const now = performance.now();
      const pending = { hit, due: now + deadline, resolve, reject };
      if (line !== undefined && now - line.since < PATIENCE) {
        line.waiting.push(pending);
        return;
      }
      if (line !== undefined) dismiss(line.waiting);
      const started: Line = { waiting: [pending], since: now };
      lines.set(id, started);
      // Starts at the end of the tick, so that hits of one tick are decided in one round.
      void Promise.resolve().then(() => serve(id, started));
    });
  }

  async function serve(id: string, line: Line): Promise<void> {
    while (line.waiting.length > 0) {
      const batch = line.waiting.splice(0);
      line.since = performance.now();
      try {
        const key = isLong(id) ? await digestOf(id) : id;
        const lost = await round(key, batch);
        // After a contested round, gives other processes a turn, while hits of this process accumulate.
        if (lost > 1) await pause(lost);
      } catch (error) {
        // A write that failed may have been applied nevertheless, so it is not repeated.
        for (const { reject } of batch) reject(error);
      }
    }
    if (lines.get(id) === line) lines.delete(id);
  }

  /** Rejects the hits that refer to a charge in the future, and removes them. Returns whether any hits are left. */
  function removeFuture(batch: Pending[], now: Millis): boolean {
    for (let i = batch.length - 1; i >= 0; i--) {
      const { hit, reject } = batch[i];
      if (!isInFuture(hit, now)) continue;
      batch.splice(i, 1);
      reject(futureInstant(hit.of?.at));
    }
    return batch.length > 0;
  }

  /** Decides on the hits of one key. Returns how many attempts failed because another process had changed the row. */
  async function round(key: string, batch: Pending[]): Promise<number> {
    let lost = 0;
    if (!removeOverdue(batch)) return lost;
    let found = await rows.get(key, false);
    while (lost < TRIES) {
      // A hit that was decided must also be written, so a hit may be removed only before it is decided.
      if (!removeOverdue(batch)) return lost;
      const numbers = numbersIn(found.value);
      const now = timeOf?.(key, writtenAt(numbers), found.now) ?? found.now;
      if (!removeFuture(batch, now)) return lost;
      const { decisions, change } = decideAll(
        batch.map(({ hit }) => hit),
        numbers,
        now,
        keep,
      );
      const instead =
        change === undefined ? found.sure : await rows.put(key, found, change.value, change.expiresIn);
      if (instead === true) {
        for (const [i, { resolve }] of batch.entries()) resolve(decisions[i]);
        return lost;
      }
      if (change !== undefined) {
        lost++;
        if (lost === 1 && instead !== false) {
          found = instead;
          continue;
        }
        if (lost > 1) await pause(lost);
      }
      if (!removeOverdue(batch)) return lost;
      found = await rows.get(key, true);
    }
    throw tooManyConflicts();
  }

  return {
    clock,
    apply,
    allTaker(hits) {
      // A wrapper that copied this object and replaced `apply` must see every hit.
      return takeAll !== undefined && this.apply === apply ? () => takeAll(hits) : undefined;
    },
    close() {},
  };
}
