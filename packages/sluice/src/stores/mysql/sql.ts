/** All SQL statements of the MySQL store. */
import { checkOptionNames } from '../../internal/options.ts';
import { tableParts } from '../cas/table.ts';

export interface MigrationOptions {
  /** The name of the table, optionally with a database. Default 'sluice'. */
  readonly table?: string | undefined;
}

/** Returns the SQL that creates the table. Run it once. It does nothing if the table already exists. */
export function migration(options: MigrationOptions = {}): string {
  const { table = 'sluice' } = checkOptionNames('migration', options, ['table']);
  return `CREATE TABLE IF NOT EXISTS ${quoted(table)} (
  \`key\` VARBINARY(200) NOT NULL PRIMARY KEY,
  \`value\` MEDIUMBLOB NOT NULL,
  \`version\` BIGINT NOT NULL,
  \`expires\` DOUBLE NOT NULL,
  INDEX (\`expires\`)
) ENGINE = InnoDB;
`;
}

/** The statements of the store. In the comments below, the arrow separates the parameters from the result. */
export interface Statements {
  /**
   * `size` keys → the rows that exist, each with the server's time as `now`. If no row exists, one row in which all columns except
   * `now` are null.
   */
  read(size: number): string;
  /** key, value, version, milliseconds to keep the row → nothing. Fails if the row exists. */
  readonly insert: string;
  /** value, version, milliseconds to keep the row, key, expected version → how many rows were written. */
  readonly update: string;
  /** Deletes up to `limit` expired rows. */
  clean(limit: number): string;
}

/** The server's time in milliseconds since 1970. It does not depend on the time zone of the session. */
const NOW = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) / 1e3";

export function statementsFor(table: string): Statements {
  const name = quoted(table);
  return {
    read: (size) =>
      `SELECT r.\`key\`, r.\`value\`, r.\`version\`, ${NOW} AS now FROM (SELECT 1 AS one) o
LEFT JOIN ${name} r ON r.\`key\` IN (${Array.from({ length: size }, () => '?').join()})`,
    insert: `INSERT INTO ${name} (\`key\`, \`value\`, \`version\`, \`expires\`) VALUES (?, ?, ?, ${NOW} + ?)`,
    update: `UPDATE ${name} SET \`value\` = ?, \`version\` = ?, \`expires\` = ${NOW} + ? WHERE \`key\` = ? AND \`version\` = ?`,
    clean: (limit) => `DELETE FROM ${name} WHERE \`expires\` < ${NOW} ORDER BY \`expires\` LIMIT ${limit}`,
  };
}

function quoted(table: unknown): string {
  return tableParts(table, true)
    .map((part) => `\`${part}\``)
    .join('.');
}
