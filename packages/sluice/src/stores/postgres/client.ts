/** Adapts the supported Postgres clients to the one operation that the store needs: running a statement. */
import type { Millis } from '../../engine/contract.ts';
import { SluiceError } from '../../internal/errors.ts';
import { warnOnce } from '../../internal/warn.ts';
import { processState } from '../../internal/process-state.ts';
import { acceptsStatements, pgStatement } from './pg-statement.ts';

/**
 * A Pool or Client from pg or from a library that imitates pg, `sql` from postgres.js, or any object that has a method
 * `query(text, values)`.
 */
export type PostgresClient = object;

export interface Statement {
  /** The name under which a connection keeps the prepared statement. Undefined if it is not prepared. */
  readonly name: string | undefined;
  readonly text: string;
  /** The names of the resulting columns. A `value` is bytes, a `version` is text, and every other column is a number. */
  readonly columns: readonly string[];
}

/** A resulting row. */
export type Reply = Readonly<Record<string, unknown>>;

/** Runs a statement and returns the resulting rows. */
export type Run = (statement: Statement, values: readonly unknown[]) => Promise<readonly Reply[]>;

interface Result {
  readonly rows: readonly Reply[];
}
type Query = (query: unknown, values?: readonly unknown[]) => Promise<Result>;
type QueryWithCallback = (
  query: unknown,
  values: undefined,
  callback: (error: unknown, result?: Result) => void,
) => void;
type Unsafe = (
  text: string,
  values: readonly unknown[],
  options: { readonly prepare: boolean },
) => Promise<readonly Reply[]>;

/**
 * Recognizes a client by its shape. If `prepare` is true, each connection parses and plans a statement only once. `deadline` is
 * how long a check may wait for a connection before a warning is printed.
 */
export function runnerOf(client: PostgresClient, prepare: boolean, deadline: Millis): Run {
  const { unsafe, query } = (client ?? {}) as { readonly unsafe?: Unsafe; readonly query?: Query };
  if (typeof client === 'function' && typeof unsafe === 'function')
    return async ({ text }, values) => unsafe.call(client, text, values, { prepare });
  if (typeof client !== 'object' || typeof query !== 'function')
    throw new SluiceError(
      'ERR_OPTIONS',
      'postgres.client',
      client,
      '',
      'must be a Pool from pg, or sql from postgres.js',
    );
  handleErrorsOf(client);
  // Only `pg` supports named statements. Its `Pool` and `Client` are event emitters, which is how we recognize them.
  const run: Run =
    prepare && 'on' in client
      ? acceptsStatements(client)
        ? described(client, query)
        : async ({ name, text }, values) => (await query.call(client, { name, text, values })).rows
      : async ({ text }, values) => (await query.call(client, text, values)).rows;
  return 'waitingCount' in client ? watched(run, client as Pool, deadline) : run;
}

/** Runs prepared statements whose columns are known, so that the server does not describe them. */
function described(client: object, query: Query): Run {
  const queryWithCallback = query as unknown as QueryWithCallback;
  return (statement, values) => {
    const { name, text } = statement;
    if (name === undefined) return query.call(client, text, values).then(({ rows }) => rows);
    return new Promise((resolve, reject) => {
      queryWithCallback.call(client, pgStatement(name, statement, values), undefined, (error, result) => {
        if (result === undefined) reject(error);
        else resolve(result.rows);
      });
    });
  };
}

interface Emitter {
  on(event: 'error', listener: (error: unknown) => void): unknown;
  listenerCount(event: 'error'): number;
}

const handled = /* @__PURE__ */ processState('postgres errors', () => new WeakSet<object>());

/**
 * A `Pool` of pg emits 'error' when an idle connection is lost, and an EventEmitter that has no listener for this event ends the
 * process. A limiter must not end the process, so the store adds a listener, and warns if it is the only one.
 */
function handleErrorsOf(client: object): void {
  if (handled.has(client) || !('listenerCount' in client) || !('on' in client)) return;
  handled.add(client);
  const emitter = client as Emitter;
  emitter.on('error', (error) => {
    if (emitter.listenerCount('error') > 1) return;
    warnOnce(
      'SLUICE_POSTGRES_ERROR_LISTENER',
      'the Postgres client reported an error and has no listener for it, which would have ended the process; add ' +
        `pool.on('error', …) where you create it. The error: ${String(error)}`,
      client,
    );
  });
}

/** The counters that a `Pool` of pg exposes. */
interface Pool {
  readonly totalCount: number;
  readonly idleCount: number;
  readonly waitingCount: number;
  readonly options?: { readonly max?: number };
}

/** Warns when a statement still waits for one of the pool's connections at the deadline. */
function watched(run: Run, pool: Pool, deadline: Millis): Run {
  const isExhausted = (): boolean => pool.idleCount === 0 && pool.totalCount >= (pool.options?.max ?? 0);
  function warn(): void {
    const { totalCount, waitingCount } = pool;
    if (waitingCount === 0 || !isExhausted()) return;
    warnOnce(
      'SLUICE_POOL_EXHAUSTED',
      `All ${totalCount} connections of the Postgres pool are in use, and a check waited ${deadline} ms for one. ` +
        'Give Sluice a Pool of its own (max: 4 is enough), or raise max.',
      pool,
    );
  }
  return (statement, values) => {
    if (!isExhausted()) return run(statement, values);
    const timer = setTimeout(warn, deadline);
    return run(statement, values).finally(() => clearTimeout(timer));
  };
}
