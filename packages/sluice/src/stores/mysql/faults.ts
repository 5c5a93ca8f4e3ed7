/** Translates the server's error numbers and the client's error codes into faults of a store. */
import { SluiceError, type StoreFault, StoreUnavailable } from '../../internal/errors.ts';
import { migration } from './sql.ts';

const DUPLICATE = 1062;
/**
 * The error numbers of a deadlock and of a timeout while waiting for a lock. The statement was rolled back, so nothing was
 * written.
 */
const CONFLICTS: readonly unknown[] = [1213, 1205];
const NO_TABLE = 1146;
/** The server rejects the user or the password (1044, 1045, 1698), or the user may not use the table (1142, 1143). */
const NO_PRIVILEGE: readonly unknown[] = [1044, 1045, 1142, 1143, 1698];

const FAULTS: Readonly<Record<number, StoreFault>> = {
  1021: 'out-of-memory', // disk full
  1037: 'out-of-memory',
  1040: 'connection', // too many connections
  1047: 'loading', // a Galera node that is not ready
  1053: 'connection', // shutdown in progress
  1114: 'out-of-memory', // table full
  1290: 'read-only',
  1792: 'read-only',
  1836: 'read-only',
};

interface Failure {
  readonly errno?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
}

/** Whether a write failed only because another process wrote first. In that case, this write has changed nothing. */
export function isConflict(error: unknown): boolean {
  const { errno } = (error ?? {}) as Failure;
  return errno === DUPLICATE || CONFLICTS.includes(errno);
}

export function explained(error: unknown, table: string): unknown {
  const { errno, code, message } = (error ?? {}) as Failure;
  if (errno === NO_TABLE)
    return new SluiceError('ERR_TABLE', 'mysql.table', table, `create it with\n${migration({ table })}`);
  if (NO_PRIVILEGE.includes(errno)) {
    const advice = `the user needs SELECT, INSERT, UPDATE and DELETE on ${table}`;
    return Object.assign(new SluiceError('ERR_PERMISSION', 'mysql.client', String(message), advice), {
      cause: error,
    });
  }
  const fault = FAULTS[Number(errno)];
  if (fault !== undefined) return new StoreUnavailable(fault, error);
  return /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EHOSTUNREACH|PROTOCOL_)/.test(String(code))
    ? new StoreUnavailable('connection', error)
    : error;
}
