/** The Memcached store: one limit for several machines, on a server that keeps values in memory only. */
import type { Decision, Millis, Store } from '../../engine/contract.ts';
import { checkOptionNames } from '../../internal/options.ts';
import { fromBase64, toBase64 } from '../cas/base64.ts';
import { type CasService, serviceStore } from '../cas/cas.ts';
import { GUARDED, type GuardedOptions } from '../cas/guarded.ts';
import { connectionOf, type MemcachedClient } from './client.ts';
import type { Connection } from './connection.ts';

export interface MemcachedOptions extends GuardedOptions {}

/** The server treats a larger number of seconds as a Unix timestamp. */
const MONTH = 30 * 86_400;
/** The server counts whole seconds and reads its clock about once a second, so it may be two seconds behind, or more if busy. */
const SLACK = 3;

/** Creates a store on Memcached that uses your client. The store never closes the client. */
export function memcached(client: MemcachedClient, options: MemcachedOptions = {}): Store<Promise<Decision>> {
  checkOptionNames('memcached', options, GUARDED);
  return serviceStore('memcached', serviceOn(connectionOf(client)), options, client);
}

function serviceOn(connection: Connection): CasService<string> {
  return {
    async get(key) {
      const found = await connection.get(key);
      // A value that cannot be decoded is treated as empty, so that it is overwritten.
      return found && { value: fromBase64(found.text) ?? new Uint8Array(), version: found.version };
    },
    put: (key, value, version, expiresInMs) =>
      connection.put(key, toBase64(value), version, expiryOf(expiresInMs)),
  };
}

function expiryOf(expiresInMs: Millis): number {
  const seconds = Math.ceil(expiresInMs / 1000) + SLACK;
  // A timestamp must fit into 32 bits, including the sign.
  return seconds > MONTH ? Math.min(Math.ceil(Date.now() / 1000) + seconds, 2 ** 31 - 1) : seconds;
}
