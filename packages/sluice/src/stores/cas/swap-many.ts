/**
 * Takes from several rows in one step, either from all of them or from none. Reads the rows, decides in this process, and writes
 * the rows only if none of them has changed since it was read.
 *
 * Takes that have a row in common wait while a round is under way, and the next round decides all of them with one read and one
 * write. So processes compete for rows, but callers within a process do not.
 */
import { allOrNoneOf } from '../../engine/all-or-none.ts';
import type { Cells, Decision, Hit, Millis } from '../../engine/contract.ts';
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
import { decideAll, expiresIn, numbersIn, type Outcome, writtenAt } from './row.ts';
import type { Found, Rows, Write } from './swap-store.ts';

/** The hits of one caller, which are charged together or not at all. */
interface Group extends Waiting {
  readonly hits: readonly Hit[];
  /** The name of each hit's row. */
  readonly ids: readonly string[];
  readonly resolve: (decisions: readonly Decision[]) => void;
}

interface Queue {
  readonly waiting: Group[];
  /** When the current round began. */
  since: Millis;
}

/** A row during one attempt. */
interface Copy {
  readonly key: string;
  readonly found: Found;
  readonly now: Millis;
  numbers: Cells | undefined;
  /** The value to write. Undefined if nothing has changed. */
  change: Outcome['change'];
  /** True if an allowed take relies on the row. Such a row must not have changed since it was read, even if it is not charged. */
  isRelevant: boolean;
}

/** Maximum number of groups in a round. */
const SIZE = 50;

/** `timeOf` computes a row's time (see row-time.ts). `keep` and `deadline` are the same as in `swapStore`. */
export function manyTaker(
  rows: Rows,
  putAll: NonNullable<Rows['putAll']>,
  timeOf: ((key: string, written: Millis, now: Millis) => Millis) | undefined,
  keep: Millis,
  deadline: Millis,
): (hits: readonly Hit[]) => Promise<readonly Decision[]> {
  /** The queue of each row that a waiting or current group uses. */
  const queues = new Map<string, Queue>();

  function takeAll(hits: readonly Hit[]): Promise<readonly Decision[]> {
    return new Promise((resolve, reject) => {
      const now = performance.now();
      const ids = hits.map(({ plan, key }) => idOf(plan, key));
      const queue = queueFor(ids, now);
      queue.waiting.push({ hits, ids, due: now + deadline, resolve, reject });
    });
  }

  /** Returns the queue of the first row that has one. If none of the rows has a queue, starts one. */
  function queueFor(ids: readonly string[], now: Millis): Queue {
    let queue: Queue | undefined;
    for (const id of ids) {
      const known = queues.get(id);
      if (known !== undefined && now - known.since < PATIENCE) {
        queue ??= known;
      } else if (known !== undefined) {
        dismiss(known.waiting);
        queues.delete(id);
      }
    }
    if (queue === undefined) {
      const started: Queue = { waiting: [], since: now };
      queue = started;
      // Starts at the end of the tick, so that takes of one tick are decided in one round.
      void Promise.resolve().then(() => serve(started));
    }
    for (const id of ids) if (!queues.has(id)) queues.set(id, queue);
    return queue;
  }

  async function serve(queue: Queue): Promise<void> {
    while (queue.waiting.length > 0) {
      const batch = queue.waiting.splice(0, SIZE);
      const ids = batch.flatMap((group) => group.ids);
      queue.since = performance.now();
      try {
        const lost = await round(batch);
        // After a contested round, pauses to give other processes a turn. Takes of this process accumulate meanwhile.
        if (lost > 1) await pause(lost);
      } catch (error) {
        // A write that failed may have been applied nevertheless, so it is not repeated.
        for (const { reject } of batch) reject(error);
      }
      const needed = new Set(queue.waiting.flatMap((group) => group.ids));
      for (const id of ids) if (!needed.has(id) && queues.get(id) === queue) queues.delete(id);
    }
  }

  /** Decides on the groups. Returns how many attempts failed because another process had changed one of the rows. */
  async function round(batch: Group[]): Promise<number> {
    let mustRead = false;
    for (let lost = 0; lost < TRIES; ) {
      if (!removeOverdue(batch)) return lost;
      const copies = await copiesFor(batch, mustRead);
      // A group that was decided must also be written, so a group may be removed only before it is decided.
      if (!removeOverdue(batch)) return lost;
      const answers: (readonly Decision[])[] = [];
      for (const group of batch) answers.push(await decide(group, copies));
      const writes = writesOf(copies);
      const isVerified = writes.length > 0 && answers.every(isAllowed);
      if (!isVerified && ![...copies.values()].every(({ found }) => found.sure)) {
        mustRead = true;
        continue;
      }
      if (writes.length === 0 || (await putAll(writes))) {
        for (const [i, { resolve }] of batch.entries()) resolve(answers[i]);
        return lost;
      }
      lost++;
      mustRead = true;
      if (lost > 1) await pause(lost);
    }
    throw tooManyConflicts();
  }

  /** Copies the rows of all groups. If `mustRead` is true, the rows are read now. */
  async function copiesFor(batch: readonly Group[], mustRead: boolean): Promise<ReadonlyMap<string, Copy>> {
    const ids = [...new Set(batch.flatMap((group) => group.ids))];
    const keys = await Promise.all(ids.map(async (id) => (isLong(id) ? digestOf(id) : id)));
    const getAll = (isSure: boolean) => Promise.all(keys.map(async (key) => rows.get(key, isSure)));
    let all = await getAll(mustRead);
    // A row that is not remembered may exist nevertheless, and the attempt would fail if it does. So all rows are read.
    if (all.some(({ sure, version }) => !sure && version === undefined)) all = await getAll(true);
    // All rows are decided for the same instant.
    const now = Math.max(...all.map((found) => found.now));
    return new Map(ids.map((id, i) => [id, copyOf(keys[i], { ...all[i], now })]));
  }

  function copyOf(key: string, found: Found): Copy {
    const numbers = numbersIn(found.value);
    const now = timeOf?.(key, writtenAt(numbers), found.now) ?? found.now;
    return { key, found, now, numbers, change: undefined, isRelevant: false };
  }

  /** Decides on one group, and changes its copies. */
  async function decide(
    { hits, ids }: Group,
    copies: ReadonlyMap<string, Copy>,
  ): Promise<readonly Decision[]> {
    const decisions = await allOrNoneOf(hits, (hit) => {
      const copy = copies.get(idOf(hit.plan, hit.key)) as Copy;
      const outcome = decideAll([hit], copy.numbers, copy.now, keep);
      if (outcome.change !== undefined) {
        copy.change = outcome.change;
        copy.numbers = numbersIn(outcome.change.value);
      }
      return outcome.decisions[0];
    });
    if (isAllowed(decisions)) for (const id of ids) (copies.get(id) as Copy).isRelevant = true;
    return decisions;
  }

  return takeAll;
}

function isAllowed(decisions: readonly Decision[]): boolean {
  return decisions.every(({ allowed }) => allowed);
}

/**
 * The rows to write. If there are any, the rows on which an allowed take relies are also written, unchanged, so that the whole
 * write fails if one of these rows has changed since it was read.
 */
function writesOf(copies: ReadonlyMap<string, Copy>): Write[] {
  const all = [...copies.values()];
  if (all.every(({ change }) => change === undefined)) return [];
  return all.flatMap(({ key, found, change, isRelevant, numbers, now }) => {
    if (change !== undefined) return { key, found, ...change };
    const { value } = found;
    return isRelevant && value !== undefined ? { key, found, value, expiresIn: expiresIn(numbers, now) } : [];
  });
}
