/**
 * Reads and writes rows in a table, with one statement for all rows of a tick.
 *
 * The store remembers the last version of each row that it saw, and assumes that an unknown key is new. So most decisions are made
 * before the server is asked, and the write names the version on which the decision is based. If that version is stale, nothing is
 * written and the current row is returned. A decision that writes nothing is always based on a row that was just read.
 */
import type { Millis } from '../../engine/contract.ts';
import { inBatches } from '../cas/batches.ts';
import type { Found, Rows, Write } from '../cas/swap-store.ts';
import { cleaner, newVersion } from '../cas/table.ts';
import type { Run, Statement } from './client.ts';
import { explained, isConflict } from './faults.ts';
import { arrayOf, LATEST, listOf, statementsFor } from './sql.ts';

type Known = Pick<Found, 'value' | 'version'>;

interface Reply {
  /**
   * The index of the row, or null if the reply is not about a row. Replies to `update` have no `n`; such a reply is about a row
   * if it has a version. In replies to `writeAll`, `n` is the number of rows that were written.
   */
  readonly n?: number | null;
  readonly value: Uint8Array | null;
  readonly version: string | null;
  readonly now: Millis;
}

const UNKNOWN: Known = { value: undefined, version: undefined };

/** Maximum number of rows to remember, and maximum size of each in bytes. */
const REMEMBERED = 10_000;
const LARGEST = 1024;
/**
 * How much longer a row is kept once it is fully replenished. A key in use is often replenished before its next check, and it
 * is cheaper to update its row than to delete the row and insert it again.
 */
const RETAINED: Millis = 10_000;
/** Maximum number of attempts for a read that fails because of concurrent writes. */
const READS = 10;

export function postgresRows(run: Run, table: string, clock?: { now(): Millis }): Rows {
  const statements = statementsFor(table);
  const remembered = new Map<string, Known>();
  /**
   * A lower bound for how far the server's clock is ahead of `performance.now()`. It is a lower bound because a reply is read some
   * time after the server wrote it.
   */
  let ahead = -Infinity;
  const countWrites = cleaner(async (limit) => {
    const [row] = await run(statements.clean, [limit]);
    return row['cleaned'];
  });
  const read = inBatches(readMany);
  const write = inBatches(writeMany);

  async function ask(statement: Statement, values: readonly unknown[]): Promise<readonly Reply[]> {
    try {
      return (await run(statement, values)) as unknown as readonly Reply[];
    } catch (error) {
      throw explained(error, table);
    }
  }

  function remember(key: string, known: Known): void {
    remembered.delete(key);
    if (known.value === undefined || known.value.byteLength > LARGEST) return;
    if (remembered.size >= REMEMBERED) remembered.delete(remembered.keys().next().value as string);
    remembered.set(key, known);
  }

  /** Reads a reply. `sure` is false if the row may have been replaced after the statement began. */
  function foundIn(key: string, reply: Reply, sure: boolean): Found {
    const value = reply.value ?? undefined;
    const version = reply.version ?? undefined;
    remember(key, { value, version });
    return { value, version, now: clock?.now() ?? reply.now, sure };
  }

  async function readMany(keys: readonly string[]): Promise<Found[]> {
    const isOne = keys.length === 1;
    const replies = await repeated(() =>
      isOne ? ask(statements.read, keys) : ask(statements.readMany, [listOf(keys)]),
    );
    ahead = Math.max(ahead, replies[0].now - performance.now());
    const found: Found[] = [];
    for (const reply of replies) found[reply.n ?? 0] = foundIn(keys[reply.n ?? 0], reply, true);
    return found;
  }

  function get(key: string, sure: boolean): Found | Promise<Found> {
    if (!sure && ahead > -Infinity) return recall(key);
    return new Promise((resolve, reject) => read(key, resolve, reject));
  }

  /** Returns the row that the store remembers, or no row if it assumes that the key is new. */
  function recall(key: string): Found {
    const { value, version } = remembered.get(key) ?? UNKNOWN;
    return { value, version, now: clock?.now() ?? ahead + performance.now(), sure: false };
  }

  /**
   * Sends writes. Returns a reply for each row that was not written, or one reply without a row if all were written. There is no
   * reply at all to the update of a row that no longer exists. Returns undefined if other processes wrote first, and their values
   * are not known.
   */
  async function send(batch: readonly Write[], version: string, earliest: Millis, latest: Millis) {
    const [{ key, found, value, expiresIn }] = batch;
    try {
      if (batch.length > 1)
        return await ask(statements.writeMany, [...columnsOf(batch), version, latest, earliest]);
      const values = [key, value, version, expiresIn, earliest];
      if (found.version === undefined) return await ask(statements.insert, values);
      return await ask(statements.update, [...values, found.version]);
    } catch (error) {
      if (isConflict(error)) return undefined;
      throw error;
    }
  }

  async function writeMany(batch: readonly Write[]): Promise<(true | false | Found)[]> {
    const version = newVersion();
    const [earliest, latest] = timesOf(batch);
    const replies = await send(batch, version, earliest, latest);
    if (replies === undefined) return batch.map(() => false);
    if (replies.length === 0) {
      remembered.delete(batch[0].key);
      return [recall(batch[0].key)];
    }
    const [{ now }] = replies;
    const isInTime = checkTime(now, earliest, latest);
    const outcomes: (true | Found)[] = batch.map(() => true);
    for (const reply of replies) {
      const n = reply.n === undefined && reply.version !== null ? 0 : (reply.n ?? -1);
      if (n < 0) continue;
      const { key, found } = batch[n];
      const isOther = (reply.version ?? undefined) !== found.version;
      outcomes[n] = foundIn(key, reply, reply.value !== null && (isOther || !isInTime));
    }
    let written = 0;
    batch.forEach(({ key, value }, i) => {
      if (outcomes[i] !== true) return;
      written++;
      remember(key, { value, version });
    });
    countWrites(written);
    return outcomes;
  }

  /** The earliest and the latest time of the decisions. Both are 0 if the server's time does not matter. */
  function timesOf(batch: readonly Write[]): [Millis, Millis] {
    if (clock !== undefined) return [0, 0];
    const times = batch.map(({ found }) => found.now);
    return [Math.min(...times), Math.max(...times)];
  }

  /**
   * Learns the server's time from the reply to a write. Returns false if, by the server's time, a decision was too old or was made
   * in the future.
   */
  function checkTime(now: Millis, earliest: Millis, latest: Millis): boolean {
    const isInTime = clock !== undefined || (latest <= now && now <= earliest + LATEST);
    // If `isInTime` is false, the server's clock was set back, or this process or the statement was delayed.
    ahead = isInTime ? Math.max(ahead, now - performance.now()) : now - performance.now();
    return isInTime;
  }

  /** Writes all rows or none. Returns whether they were written. */
  async function putAll(batch: readonly Write[]): Promise<boolean> {
    const [earliest, latest] = timesOf(batch);
    const version = newVersion();
    try {
      const existing = await withEmptyRows(batch);
      const columns = columnsOf(existing.map((row) => ({ ...row, expiresIn: row.expiresIn + RETAINED })));
      const [{ n: written, now }] = await ask(statements.writeAll, [...columns, version, latest, earliest]);
      checkTime(now, earliest, latest);
      if (written !== batch.length) return false;
    } catch (error) {
      if (isConflict(error)) return false;
      throw error;
    }
    for (const { key, value } of batch) remember(key, { value, version });
    countWrites(batch.length);
    return true;
  }

  /**
   * Inserts an empty row for each row that was not found, because only a row that exists can be locked. If another process has
   * inserted the row in the meantime, the row has a different version, so `writeAll` writes nothing.
   */
  async function withEmptyRows(batch: readonly Write[]): Promise<readonly Write[]> {
    const absent = batch.filter(({ found }) => found.version === undefined).map(({ key }) => key);
    if (absent.length === 0) return batch;
    const version = newVersion();
    await ask(statements.insertEmpty, [listOf(absent), version, RETAINED]);
    return batch.map((row) =>
      row.found.version === undefined ? { ...row, found: { ...row.found, version } } : row,
    );
  }

  const put: Rows['put'] = ({ key, found, value, expiresIn }, resolve, reject) =>
    write({ key, found, value, expiresIn: expiresIn + RETAINED }, resolve, reject);

  return { get, put, putAll };
}

/** The first parameters of a statement that writes many rows. */
function columnsOf(batch: readonly Write[]): unknown[] {
  const sizes = batch.map(({ value }) => value.byteLength);
  const starts: number[] = [];
  let size = 0;
  for (const one of sizes) {
    starts.push(size + 1);
    size += one;
  }
  const values = Buffer.allocUnsafe(size);
  for (let i = 0; i < batch.length; i++) values.set(batch[i].value, starts[i] - 1);
  return [
    listOf(batch.map(({ key }) => key)),
    values,
    arrayOf(starts),
    arrayOf(sizes),
    arrayOf(batch.map(({ expiresIn }) => expiresIn)),
    arrayOf(batch.map(({ found }) => found.version ?? 0)),
  ];
}

/** Repeats a read that fails because of concurrent writes, as it may at strict isolation levels. */
async function repeated<T>(ask: () => Promise<T>): Promise<T> {
  for (let left = READS; ; left--) {
    try {
      return await ask();
    } catch (error) {
      if (left === 0 || !isConflict(error)) throw error;
    }
  }
}
