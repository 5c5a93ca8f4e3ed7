/** Recognizes failures of the store, which are not the client's fault. */
import { StoreError, type StoreFault, StoreUnavailable } from 'sluice';

/** Codes of errors in the store's setup, which only the operator can fix. */
const SETUP: ReadonlySet<unknown> = new Set(['ERR_PERMISSION', 'ERR_TABLE']);

/** The fault to report, or undefined if the store did not cause the error. */
export function storeFaultIn(error: unknown): StoreFault | undefined {
  if (error instanceof StoreError || error instanceof StoreUnavailable) return error.fault;
  const { code } = (error ?? {}) as { code?: unknown };
  if (!SETUP.has(code)) return undefined;
  return code === 'ERR_PERMISSION' ? 'no-permission' : 'unknown';
}
