/** Explains why a call of `fetch` got no response. */
import { StoreError } from './errors.ts';

/** Maximum number of nested causes to show. */
const MAX_DEPTH = 3;

/**
 * Throws an error with the reason why no answer arrived. The error that `fetch` reports often contains the reason only in its
 * `cause`.
 */
export function noConnection(error: unknown): never {
  const reasons: string[] = [];
  for (let cause = error, i = 0; cause instanceof Error && i < MAX_DEPTH; cause = cause.cause, i++)
    if (cause.message !== '') reasons.push(cause.message);
  throw Object.assign(new StoreError(`connection failed: ${reasons.join(': ')}`), { cause: error });
}
