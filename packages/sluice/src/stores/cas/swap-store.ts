/**
 * A store over rows that can only be read, and written if nobody wrote since. It runs the engine here.
 *
 * Hits of one key wait for the round that is under way, and the next round decides all of them: one read and one write,
 * however many there are. So processes compete for a row, and callers within a process do not.
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
  /** Read just now, and not only remembered or guessed. A decision that writes nothing must rest on such a row. */
  readonly sure: boolean;
}

export interface Rows {
  /** `sure`: the row must be read now. */
  get(key: string, sure: boolean): MaybePromise<Found>;
  /** Writes if the row is still the one found; otherwise what is there instead, or false if that is not known. */
  put(key: string, found: Found, value: Uint8Array, expiresIn: Millis): Promise<true | false | Found>;
}

interface Pending {
  readonly hit: Hit;
  /** From then on its caller has been told something else. A round goes on while anybody in it waits. */
  readonly due: Millis;
  readonly resolve: (decision: Decision) => void;
  readonly reject: (error: unknown) => void;
}

/** Who waits for a key's next round. */
interface Line {
  waiting: Pending[];
  /** When the round that is under way began. */
  since: Millis;
}

interface Round {
  readonly decisions: readonly Decision[];
  /** How often others were faster. */
  readonly lost: number;
}

/** How often a round may find that another process was faster. */
const TRIES = 100;
/** A round that takes longer, in milliseconds, may never end: nobody waits for it. */
const PATIENCE = 10_000;
/** The longest pause that a conflict leads to, in milliseconds. */
const LONGEST_PAUSE = 16;

/**
 * `steady`: a row's time never goes back, although the clocks of several processes differ.
 * `keep`: how much longer a row is kept than until it is fully replenished.
 * `deadline`: how long a caller waits. Work for callers who have left would delay those who still wait.
 */
export function swapStore(
  rows: Rows,
  clock: Pick<Clock, 'after'>,
  steady: boolean,
  keep: Millis,
  deadline: Millis,
): Store<Promise<Decision>> {
  /** A key is here while a round is under way. */
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
      // At the end of the tick: what is asked in one tick is decided in one round.
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
        // Whoever won in the end lets the others have a turn; its own callers gather meanwhile.
        if (lost > 1) await pause(lost);
      } catch (error) {
        // Nobody knows whether a write that failed was made: it is not made again.
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
    throw new StoreUnavailable('overloaded', new Error(`others wrote first, ${TRIES} times`));
  }

  return { clock, apply, close() {} };
}

/** Longer the more often it was lost, and by chance, so that those who met do not meet again. */
function pause(lost: number): Promise<void> {
  const span = Math.random() * Math.min(2 ** lost, LONGEST_PAUSE);
  return new Promise((resolve) => void setTimeout(resolve, span));
}
