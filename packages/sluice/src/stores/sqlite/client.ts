/** Recognizes a SQLite database by its shape, and runs statements on it. */
import { SluiceError, StoreUnavailable } from '../../internal/errors.ts';
import { pause, TRIES } from '../cas/attempts.ts';
import type { Run } from './service.ts';
import { type Statements, statementsFor, tableSql } from './sql.ts';

/** A `DatabaseSync` of node:sqlite, or a `Database` of better-sqlite3 or bun:sqlite. */
export interface SqliteDatabase {
  /** Runs SQL that returns no rows. */
  exec(sql: string): unknown;
  /** Prepares a statement whose `all` returns the resulting rows. */
  prepare(sql: string): { all(...values: (string | number)[]): unknown[] };
}

const KNOWN = 'must be a DatabaseSync of node:sqlite, or a Database of better-sqlite3 or bun:sqlite';

export function checkDatabase(given: unknown): void {
  const has = (name: string): boolean => typeof (given as Record<string, unknown>)?.[name] === 'function';
  let words = KNOWN;
  if (typeof given === 'string')
    words = 'is a path; pass a database, such as new DatabaseSync(path) from node:sqlite';
  else if (typeof given === 'function')
    words = 'is a function; pass a database, such as new DatabaseSync(path) from node:sqlite';
  else if (has('each')) words = `is a database of sqlite3, whose calls need callbacks; it ${KNOWN}`;
  else if (has('batch')) words = "is a database of Cloudflare; use d1(database) from 'sluice/d1'";
  else if (has('exec') && has('prepare')) return;
  throw new SluiceError('ERR_OPTIONS', 'sqlite.database', given, '', words);
}

/**
 * Returns a function that runs statements. Its first call also creates the table. If another connection has locked the database, a
 * read waits without blocking the process. Any other statement changes nothing and returns no rows, so that the store decides
 * again.
 */
export function runnerOf(database: SqliteDatabase, table: string): Run {
  const statements = statementsFor(table);
  const prepared = new Map<keyof Statements, ReturnType<SqliteDatabase['prepare']>>();
  let isReady = false;

  function runNow(name: keyof Statements, parameter: string | number): unknown[] {
    if (!isReady) database.exec(tableSql(table));
    isReady = true;
    const statement = prepared.get(name) ?? database.prepare(statements[name]);
    prepared.set(name, statement);
    return statement.all(parameter);
  }

  return async (name, parameter) => {
    for (let lost = 1; ; lost++) {
      try {
        return runNow(name, parameter);
      } catch (error) {
        if (!isBusy(error) && (isReady || !isMissing(error))) throw explained(error);
        if (name !== 'read') return [];
        if (lost === TRIES) throw new StoreUnavailable('busy', error);
        await pause(lost);
      }
    }
  };
}

/** Whether another connection has locked the database or the table, so that the statement changed nothing. */
function isBusy(error: unknown): boolean {
  return /SQLITE_(BUSY|LOCKED)|database (table )?is locked/.test(wordsOf(error));
}

/**
 * Whether the table does not exist. While another process creates the table, Bun reports this instead of a lock, so the table must
 * be created again.
 */
function isMissing(error: unknown): boolean {
  return /no such table/.test(wordsOf(error));
}

function explained(error: unknown): unknown {
  const words = wordsOf(error);
  if (/SQLITE_READONLY|readonly database/.test(words)) return new StoreUnavailable('read-only', error);
  if (/SQLITE_FULL|database or disk is full/.test(words)) return new StoreUnavailable('out-of-memory', error);
  return error;
}

function wordsOf(error: unknown): string {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown };
  return `${String(code)} ${String(message ?? error)}`;
}
