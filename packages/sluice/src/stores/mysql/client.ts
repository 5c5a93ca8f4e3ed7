/** Adapts mysql2 clients to the operations that the store needs. */
import { SluiceError } from '../../internal/errors.ts';

/** A pool or connection of mysql2, with callbacks or with promises. */
export type MysqlClient = object;

export type Row = Readonly<Record<string, unknown>>;

/** What a statement returns: rows, or for a write how many rows it has changed. */
export type Result = readonly Row[] & { readonly affectedRows?: number };

/** Runs a prepared statement. Values are never part of the SQL text, whatever the SQL mode of the server. */
export type Run = (sql: string, values: readonly unknown[]) => Promise<Result>;

export interface Connections {
  readonly run: Run;
  /** Runs statements in a transaction, on a separate connection. Undefined if the client is a single connection. */
  readonly transaction: ((work: (run: Run) => Promise<boolean>) => Promise<boolean>) | undefined;
}

interface Promised {
  execute(options: object, values: readonly unknown[]): Promise<[Result, unknown]>;
}

interface Connection extends Promised {
  beginTransaction(): Promise<unknown>;
  commit(): Promise<unknown>;
  rollback(): Promise<unknown>;
  release(): void;
  destroy(): void;
}

interface Pool extends Promised {
  getConnection(): Promise<Connection>;
}

export function connectionsOf(client: MysqlClient): Connections {
  const promised = promisedOf(client);
  const transaction = 'getConnection' in promised ? transactionOn(promised as Pool) : undefined;
  return { run: runOn(promised), transaction };
}

function promisedOf(given: unknown): Promised {
  const has = (name: string): boolean => typeof (given as Row)?.[name] === 'function';
  if (has('execute') && !has('importFile')) {
    // A client with callbacks has a method that returns the same client with promises.
    return has('promise') ? (given as { promise(): Promised }).promise() : (given as Promised);
  }
  let words = 'must be a pool or connection of mysql2';
  if (typeof given === 'string') words = 'is an address; pass createPool(address) from mysql2';
  else if (has('importFile')) words = 'is a client of the package mariadb; pass createPool() from mysql2';
  else if (has('then')) words = 'is a promise; await it and pass the connection';
  else if (has('query')) words = 'is not a client of mysql2; pass createPool() from mysql2';
  throw new SluiceError('ERR_OPTIONS', 'mysql.client', given, '', words);
}

function runOn(client: Promised): Run {
  return async (sql, values) => {
    // These options replace settings of the client that would change the form of the rows.
    const options = { sql, rowsAsArray: false, nestTables: false, typeCast: true };
    return (await client.execute(options, values))[0];
  };
}

function transactionOn(pool: Pool): NonNullable<Connections['transaction']> {
  return async (work) => {
    const connection = await pool.getConnection();
    try {
      await connection.beginTransaction();
      const isDone = await work(runOn(connection));
      if (isDone) await connection.commit();
      else await connection.rollback();
      connection.release();
      return isDone;
    } catch (error) {
      // The server rolls back the transaction of a connection that is closed.
      connection.destroy();
      throw error;
    }
  };
}
