/** All the SQL there is. */
import type { Millis } from '../../engine/contract.ts';
import { SluiceError } from '../../internal/errors.ts';
import { checkOptionNames } from '../../internal/options.ts';
import type { Statement } from './client.ts';

export interface MigrationOptions {
  /** Its name, maybe with a schema; default 'sluice'. */
  readonly table?: string | undefined;
  /** Not written to the log: several times faster, empty after a crash of the server, not on replicas. Default false. */
  readonly unlogged?: boolean | undefined;
}

/** What makes the table. Run it yourself, once; it does nothing where the table is already. */
export function migration(options: MigrationOptions = {}): string {
  const { table = 'sluice', unlogged = false } = checkOptionNames('migration', options, [
    'table',
    'unlogged',
  ]);
  const name = quoted(table);
  const index = `"${table.replace(/^.*\./, '')}_expires"`;
  // Room in each page, so that a row is rewritten beside itself and no index has to hear of it.
  return `CREATE ${unlogged ? 'UNLOGGED ' : ''}TABLE IF NOT EXISTS ${name} (
  key text COLLATE "C" PRIMARY KEY,
  value bytea NOT NULL,
  version bigint NOT NULL,
  expires timestamptz NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX IF NOT EXISTS ${index} ON ${name} (expires);
`;
}

/**
 * Statements that read and write rows. `insert` and `writeMany` reply with a line for each row that was not written, with
 * what is there instead, or with one line whose `n` is null.
 */
export interface Statements {
  /** key → n (0), value, version, now. */
  readonly read: Statement;
  /** keys → for each of them n, value, version, now. */
  readonly readMany: Statement;
  /** key, value, new version, milliseconds to keep it, time it was decided for or 0 → n (0 or null), value, version, now. */
  readonly insert: Statement;
  /** The same, and sixth the version expected → now, and value and version unless it was written; no line if there is no row. */
  readonly update: Statement;
  /**
   * Arrays of keys, values, milliseconds to keep them and versions expected (0: there is no row); then the new version of
   * all of them, and the latest and the earliest time that they were decided for, or 0 → n, value, version, now.
   */
  readonly writeMany: Statement;
  /** How many expired rows to delete at most → how many it was. */
  readonly clean: Statement;
}

/** How far behind the server's time a decision may be when it is written: the statement may have waited for a connection. */
export const LATEST: Millis = 1000;

/** pg warns about longer names of statements. */
const LONGEST_NAME = 63;

export function statementsFor(table: string): Statements {
  const name = quoted(table);
  const time = "date_part('epoch', clock_timestamp()) * 1000";
  const inTime = `($5::float8 = 0 OR ${time} BETWEEN $5::float8 AND $5::float8 + ${LATEST})`;
  const isExpected = `version = $6::bigint AND ${inTime}`;
  const expires = "clock_timestamp() + $4::float8 * interval '1 ms'";
  const named = (what: string, text: string): Statement => {
    const full = `sluice ${what} ${table}`;
    return { name: full.length > LONGEST_NAME ? undefined : full, text };
  };
  return {
    read: named(
      'read',
      `SELECT 0 AS n, r.value, r.version::text, ${time} AS now FROM (SELECT) one LEFT JOIN ${name} r ON r.key = $1`,
    ),
    readMany: named(
      'read many',
      `SELECT a.n::int - 1 AS n, r.value, r.version::text, ${time} AS now
FROM unnest($1::text::text[]) WITH ORDINALITY AS a(key, n) LEFT JOIN ${name} r ON r.key = a.key`,
    ),
    insert: named(
      'insert',
      `WITH put AS (
  INSERT INTO ${name} (key, value, version, expires)
  SELECT $1::text, $2::bytea, $3::bigint, ${expires} WHERE ${inTime}
  ON CONFLICT (key) DO NOTHING RETURNING 1
)
SELECT n, r.value, r.version::text, ${time} AS now
FROM (SELECT CASE WHEN NOT EXISTS (SELECT FROM put) THEN 0 END AS n) lost LEFT JOIN ${name} r ON n = 0 AND r.key = $1`,
    ),
    // A plain update of one row is the fastest statement that returns the newest row if that is not the expected one.
    // Each change of the expiry also changes its index. So a row is kept half as long again, and most writes leave it.
    update: named(
      'update',
      `UPDATE ${name} SET value = CASE WHEN ${isExpected} THEN $2::bytea ELSE value END,
  version = CASE WHEN ${isExpected} THEN $3::bigint ELSE version END,
  expires = CASE WHEN expires >= ${expires} THEN expires ELSE ${expires} + $4::float8 * interval '0.5 ms' END
WHERE key = $1 RETURNING CASE WHEN version <> $3::bigint THEN value END AS value,
  CASE WHEN version <> $3::bigint THEN version::text END AS version, ${time} AS now`,
    ),
    // Rows are locked in the order of their keys, before others are inserted in that order: no two of these statements
    // wait for each other. A row that is locked is left out, because its writer is about to replace it.
    writeMany: named(
      'write many',
      `WITH clock AS MATERIALIZED (SELECT ${time} AS now), asked AS MATERIALIZED (
  SELECT * FROM unnest($1::text::text[], $2::text::bytea[], $3::text::float8[], $4::text::bigint[])
    WITH ORDINALITY AS a(key, value, keep, expected, n)
), due AS MATERIALIZED (
  SELECT asked.* FROM asked, clock WHERE $6::float8 = 0 OR now BETWEEN $6::float8 AND $7::float8 + ${LATEST}
), held AS MATERIALIZED (
  SELECT r.key, due.value, due.expected, due.keep * interval '1 ms' AS keep
  FROM due JOIN ${name} r ON r.key = due.key WHERE due.expected > 0 AND r.version = due.expected
  ORDER BY r.key FOR UPDATE OF r SKIP LOCKED
), changed AS (
  UPDATE ${name} r SET value = held.value, version = $5::bigint,
    expires = CASE WHEN r.expires >= clock_timestamp() + held.keep THEN r.expires ELSE clock_timestamp() + held.keep * 1.5 END
  FROM held WHERE r.key = held.key AND r.version = held.expected RETURNING r.key
), added AS (
  INSERT INTO ${name} (key, value, version, expires)
  SELECT key, value, $5::bigint, clock_timestamp() + keep * interval '1 ms' FROM due WHERE expected = 0 ORDER BY key COLLATE "C"
  ON CONFLICT (key) DO NOTHING RETURNING key
)
SELECT lost.n, lost.value, lost.version, clock.now FROM clock LEFT JOIN (
  SELECT asked.n::int - 1 AS n, r.value, r.version::text FROM asked LEFT JOIN ${name} r ON r.key = asked.key
  WHERE asked.key NOT IN (SELECT key FROM changed UNION ALL SELECT key FROM added)
) lost ON true`,
    ),
    clean: named(
      'clean',
      `WITH gone AS (
  DELETE FROM ${name} WHERE key = ANY (ARRAY (
    SELECT key FROM ${name} WHERE expires < now() ORDER BY expires LIMIT $1::int FOR UPDATE SKIP LOCKED
  )) RETURNING 1
)
SELECT count(*)::int AS cleaned FROM gone`,
    ),
  };
}

/** Arrays as text, which every client passes on unchanged. */
export function arrayOfKeys(keys: readonly string[]): string {
  return `{${keys.map((key) => `"${key.replaceAll(/["\\]/g, '\\$&')}"`).join()}}`;
}

export function arrayOfBytes(values: readonly Uint8Array[]): string {
  const hex = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
    Buffer.from(buffer, byteOffset, byteLength).toString('hex');
  return `{${values.map((value) => `"\\\\x${hex(value)}"`).join()}}`;
}

export function arrayOfNumbers(numbers: readonly unknown[]): string {
  return `{${numbers.join()}}`;
}

/** 'public.limits' → "public"."limits". */
function quoted(table: unknown): string {
  const parts = typeof table === 'string' ? table.split('.') : [];
  if (parts.length < 1 || parts.length > 2 || !parts.every((part) => /^[a-z_][a-z_0-9]{0,50}$/i.test(part)))
    throw new SluiceError(
      'ERR_CHOICE',
      'table',
      table,
      'a name of letters, digits and _, maybe after a schema and a dot',
    );
  return parts.map((part) => `"${part}"`).join('.');
}
