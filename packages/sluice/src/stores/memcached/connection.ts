/** The operations that the store needs from a Memcached client. */
import { StoreUnavailable } from '../../internal/errors.ts';

export type Client = Readonly<Record<string, unknown>>;

export interface Connection {
  /** Reads a value with its version, which Memcached calls the CAS token. */
  get(key: string): Promise<{ readonly text: string; readonly version: string } | undefined>;
  /** Adds the value or, if there is a version, replaces the value with that version. Returns whether the value was written. */
  put(key: string, text: string, version: string | undefined, expiry: number): Promise<boolean>;
}

/** Turns an error of a client, which may be a string, into a fault. */
export function unavailable(error: unknown): Error {
  const cause = error instanceof Error ? error : new Error(String(error));
  return /out of memory/i.test(cause.message)
    ? new StoreUnavailable('out-of-memory', cause)
    : new StoreUnavailable('connection', cause);
}
