/**
 * A store over rows that can only be read, and written if nobody wrote since. It runs the engine here.
 *
 * Hits of one key wait for the round that is under way, and the next round decides all of them: one read and one write,
 * however many there are. So processes compete for a row, and callers within a process do not.
 */
import type { Clock, Decision, Hit, MaybePromise, Millis, Store } from '../../contract.ts';
import { StoreUnavailable } from '../../errors.ts';
import { digestOf, idOf, isLong } from './key.ts';
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
  readonly resolve: (decision: Decision) => void;
  readonly reject: (error: unknown) => void;
}

/** How often a round may find that another process was faster. */
const TRIES = 50;
/** The longest pause between two tries, in milliseconds. */
const LONGEST_PAUSE = 32;

/**
 * `steady`: time in a row never goes back, although the clocks of several processes differ.
 * `keep`: how much longer than until it is clear a row is kept.
 */
export function swapStore(
  rows: Rows,
  clock: Pick<Clock, 'after'>,
  steady: boolean,
  keep: Millis,
): Store<Promise<Decision>> {
  /** Who waits for a key's next round. A key is here while a round is under way. */
  const lines = new Map<string, Pending[]>();

  function apply(hit: Hit): Promise<Decision> {
    return new Promise((resolve, reject) => {
      const id = idOf(hit.plan, hit.key);
      const pending = { hit, resolve, reject };
      const line = lines.get(id);
      if (line !== undefined) {
        line.push(pending);
        return;
      }
      lines.set(id, [pending]);
      // At the end of the tick: what is asked in one tick is decided in one round.
      void Promise.resolve().then(() => serve(id));
    });
  }

  async function serve(id: string): Promise<void> {
    const line = lines.get(id) as Pending[];
    while (line.length > 0) {
      const batch = line.splice(0);
      try {
        const key = isLong(id) ? await digestOf(id) : id;
        const decisions = await round(
          key,
          batch.map(({ hit }) => hit),
        );
        for (const [i, { resolve }] of batch.entries()) resolve(decisions[i]);
      } catch (error) {
        // Nobody knows whether a write that failed was made: it is not made again.
        for (const { reject } of batch) reject(error);
      }
    }
    lines.delete(id);
  }

  async function round(key: string, hits: readonly Hit[]): Promise<readonly Decision[]> {
    let found = await rows.get(key, false);
    for (let lost = 0; lost < TRIES; ) {
      const numbers = numbersIn(found.value);
      const now = steady ? Math.max(found.now, writtenAt(numbers)) : found.now;
      const { decisions, change } = decideAll(hits, numbers, now, keep);
      if (change === undefined && found.sure) return decisions;
      if (change !== undefined) {
        const result = await rows.put(key, found, change.value, change.expiresIn);
        if (result === true) return decisions;
        lost++;
        if (lost > 1) await pause(Math.random() * Math.min(2 ** (lost - 1), LONGEST_PAUSE));
        if (result !== false) {
          found = result;
          continue;
        }
      }
      found = await rows.get(key, true);
    }
    throw new StoreUnavailable('overloaded', new Error(`others wrote first, ${TRIES} times`));
  }

  return { clock, apply, close() {} };
}

function pause(span: Millis): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, span));
}
