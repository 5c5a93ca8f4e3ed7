/** The SQL that creates the table of the D1 store. */
import { checkOptionNames } from '../../internal/options.ts';
import { tableSql } from '../sqlite/sql.ts';

export interface MigrationOptions {
  /** The name of the table. Default 'sluice'. */
  readonly table?: string | undefined;
}

/** Returns the SQL that creates the table. Add it to your migrations. It does nothing if the table already exists. */
export function migration(options: MigrationOptions = {}): string {
  return tableSql(checkOptionNames('migration', options, ['table']).table ?? 'sluice');
}
