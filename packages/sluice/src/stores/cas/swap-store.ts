/**
 * A store on rows that support compare-and-swap, which reads a row and writes it only if it is unchanged. The engine runs in this
 * process.
 *
 * Hits of one key wait while a round is under way, and the next round decides all of them with one read and one write. So
 * processes compete for a row, but callers within a process do not.
 */
import type { Clock, Decision, Hit, MaybePromise, Millis, Store } from '../../engine/contract.ts';
import { StoreUnavailable } from '../../internal/errors.ts';
import { digestOf, idOf, isLong } from './key.ts';
import { rowTimes } from './row-time.ts';
import { decideAll, numbersIn, writtenAt } from './row.ts';

export interface Found {
  readonly value: Uint8Array | undefined;
  readonly version: unknown;
  readonly now: Millis;
  /** True if the row was just read, not remembered or guessed. A decision that writes nothing needs such a row. */
  readonly sure: boolean;
}

export interface Rows {
  /** Returns the row. With `sure` it must be read now, not remembered. */
  get(key: string, sure: boolean): MaybePromise<Found>;
  /** Writes if the row is still the one found. Otherwise returns the current row, or false if that is not known. */
  put(key: string, found: Found, value: Uint8Array, expiresIn: Millis): Promise<true | false | Found>;
}

interface Pending {
  readonly hit: Hit;
  /** When the caller stops waiting. A round continues while any of its callers still waits. */
  readonly due: Millis;
  readonly resolve: (decision: Decision) => void;
  readonly reject: (error: unknown) => void;
}

/** The hits that wait for a key's next round. */
interface Line {
  waiting: Pending[];
  /** When the current round began. */
  since: Millis;
}

interface Round {
  readonly decisions: readonly Decision[];
  /** Number of times that another process wrote first. */
  readonly lost: number;
}

/** Maximum number of times that another process may write first before the round fails. */
const TRIES = 100;
/** A round that takes longer than this, in milliseconds, may never end, so new hits do not wait for it. */
const PATIENCE = 10_000;
/** The longest pause after a conflict, in milliseconds. */
const LONGEST_PAUSE = 16;

/**
 * `steady` computes a row's time, which never goes back, even if the clocks of several processes differ. `keep` is how long a row
 * is kept after it is fully replenished. `deadline` is how long a caller waits. Work for callers that have given up would delay
 * those that still wait.
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
      for (const { reject: refuse } of line?.waiting.splice(0) ?? [])
        refuse(new StoreUnavailable('deadline'));
      const started: Line = { waiting: [pending], since: now };
      lines.set(id, started);
      // Starts at the end of the tick, so that hits of one tick are decided in one round.
      void Promise.resolve().then(() => serve(id, started));
    });
  }

  async function serve(id: string, line: Line): Promise<void> {
    while (line.waiting.length > 0) {
      const waiting = line.waiting.splice(0);
      line.since = performance.now();
      const batch = waiting.filter(({ due }) => due > line.since);
      for (const { due, reject } of waiting) if (due <= line.since) reject(new StoreUnavailable('deadline'));
      if (batch.length === 0) continue;
      try {
        const key = isLong(id) ? await digestOf(id) : id;
        const { decisions, lost } = await round(
          key,
          batch.map(({ hit }) => hit),
          batch[batch.length - 1].due,
        );
        for (const [i, { resolve }] of batch.entries()) resolve(decisions[i]);
        // After a contested round, gives other processes a turn, while hits of this process accumulate.
        if (lost > 1) await pause(lost);
      } catch (error) {
        // A write that failed may have been made, so it is not repeated.
        for (const { reject } of batch) reject(error);
      }
    }
    if (lines.get(id) === line) lines.delete(id);
  }

  async function round(key: string, hits: readonly Hit[], due: Millis): Promise<Round> {
    const stopIfOver = (): void => {
      if (performance.now() > due) throw new StoreUnavailable('deadline');
    };
    let found = await rows.get(key, false);
    let lost = 0;
    while (lost < TRIES) {
      const numbers = numbersIn(found.value);
      const now = timeOf?.(key, writtenAt(numbers), found.now) ?? found.now;
      const { decisions, change } = decideAll(hits, numbers, now, keep);
      if (change === undefined && found.sure) return { decisions, lost };
      if (change !== undefined) {
        stopIfOver();
        const instead = await rows.put(key, found, change.value, change.expiresIn);
        if (instead === true) return { decisions, lost };
        lost++;
        if (lost === 1 && instead !== false) {
          found = instead;
          continue;
        }
        if (lost > 1) await pause(lost);
      }
      stopIfOver();
      found = await rows.get(key, true);
    }
    throw new StoreUnavailable(
      'overloaded',
      new Error(`other processes wrote first ${TRIES} times in a row`),
    );
  }

  return { clock, apply, close() {} };
}

/**
 * Waits after a conflict. The pause grows with the number of conflicts, and is random so that competing processes do not collide
 * again.
 */
function pause(lost: number): Promise<void> {
  const span = Math.random() * Math.min(2 ** lost, LONGEST_PAUSE);
  return new Promise((resolve) => void setTimeout(resolve, span));
}
