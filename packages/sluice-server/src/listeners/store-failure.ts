/** Failures of the store, for which the caller of the server can do nothing. */
import { StoreError, type StoreFault, StoreUnavailable } from 'sluice';

/** Mistakes in how the store was set up. Only the server's operator can correct them. */
const SETUP: ReadonlySet<unknown> = new Set(['ERR_PERMISSION', 'ERR_TABLE']);

/** The fault to report, or undefined if the error is not the store's. */
export function storeFaultIn(error: unknown): StoreFault | undefined {
  if (error instanceof StoreError || error instanceof StoreUnavailable) return error.fault;
  const { code } = (error ?? {}) as { code?: unknown };
  if (!SETUP.has(code)) return undefined;
  return code === 'ERR_PERMISSION' ? 'no-permission' : 'unknown';
}
