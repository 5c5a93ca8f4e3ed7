/** Translates the server's error codes into faults of a store. */
import { SluiceError, type StoreFault, StoreUnavailable } from '../../internal/errors.ts';
import { migration } from './sql.ts';

/** Faults by the server's error code, or by its first two or three characters. */
const FAULTS: Readonly<Record<string, StoreFault>> = {
  '08': 'connection',
  '25006': 'read-only',
  '53': 'out-of-memory',
  '53300': 'connection',
  '57P03': 'loading',
  '57P': 'connection',
  // Codes of socket errors, such as ECONNREFUSED. Such an error may have no message.
  ECO: 'connection',
};
/** Codes of a serialization failure and a deadlock. The transaction was rolled back, so nothing was written. */
const CONFLICTS = new Set(['40001', '40P01']);
const NO_TABLE = '42P01';
const NO_PRIVILEGE = '42501';
/** The class of error codes with which a server rejects the user or the password. */
const NO_ACCESS = '28';

/** Whether a statement failed only because of concurrent writes, so that it may be repeated. */
export function isConflict(error: unknown): boolean {
  return CONFLICTS.has(codeOf(error));
}

export function explained(error: unknown, table: string): unknown {
  const code = codeOf(error);
  if (code === NO_TABLE)
    return new SluiceError('ERR_TABLE', 'postgres.table', table, `create it with\n${migration({ table })}`);
  if (code === NO_PRIVILEGE || code.startsWith(NO_ACCESS)) return missingRight(error, code, table);
  const fault = FAULTS[code] ?? FAULTS[code.slice(0, 3)] ?? FAULTS[code.slice(0, 2)];
  return fault === undefined ? error : new StoreUnavailable(fault, error);
}

/**
 * The error for a missing permission. A missing permission is a setup error and not an outage, so waiting does not help, and the
 * check rejects regardless of `onFailure`.
 */
function missingRight(error: unknown, code: string, table: string): SluiceError {
  const advice =
    code === NO_PRIVILEGE
      ? `allow it with GRANT SELECT, INSERT, UPDATE, DELETE ON ${table} TO <user>`
      : "the server does not accept the client's user or password";
  // The cause proves that nothing was written, so a release may be repeated.
  const words = String((error as Error | undefined)?.message ?? error);
  return Object.assign(new SluiceError('ERR_PERMISSION', 'postgres.client', words, advice), { cause: error });
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' ? code : '';
}
