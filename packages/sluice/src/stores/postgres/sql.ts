/** All SQL statements of the store. */
import type { Millis } from '../../engine/contract.ts';
import { checkOptionNames } from '../../internal/options.ts';
import { tableParts } from '../cas/table.ts';
import type { Statement } from './client.ts';

export interface MigrationOptions {
  /** The name of the table, optionally with a schema. Default 'sluice'. */
  readonly table?: string | undefined;
  /**
   * Whether to create an UNLOGGED table, which is several times faster, but empty after a crash of the server and not replicated.
   * Default false.
   */
  readonly unlogged?: boolean | undefined;
}

/** Returns the SQL that creates the table. Run it once. It does nothing if the table already exists. */
export function migration(options: MigrationOptions = {}): string {
  const { table = 'sluice', unlogged = false } = checkOptionNames('migration', options, [
    'table',
    'unlogged',
  ]);
  const name = quoted(table);
  const index = `"${table.replace(/^.*\./, '')}_expires"`;
  // Free space in each page lets an update stay on the same page, so that no index has to change.
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
 * Statements that read and write rows. In the comments below, the arrow separates the parameters from the resulting columns.
 * `insert` and `writeMany` return a line with the current row for each row that was not written. If all rows were written, they
 * return one line whose `n` is null.
 */
export interface Statements {
  /** key → n (0), value, version, now. */
  readonly read: Statement;
  /** keys → for each of them n, value, version, now. */
  readonly readMany: Statement;
  /** key, value, new version, milliseconds to keep it, time of the decision or 0 → n (0 or null), value, version, now. */
  readonly insert: Statement;
  /**
   * The parameters of `insert` and the expected version → now, and value and version if the row was not written; no line if there
   * is no row.
   */
  readonly update: Statement;
  /**
   * The list of keys; the concatenated values; four arrays with each value's start, its size, the milliseconds to keep it and its
   * expected version (0: no row); the new version of all rows; the latest and the earliest time of the decisions, or 0 → n,
   * value, version, now.
   */
  readonly writeMany: Statement;
  /**
   * keys, version, milliseconds to keep the rows → nothing. Inserts an empty row for each key that has no row. An empty row is
   * read as a new key.
   */
  readonly insertEmpty: Statement;
  /** The parameters of `writeMany`, but all rows must exist → n (how many rows were written, which is all or none), now. */
  readonly writeAll: Statement;
  /** Maximum number of expired rows to delete → how many were deleted. */
  readonly clean: Statement;
}

/**
 * Maximum age of a decision when it is written, by the server's time. A decision is old if its statement had to wait for a
 * connection.
 */
export const LATEST: Millis = 1000;

/** The columns of a statement that returns rows of the table. */
const ROW = ['n', 'value', 'version', 'now'];
/** Maximum length of a statement's name. pg warns about longer names. */
const LONGEST_NAME = 63;

export function statementsFor(table: string): Statements {
  const name = quoted(table);
  const time = "date_part('epoch', clock_timestamp()) * 1000";
  const inTime = `($5::float8 = 0 OR ${time} BETWEEN $5::float8 AND $5::float8 + ${LATEST})`;
  const isExpected = `version = $6::bigint AND ${inTime}`;
  const expires = "clock_timestamp() + $4::float8 * interval '1 ms'";
  const keys = "string_to_array($1::text, E'\\n')";
  const asked = `SELECT key, substr($2::bytea, start, size) AS value, keep, expected, n
  FROM unnest(${keys}, $3::text::int[], $4::text::int[], $5::text::float8[], $6::text::bigint[])
    WITH ORDINALITY AS a(key, start, size, keep, expected, n)`;
  const named = (what: string, columns: readonly string[], text: string): Statement => {
    const full = `sluice ${what} ${table}`;
    return { name: full.length > LONGEST_NAME ? undefined : full, text, columns };
  };
  return {
    read: named(
      'read',
      ROW,
      `SELECT 0 AS n, r.value, r.version::text, ${time} AS now FROM (SELECT) one LEFT JOIN ${name} r ON r.key = $1`,
    ),
    readMany: named(
      'read many',
      ROW,
      `SELECT a.n::int - 1 AS n, r.value, r.version::text, ${time} AS now
FROM unnest(${keys}) WITH ORDINALITY AS a(key, n) LEFT JOIN ${name} r ON r.key = a.key`,
    ),
    insert: named(
      'insert',
      ROW,
      `WITH put AS (
  INSERT INTO ${name} (key, value, version, expires)
  SELECT $1::text, $2::bytea, $3::bigint, ${expires} WHERE ${inTime}
  ON CONFLICT (key) DO NOTHING RETURNING 1
)
SELECT n, r.value, r.version::text, ${time} AS now
FROM (SELECT CASE WHEN NOT EXISTS (SELECT FROM put) THEN 0 END AS n) lost LEFT JOIN ${name} r ON n = 0 AND r.key = $1`,
    ),
    // A plain update of one row is the fastest statement that also returns the current row if its version is unexpected.
    // Changing the expiry also changes its index, so a row is kept for 1.5 times as long as necessary, and most writes leave the
    // expiry unchanged.
    update: named(
      'update',
      ['value', 'version', 'now'],
      `UPDATE ${name} SET value = CASE WHEN ${isExpected} THEN $2::bytea ELSE value END,
  version = CASE WHEN ${isExpected} THEN $3::bigint ELSE version END,
  expires = CASE WHEN expires >= ${expires} THEN expires ELSE ${expires} + $4::float8 * interval '0.5 ms' END
WHERE key = $1 RETURNING CASE WHEN version <> $3::bigint THEN value END AS value,
  CASE WHEN version <> $3::bigint THEN version::text END AS version, ${time} AS now`,
    ),
    // Rows are locked in key order before new rows are inserted in key order, so two of these statements never deadlock.
    // A locked row is skipped, because its writer is about to replace it.
    writeMany: named(
      'write many',
      ROW,
      `WITH clock AS MATERIALIZED (SELECT ${time} AS now), asked AS MATERIALIZED (
  ${asked}
), due AS MATERIALIZED (
  SELECT asked.* FROM asked, clock WHERE $8::float8 = 0 OR now BETWEEN $8::float8 AND $9::float8 + ${LATEST}
), held AS MATERIALIZED (
  SELECT r.key, due.value, due.expected, due.keep * interval '1 ms' AS keep
  FROM due JOIN ${name} r ON r.key = due.key WHERE due.expected > 0 AND r.version = due.expected
  ORDER BY r.key FOR UPDATE OF r SKIP LOCKED
), changed AS (
  UPDATE ${name} r SET value = held.value, version = $7::bigint,
    expires = CASE WHEN r.expires >= clock_timestamp() + held.keep THEN r.expires ELSE clock_timestamp() + held.keep * 1.5 END
  FROM held WHERE r.key = held.key AND r.version = held.expected RETURNING r.key
), added AS (
  INSERT INTO ${name} (key, value, version, expires)
  SELECT key, value, $7::bigint, clock_timestamp() + keep * interval '1 ms' FROM due WHERE expected = 0 ORDER BY key COLLATE "C"
  ON CONFLICT (key) DO NOTHING RETURNING key
)
SELECT lost.n, lost.value, lost.version, clock.now FROM clock LEFT JOIN (
  SELECT asked.n::int - 1 AS n, r.value, r.version::text FROM asked LEFT JOIN ${name} r ON r.key = asked.key
  WHERE asked.key NOT IN (SELECT key FROM changed UNION ALL SELECT key FROM added)
) lost ON true`,
    ),
    insertEmpty: named(
      'insert empty',
      [],
      `INSERT INTO ${name} (key, value, version, expires)
SELECT key, '', $2::bigint, clock_timestamp() + $3::float8 * interval '1 ms'
FROM unnest(${keys}) AS a(key) ORDER BY key COLLATE "C" ON CONFLICT (key) DO NOTHING`,
    ),
    // This statement waits for locked rows, because if two of these statements skipped each other's rows, neither of them would
    // write. Rows are locked in key order, and nothing is written before all of them are locked, so two of these statements never
    // deadlock.
    writeAll: named(
      'write all',
      ['n', 'now'],
      `WITH asked AS MATERIALIZED (
  ${asked}
), held AS MATERIALIZED (
  SELECT r.key, asked.value, asked.keep * interval '1 ms' AS keep
  FROM asked JOIN ${name} r ON r.key = asked.key WHERE r.version = asked.expected ORDER BY r.key FOR UPDATE OF r
), complete AS MATERIALIZED (
  SELECT count(*) AS held, ${time} AS now FROM held
), changed AS (
  UPDATE ${name} r SET value = held.value, version = $7::bigint,
    expires = CASE WHEN r.expires >= clock_timestamp() + held.keep THEN r.expires ELSE clock_timestamp() + held.keep * 1.5 END
  FROM held, complete WHERE r.key = held.key AND complete.held = (SELECT count(*) FROM asked)
    AND ($8::float8 = 0 OR complete.now BETWEEN $8::float8 AND $9::float8 + ${LATEST})
  RETURNING 1
)
SELECT (SELECT count(*)::int FROM changed) AS n, now FROM complete`,
    ),
    clean: named(
      'clean',
      ['cleaned'],
      `WITH gone AS (
  DELETE FROM ${name} WHERE key = ANY (ARRAY (
    SELECT key FROM ${name} WHERE expires < now() ORDER BY expires LIMIT $1::int FOR UPDATE SKIP LOCKED
  )) RETURNING 1
)
SELECT count(*)::int AS cleaned FROM gone`,
    ),
  };
}

/** Encodes keys as one text with a line break between two keys. No key contains a line break. */
export function listOf(keys: readonly string[]): string {
  return keys.join('\n');
}

/** Encodes numbers as the text of an array, which every client passes on unchanged. */
export function arrayOf(numbers: readonly unknown[]): string {
  return `{${numbers.join()}}`;
}

/** Quotes the name of a table; for example, 'public.limits' becomes "public"."limits". */
function quoted(table: unknown): string {
  return tableParts(table, true)
    .map((part) => `"${part}"`)
    .join('.');
}
