/** Limits failed authentication attempts by the client's address, using Sluice itself. */
import { createHash } from 'node:crypto';
import { createLimiter, memory, type Millis } from 'sluice';
import type { Clock } from 'sluice/store';
import { clientAddress, type RequestLike, type TrustProxy } from 'sluice/http';

/** Number of wrong tokens that one address may try. It may try 20 initially, then 10 a minute. */
const GUESSES = '10/min burst 20';
/** The same wrong token from the same address counts once within this time. */
const SAME_TOKEN = '1/10min';
/** Maximum number of addresses, and of pairs of address and token, to remember. Denied addresses are evicted last. */
const MAX_KEYS = 10_000;

export interface Attempts {
  /** Address of the client that sent the request, taking trusted proxies into account. */
  clientOf(request: RequestLike): string;
  /**
   * Milliseconds until the client may try another token, or 0 if it may try now. Callers must not compare tokens until the wait
   * is over.
   */
  waitOf(client: string): Millis;
  /**
   * Counts a wrong token. The same token is not counted again, because a program with an outdated token must not lock out other
   * clients at its address.
   */
  failed(client: string, token: string): void;
}

export function createAttempts(trustProxy: TrustProxy = false, clock?: Clock): Attempts {
  const store = () => memory({ maxKeys: MAX_KEYS, ...(clock && { clock }) });
  const guesses = createLimiter(GUESSES, { name: 'guesses', store: store() });
  const seen = createLimiter(SAME_TOKEN, { name: 'seen', store: store() });
  return {
    clientOf: (request) => clientAddress(request, { trustProxy }),
    waitOf(client) {
      const { allowed, retryAfter } = guesses.peek(client);
      return allowed ? 0 : Math.max(1, retryAfter);
    },
    failed(client, token) {
      const digest = createHash('sha256').update(token).digest('base64url');
      if (seen.take(`${client} ${digest}`).allowed) guesses.take(client);
    },
  };
}

/** Whole seconds, rounded up, for error messages. */
export function secondsOf(wait: Millis): number {
  return Math.ceil(wait / 1000);
}
