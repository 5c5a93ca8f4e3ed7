/** Adapts the supported Memcached clients to the two commands that the store needs. */
import { SluiceError } from '../../internal/errors.ts';
import { type Client, type Connection, unavailable } from './connection.ts';
import { memjsConnection } from './memjs.ts';

/** A memjs client, or a client from the package memcached. */
export type MemcachedClient =
  | { readonly perform: unknown; readonly incrSeq: unknown }
  | { readonly gets: unknown; readonly cas: unknown; readonly add: unknown };

type Reply<T> = (error: unknown, reply: T) => void;

/** The methods of the package memcached. */
interface Callbacks {
  gets(key: string, reply: Reply<Readonly<Record<string, string>> | undefined | false>): void;
  add(key: string, text: string, expiry: number, reply: Reply<boolean>): void;
  cas(key: string, text: string, version: string, expiry: number, reply: Reply<boolean>): void;
}

/** Recognizes a client by its shape. */
export function connectionOf(client: MemcachedClient): Connection {
  const given: unknown = client;
  const has = (name: string): boolean => typeof (given as Client)?.[name] === 'function';
  if (typeof given === 'object' && given !== null) {
    if (has('perform') && has('incrSeq')) return memjsConnection(given as Client);
    if (has('gets') && has('cas') && has('add') && has('getMulti'))
      return callbackConnection(given as unknown as Callbacks);
  }
  throw new SluiceError('ERR_OPTIONS', 'memcached.client', given, '', wordsFor(given));
}

const KNOWN =
  "must be a client of memjs, such as Client.create('localhost:11211'), or of the package memcached, such as new Memcached('localhost:11211')";

function wordsFor(given: unknown): string {
  if (typeof given === 'string') return `is an address; it ${KNOWN}`;
  return typeof given === 'function' ? `is a function; it ${KNOWN}` : KNOWN;
}

function callbackConnection(client: Callbacks): Connection {
  return {
    get: (key) =>
      new Promise((resolve, reject) => {
        client.gets(key, (error, found) => {
          if (isFailure(error)) reject(unavailable(error));
          else if (!found || found[key] === undefined) resolve(undefined);
          else resolve({ text: String(found[key]), version: String(found['cas']) });
        });
      }),
    put: (key, text, version, expiry) =>
      new Promise((resolve, reject) => {
        const reply: Reply<boolean> = (error, isWritten) => {
          // The client reports a key that exists already as an error.
          if ((error as Client | undefined)?.['notStored'] === true) resolve(false);
          else if (isFailure(error)) reject(unavailable(error));
          else resolve(isWritten);
        };
        if (version === undefined) client.add(key, text, expiry, reply);
        else client.cas(key, text, version, expiry, reply);
      }),
  };
}

function isFailure(error: unknown): boolean {
  return error !== undefined && error !== null;
}
