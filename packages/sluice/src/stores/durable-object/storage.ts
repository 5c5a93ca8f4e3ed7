/** Compare-and-swap on the storage of a Durable Object. */
import type { Millis } from '../../engine/contract.ts';
import type { CasFound, CasPut, CasService } from '../cas/cas.ts';
import { cleaner, newVersion } from '../cas/table.ts';

/** `ctx.storage` of a Durable Object. */
export interface DurableObjectStorage {
  /** Reads the values of several keys. */
  get(keys: string[]): Promise<Map<string, unknown>>;
  /** Lists keys in order. */
  list(options: { prefix: string; startAfter?: string; limit: number }): Promise<Map<string, unknown>>;
  /** Deletes keys. */
  delete(keys: string[]): Promise<number>;
  /** Runs a function whose reads and writes are one atomic step. */
  transaction<T>(work: (rows: DurableObjectTransaction) => Promise<T>): Promise<T>;
}

/** The argument of the function that `transaction` runs. */
export interface DurableObjectTransaction {
  /** Reads the values of several keys. */
  get(keys: string[]): Promise<Map<string, unknown>>;
  /** Writes the values of several keys. */
  put(entries: Record<string, unknown>): Promise<void>;
}

interface Row {
  readonly value: Uint8Array;
  readonly version: string;
  readonly expires: Millis;
}

/** Keeps the rows apart from other data of the object. */
const PREFIX = 'sluice:';
/** The maximum number of keys in one call of the storage. */
const MOST = 128;

export function storageService(storage: DurableObjectStorage): CasService<string> {
  /** Where the next cleaning continues. */
  let cursor: string | undefined;
  const countWrites = cleaner(clean);

  async function getMany(keys: readonly string[]): Promise<CasFound<string>[]> {
    const now = Date.now();
    const rows = await rowsOf(storage, keys);
    return keys.map((key) => {
      const row = rows.get(key);
      return row === undefined ? { now } : { value: row.value, version: row.version, now };
    });
  }

  /** Writes each row that still has the expected version. With `all`, writes either all rows or none. */
  async function write(puts: readonly CasPut<string>[], all: boolean): Promise<boolean[]> {
    const version = newVersion();
    const outcomes = await storage.transaction(async (rows) => {
      const found = await rowsOf(
        rows,
        puts.map(({ key }) => key),
      );
      const isCurrent = puts.map((put) => found.get(put.key)?.version === put.version);
      if (all && isCurrent.includes(false)) return puts.map(() => false);
      const current = puts.filter((_, i) => isCurrent[i]);
      for (const part of partsOf(current)) {
        const entries = part.map(({ key, value, expiresInMs }) => {
          // A value may be a view of a buffer that it shares with other values. `slice` copies only this value.
          const row: Row = { value: value.slice(), version, expires: Date.now() + expiresInMs };
          return [PREFIX + key, row] as const;
        });
        await rows.put(Object.fromEntries(entries));
      }
      return isCurrent;
    });
    countWrites(outcomes.filter(Boolean).length);
    return outcomes;
  }

  /** Looks at some of the rows and deletes those that have expired. Returns `limit` if there are more rows to look at. */
  async function clean(limit: number): Promise<number> {
    const options = { prefix: PREFIX, limit: MOST };
    const rows = await storage.list(cursor === undefined ? options : { ...options, startAfter: cursor });
    const now = Date.now();
    const expired = [...rows].filter(([, row]) => (row as Row).expires < now).map(([key]) => key);
    if (expired.length > 0) await storage.delete(expired);
    const isFull = rows.size === MOST;
    cursor = isFull ? [...rows.keys()].at(-1) : undefined;
    return isFull ? limit : 0;
  }

  return {
    getMany,
    putMany: (puts) => write(puts, false),
    get: async (key) => (await getMany([key]))[0],
    put: async (key, value, version, expiresInMs) =>
      (await write([{ key, value, version, expiresInMs }], false))[0],
    putAll: async (puts) => (await write(puts, true))[0],
  };
}

async function rowsOf(
  storage: Pick<DurableObjectStorage, 'get'>,
  keys: readonly string[],
): Promise<Map<string, Row>> {
  const found = new Map<string, Row>();
  for (const part of partsOf(keys))
    for (const [key, row] of await storage.get(part.map((key) => PREFIX + key)))
      found.set(key.slice(PREFIX.length), row as Row);
  return found;
}

function partsOf<T>(list: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(list.length / MOST) }, (_, i) =>
    list.slice(i * MOST, (i + 1) * MOST),
  );
}
