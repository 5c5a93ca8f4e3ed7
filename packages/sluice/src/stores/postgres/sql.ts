/** All the SQL there is. */
import { SluiceError } from '../../errors.ts';
import { known } from '../../options.ts';
import type { Statement } from './client.ts';

export interface MigrationOptions {
  /** Its name, maybe with a schema; default 'sluice'. */
  readonly table?: string | undefined;
  /** Not written to the log: several times faster, empty after a crash of the server, not on replicas. Default false. */
  readonly unlogged?: boolean | undefined;
}

/** What makes the table. Run it yourself, once; it does nothing where the table is already. */
export function migration(options: MigrationOptions = {}): string {
  const { table = 'sluice', unlogged = false } = known('migration', options, ['table', 'unlogged']);
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

export interface Statements {
  /** key → value, version, now. */
  readonly read: Statement;
  /** key, value, new version, milliseconds to keep it, time it was decided for or 0 → won; else value, version, now. */
  readonly insert: Statement;
  /** The same, and sixth the version expected. */
  readonly update: Statement;
  /** how many at most → how many it was. */
  readonly clean: Statement;
}

/** How far behind the server's time a decision may be when it is written, in seconds: the statement waited for a connection. */
const LATEST = 1;

/** pg complains of longer names of statements. */
const LONGEST_NAME = 63;

export function statementsFor(table: string): Statements {
  const name = quoted(table);
  const now = 'extract(epoch FROM clock_timestamp())::float8 * 1000 AS now';
  const decided = 'to_timestamp($5::float8 / 1000)';
  const inTime = `($5::float8 = 0 OR clock_timestamp() BETWEEN ${decided} AND ${decided} + interval '${LATEST} s')`;
  const expires = "clock_timestamp() + $4::float8 * interval '1 ms'";
  const named = (what: string, text: string): Statement => {
    const full = `sluice ${what} ${table}`;
    return { name: full.length > LONGEST_NAME ? undefined : full, text };
  };
  return {
    read: named(
      'read',
      `SELECT r.value, r.version::text, ${now} FROM (SELECT) one LEFT JOIN ${name} r ON r.key = $1`,
    ),
    insert: named(
      'insert',
      `WITH put AS (
  INSERT INTO ${name} (key, value, version, expires)
  SELECT $1::text, $2::bytea, $3::bigint, ${expires} WHERE ${inTime}
  ON CONFLICT (key) DO NOTHING RETURNING 1
)
SELECT won, r.value, r.version::text, ${now}
FROM (SELECT EXISTS (SELECT FROM put) AS won) one LEFT JOIN ${name} r ON NOT won AND r.key = $1`,
    ),
    // Locked for the length of this statement, the row is the newest there is, whatever the statement's snapshot has.
    // The expiry is seldom touched, as each touch is one of its index too: a row is kept half as long again.
    update: named(
      'update',
      `WITH found AS MATERIALIZED (
  SELECT value, version FROM ${name} WHERE key = $1 FOR UPDATE
), put AS (
  UPDATE ${name} r SET value = $2::bytea, version = $3::bigint,
    expires = CASE WHEN r.expires >= ${expires} THEN r.expires ELSE ${expires} + $4::float8 * interval '0.5 ms' END
  FROM found WHERE r.key = $1 AND found.version = $6::bigint AND ${inTime} RETURNING 1
)
SELECT won, found.value, found.version::text, ${now}
FROM (SELECT EXISTS (SELECT FROM put) AS won) one LEFT JOIN found ON NOT won`,
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
