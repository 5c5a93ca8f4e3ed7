/** The clients that people have, as the one thing a store needs of them: to run a statement. */
import { SluiceError } from '../../errors.ts';

/** A Pool or Client of pg, or of what imitates it; `sql` of postgres.js; or an object with `query(text, values)`. */
export type PostgresClient = object;

export interface Statement {
  /** By which a connection remembers it; undefined: it does not. */
  readonly name: string | undefined;
  readonly text: string;
}

type Row = Readonly<Record<string, unknown>>;

/** Runs a statement and returns its rows. */
export type Run = (statement: Statement, values: readonly unknown[]) => Promise<readonly Row[]>;

type Query = (query: unknown, values?: readonly unknown[]) => Promise<{ readonly rows: readonly Row[] }>;
type Unsafe = (
  text: string,
  values: readonly unknown[],
  options: { readonly prepare: boolean },
) => Promise<readonly Row[]>;

/** Tells whose client it is by its shape. `prepare`: a connection parses and plans a statement once. */
export function runnerOf(client: PostgresClient, prepare: boolean): Run {
  const { unsafe, query } = (client ?? {}) as { readonly unsafe?: Unsafe; readonly query?: Query };
  if (typeof client === 'function' && typeof unsafe === 'function')
    return async ({ text }, values) => unsafe.call(client, text, values, { prepare });
  if (typeof client !== 'object' || typeof query !== 'function')
    throw new SluiceError(
      'ERR_OPTIONS',
      'postgres.client',
      client,
      '',
      'must be a Pool of pg, or sql of postgres.js',
    );
  // Of pg alone is known that it takes names: both of its classes emit events.
  if (prepare && 'on' in client)
    return async (statement, values) => (await query.call(client, { ...statement, values })).rows;
  return async ({ text }, values) => (await query.call(client, text, values)).rows;
}
