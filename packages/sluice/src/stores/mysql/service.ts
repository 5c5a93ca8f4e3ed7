/** Compare-and-swap on a table of MySQL or MariaDB. */
import type { CasFound, CasPut, CasService } from '../cas/cas.ts';
import { cleaner, newVersion } from '../cas/table.ts';
import type { Connections, Run } from './client.ts';
import { explained, isConflict } from './faults.ts';
import { statementsFor } from './sql.ts';

export function mysqlService({ run, transaction }: Connections, table: string): CasService<string> {
  const statements = statementsFor(table);
  const countWrites = cleaner(async (limit) => (await run(statements.clean(limit), [])).affectedRows);

  async function getMany(keys: readonly string[]): Promise<CasFound<string>[]> {
    // The number of keys is rounded up to a power of two, so that a connection keeps few prepared statements. The last key is
    // repeated.
    const size = 2 ** Math.ceil(Math.log2(keys.length));
    const values = Array.from({ length: size }, (_, i) => keys[Math.min(i, keys.length - 1)]);
    const rows = await run(statements.read(size), values).catch((error: unknown) => {
      throw explained(error, table);
    });
    const now = Number(rows[0]['now']);
    const found = new Map<string, CasFound<string>>();
    for (const { key, value, version } of rows)
      if (key !== null)
        found.set((key as Uint8Array).toString(), {
          value: value as Uint8Array,
          version: String(version),
          now,
        });
    return keys.map((key) => found.get(key) ?? { now });
  }

  /** Writes a row if it still has the expected version. Each write is one statement, so no other process can write in between. */
  async function write(on: Run, put: CasPut<string>): Promise<boolean> {
    const value = Buffer.from(put.value.buffer, put.value.byteOffset, put.value.byteLength);
    const { key, version, expiresInMs } = put;
    const { affectedRows } =
      version === undefined
        ? await on(statements.insert, [key, value, newVersion(), expiresInMs])
        : await on(statements.update, [value, newVersion(), expiresInMs, key, version]);
    return affectedRows === 1;
  }

  async function unlessConflict(puts: number, work: () => Promise<boolean>): Promise<boolean> {
    try {
      const isWritten = await work();
      if (isWritten) countWrites(puts);
      return isWritten;
    } catch (error) {
      if (isConflict(error)) return false;
      throw explained(error, table);
    }
  }

  const service: CasService<string> = {
    getMany,
    get: async (key) => (await getMany([key]))[0],
    put: (key, value, version, expiresInMs) =>
      unlessConflict(1, () => write(run, { key, value, version, expiresInMs })),
  };
  if (transaction === undefined) return service;
  return {
    ...service,
    putAll: (puts) =>
      unlessConflict(puts.length, () =>
        transaction(async (on) => {
          // Rows are locked in the order of their keys, so two of these transactions rarely deadlock.
          for (const put of puts.toSorted((a, b) => (a.key < b.key ? -1 : 1)))
            if (!(await write(on, put))) return false;
          return true;
        }),
      ),
  };
}
