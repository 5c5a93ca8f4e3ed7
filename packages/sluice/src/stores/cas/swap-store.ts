/**
 * A store on rows that support compare-and-swap: it reads a row, and writes the row only if the row has not changed since it was
 * read. The engine runs in this process.
 *
 * Hits of one key wait while a round is under way, and the next round decides all of them with one read and one write. So
 * processes compete for a row, but callers within a process do not.
 */
import type { Clock, Decision, Hit, MaybePromise, Millis, Store } from '../../engine/contract.ts';
import { futureInstant, isInFuture } from '../../engine/decide.ts';
import { isPromise } from '../../internal/maybe-promise.ts';
import {
  dismiss,
  PATIENCE,
  pause,
  removeOverdue,
  tooManyConflicts,
  TRIES,
  type Waiting,
} from './attempts.ts';
import type { Send } from './batches.ts';
import { digestOf, idOf, isLong } from './key.ts';
import { rowTimes } from './row-time.ts';
import { decideAll, numbersIn, type Outcome, writtenAt } from './row.ts';
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
   * Writes the value and calls `resolve` with true if the row has not changed since it was found. Otherwise calls `resolve` with
   * the current row, or with false if the current row is not known.
   */
  readonly put: Send<Write, true | false | Found>;
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
  readonly id: string;
  /** The key of the row. Undefined until it has been computed, if `id` is too long for a service. */
  key: string | undefined;
  waiting: Pending[];
  /** When the current round began. */
  since: Millis;
}

/**
 * If `steady` is true, the time of a row never goes back, even if the clocks of several processes differ. `keep` is how long a row
 * is kept after it is fully replenished. `deadline` is how long a caller waits. After its deadline, a hit is not tried again,
 * because work for callers that have given up would delay the callers that still wait. If `sharesRounds` is false, each hit is
 * decided in a separate round.
 */
export function swapStore(
  rows: Rows,
  clock: Pick<Clock, 'after'>,
  steady: boolean,
  keep: Millis,
  deadline: Millis,
  sharesRounds = true,
): Store<Promise<Decision>> {
  /** The keys that have a round under way. */
  const lines = new Map<string, Line>();
  /** The lines whose first round begins at the end of the tick. */
  let starting: Line[] = [];
  const timeOf = steady ? rowTimes(rows) : undefined;
  const newTaker = (putAll: NonNullable<Rows['putAll']>) => manyTaker(rows, putAll, timeOf, keep, deadline);
  const shared = rows.putAll && newTaker(rows.putAll);

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
      const started: Line = { id, key: isLong(id) ? undefined : id, waiting: [pending], since: now };
      if (!sharesRounds) {
        void Promise.resolve().then(() => serve(started));
        return;
      }
      lines.set(id, started);
      // Starts at the end of the tick, so that hits of one tick are decided in one round.
      if (starting.push(started) === 1) void Promise.resolve().then(startAll);
    });
  }

  function startAll(): void {
    const started = starting;
    starting = [];
    for (const line of started) serve(line);
  }

  /** Begins a round with the waiting hits. If no hits are waiting, removes the line. */
  function serve(line: Line): void {
    const { id, key, waiting: batch } = line;
    if (batch.length === 0) {
      if (lines.get(id) === line) lines.delete(id);
      return;
    }
    line.since = performance.now();
    if (key === undefined) {
      void digestOf(id).then(
        (digest) => {
          line.key = digest;
          serve(line);
        },
        (error: unknown) => fail(line, line.waiting.splice(0), error),
      );
      return;
    }
    line.waiting = [];
    if (removeOverdue(batch)) find(line, key, batch, false, 0);
    else serve(line);
  }

  /** Looks for the row, and then makes an attempt. If the row is remembered, no promise is needed. */
  function find(line: Line, key: string, batch: Pending[], isSure: boolean, lost: number): void {
    try {
      const found = rows.get(key, isSure);
      if (isPromise(found))
        found.then(
          (read) => attempt(line, key, batch, read, lost),
          (error: unknown) => fail(line, batch, error),
        );
      else attempt(line, key, batch, found, lost);
    } catch (error) {
      fail(line, batch, error);
    }
  }

  /** Decides on the hits and writes the row. `lost` is how many attempts failed because another process had changed the row. */
  function attempt(line: Line, key: string, batch: Pending[], found: Found, lost: number): void {
    let outcome: Outcome | undefined;
    try {
      outcome = outcomeOf(key, batch, found, lost);
    } catch (error) {
      fail(line, batch, error);
      return;
    }
    const change = outcome?.change;
    const finish = (): void => {
      for (let i = 0; i < batch.length; i++) batch[i].resolve((outcome as Outcome).decisions[i]);
      end(line, lost);
    };
    if (outcome === undefined) end(line, lost);
    else if (change !== undefined)
      rows.put(
        { key, found, value: change.value, expiresIn: change.expiresIn },
        (instead) => {
          if (instead === true) finish();
          else if (lost === 0 && isNews(instead, found)) attempt(line, key, batch, instead, 1);
          else void tryAgain(line, key, batch, lost + 1);
        },
        (error) => fail(line, batch, error),
      );
    else if (found.sure) finish();
    else find(line, key, batch, true, lost);
  }

  /** Applies the hits to the row. Returns undefined if no hits are left. */
  function outcomeOf(key: string, batch: Pending[], found: Found, lost: number): Outcome | undefined {
    // A hit that was decided must also be written, so a hit may be removed only before it is decided.
    if (!removeOverdue(batch)) return undefined;
    if (lost >= TRIES) throw tooManyConflicts();
    const numbers = numbersIn(found.value);
    const now = timeOf?.(key, writtenAt(numbers), found.now) ?? found.now;
    if (!removeFuture(batch, now)) return undefined;
    return decideAll(
      batch.map(({ hit }) => hit),
      numbers,
      now,
      keep,
    );
  }

  /** After a conflict, reads the row again and makes another attempt. */
  async function tryAgain(line: Line, key: string, batch: Pending[], lost: number): Promise<void> {
    if (lost > 1) await pause(lost);
    if (removeOverdue(batch)) find(line, key, batch, true, lost);
    else end(line, lost);
  }

  /** Rejects the hits of a round. A write that failed may have been applied nevertheless, so it is not repeated. */
  function fail(line: Line, batch: readonly Pending[], error: unknown): void {
    for (const { reject } of batch) reject(error);
    serve(line);
  }

  /** Ends a round. After a contested round, pauses to give other processes a turn. Hits of this process accumulate meanwhile. */
  function end(line: Line, lost: number): void {
    if (lost > 1) void pause(lost).then(() => serve(line));
    else serve(line);
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

  return {
    clock,
    apply,
    allTaker(hits) {
      // A wrapper that copied this object and replaced `apply` must see every hit.
      if (rows.putAll === undefined || shared === undefined || this.apply !== apply) return undefined;
      const takeAll = sharesRounds ? shared : newTaker(rows.putAll);
      return () => takeAll(hits);
    },
    close() {},
  };
}

/**
 * Whether a failed write returned a row with which another attempt may succeed. If the row still has the version that was found,
 * another writer may have locked the row and be about to replace it.
 */
function isNews(instead: Found | boolean, found: Found): instead is Found {
  return typeof instead === 'object' && (instead.sure || instead.version !== found.version);
}
