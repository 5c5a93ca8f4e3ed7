/** All SQL statements of the stores on SQLite, which need SQLite 3.35 or later. */
import { tableParts } from '../cas/table.ts';

/**
 * Each statement has one parameter, because clients bind several parameters in different ways. In the comments below, the arrow
 * separates the parameter from the resulting columns.
 */
export interface Statements {
  /** A JSON array of keys → for each of them n (its index), value, version, now. */
  readonly read: string;
  /** A JSON array of [key, value, new version, milliseconds to keep it, expected version or null] → the keys that were written. */
  readonly write: string;
  /** Same as `write`, but writes all rows or none. */
  readonly writeAll: string;
  /** Maximum number of expired rows to delete → the keys that were deleted. */
  readonly clean: string;
}

/** The system's time in milliseconds since 1970. Every version of SQLite knows this function. */
const NOW = "(julianday('now') - 2440587.5) * 86400000.0";

/** Returns the SQL that creates the table. It does nothing if the table already exists. */
export function tableSql(table: string): string {
  const name = nameOf(table);
  return `CREATE TABLE IF NOT EXISTS "${name}" (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL,
  version TEXT NOT NULL,
  expires REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS "${name}_expires" ON "${name}" (expires);
`;
}

export function statementsFor(table: string): Statements {
  const name = `"${nameOf(table)}"`;
  // A single statement compares and writes, so no other connection can write in between. `IS` also compares NULL. It is needed
  // because a row that was not found has no version, and must still not exist when it is written.
  const write = (condition: string): string => `WITH asked AS MATERIALIZED (
  SELECT json_extract(value, '$[0]') AS key, json_extract(value, '$[1]') AS value, json_extract(value, '$[2]') AS version,
    ${NOW} + json_extract(value, '$[3]') AS expires, json_extract(value, '$[4]') AS expected
  FROM json_each(?)
)
INSERT INTO ${name} (key, value, version, expires)
SELECT a.key, a.value, a.version, a.expires FROM asked a LEFT JOIN ${name} r ON r.key = a.key WHERE ${condition}
ON CONFLICT (key) DO UPDATE SET value = excluded.value, version = excluded.version, expires = excluded.expires
RETURNING key`;
  return {
    read: `SELECT a.key AS n, r.value, r.version, ${NOW} AS now
FROM json_each(?) a LEFT JOIN ${name} r ON r.key = a.value`,
    write: write('r.version IS a.expected'),
    writeAll: write(`NOT EXISTS (
  SELECT 1 FROM asked b LEFT JOIN ${name} s ON s.key = b.key WHERE s.version IS NOT b.expected
)`),
    clean: `DELETE FROM ${name} WHERE key IN (
  SELECT key FROM ${name} WHERE expires < ${NOW} ORDER BY expires LIMIT ?
) RETURNING key`,
  };
}

function nameOf(table: unknown): string {
  return tableParts(table, false)[0];
}
