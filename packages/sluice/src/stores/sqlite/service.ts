/** Compare-and-swap on a table of SQLite. The SQLite and D1 stores differ only in how they run a statement. */
import type { MaybePromise, Millis } from '../../engine/contract.ts';
import { fromBase64, toBase64 } from '../cas/base64.ts';
import type { CasFound, CasPut, CasService } from '../cas/cas.ts';
import { cleaner, newVersion } from '../cas/table.ts';
import type { Statements } from './sql.ts';

/** Runs a statement with its parameter and returns the resulting rows. */
export type Run = (
  statement: keyof Statements,
  parameter: string | number,
) => MaybePromise<readonly unknown[]>;

interface Read {
  readonly n: number | bigint;
  readonly value: string | null;
  readonly version: string | null;
  readonly now: Millis;
}

export function sqliteService(run: Run): CasService<string> {
  const countWrites = cleaner(async (limit) => (await run('clean', limit)).length);

  async function getMany(keys: readonly string[]): Promise<CasFound<string>[]> {
    const found: CasFound<string>[] = [];
    for (const row of (await run('read', JSON.stringify(keys))) as readonly Read[])
      found[Number(row.n)] = foundIn(row);
    return found;
  }

  async function write(statement: 'write' | 'writeAll', puts: readonly CasPut<string>[]) {
    const version = newVersion();
    const rows = puts.map((put) => [
      put.key,
      toBase64(put.value),
      version,
      put.expiresInMs,
      put.version ?? null,
    ]);
    const written = (await run(statement, JSON.stringify(rows))) as readonly { readonly key: string }[];
    countWrites(written.length);
    return new Set(written.map(({ key }) => key));
  }

  async function putMany(puts: readonly CasPut<string>[]): Promise<boolean[]> {
    const written = await write('write', puts);
    return puts.map(({ key }) => written.has(key));
  }

  return {
    getMany,
    putMany,
    get: async (key) => (await getMany([key]))[0],
    put: async (key, value, version, expiresInMs) =>
      (await putMany([{ key, value, version, expiresInMs }]))[0],
    putAll: async (puts) => (await write('writeAll', puts)).size === puts.length,
  };
}

function foundIn({ value, version, now }: Read): CasFound<string> {
  if (value === null || version === null) return { now };
  // A value that cannot be decoded is treated as empty, so that it is overwritten.
  return { value: fromBase64(value) ?? new Uint8Array(), version, now };
}
