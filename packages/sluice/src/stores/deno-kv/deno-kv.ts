/** The store on Deno KV, the database that Deno and Deno Deploy include. */
import type { Decision, Store } from '../../engine/contract.ts';
import { SluiceError } from '../../internal/errors.ts';
import { checkOptionNames } from '../../internal/options.ts';
import { type CasPut, type CasService, serviceStore } from '../cas/cas.ts';
import { GUARDED, type GuardedOptions } from '../cas/guarded.ts';
import { backendOf } from '../cas/table.ts';

/** What `Deno.openKv()` resolves to. */
export interface DenoKv {
  /** Reads the values of several keys. */
  getMany(keys: string[][]): Promise<readonly DenoKvEntry[]>;
  /** Starts a transaction. */
  atomic(): DenoKvAtomic;
}

/** A value in Deno KV and its version. Both are null if there is no value. */
export interface DenoKvEntry {
  /** The value that was last written. */
  readonly value: unknown;
  /** Changes with every write. */
  readonly versionstamp: string | null;
}

/** A Deno KV transaction. */
export interface DenoKvAtomic {
  /** Makes the transaction fail if the value no longer has this version. */
  check(check: { key: string[]; versionstamp: string | null }): this;
  /** Writes a value. */
  set(key: string[], value: unknown, options?: { expireIn?: number }): this;
  /** Runs the transaction. */
  commit(): Promise<{ readonly ok: boolean }>;
}

export interface DenoKvOptions extends GuardedOptions {
  /** The first part of every key, which keeps the rows apart from other data. Default 'sluice'. */
  readonly prefix?: string | undefined;
}

/** The maximum number of keys in a call of `getMany`. */
const MOST = 10;

/** Creates a store on Deno KV. The store never closes the database. */
export function denoKv(kv: DenoKv, options: DenoKvOptions = {}): Store<Promise<Decision>> {
  const { prefix = 'sluice', ...rest } = checkOptionNames('denoKv', options, [...GUARDED, 'prefix']);
  if (typeof prefix !== 'string' || prefix === '')
    throw new SluiceError('ERR_CHOICE', 'denoKv.prefix', prefix, '', 'must be a non-empty string');
  checkKv(kv);
  return serviceStore('denoKv', serviceOn(kv, prefix), rest, backendOf(kv, prefix));
}

function checkKv(given: unknown): void {
  const has = (name: string): boolean => typeof (given as Record<string, unknown>)?.[name] === 'function';
  if (has('atomic') && has('getMany')) return;
  const words = has('then')
    ? 'is a promise; await Deno.openKv() and pass the result'
    : 'must be the result of await Deno.openKv()';
  throw new SluiceError('ERR_OPTIONS', 'denoKv.kv', given, '', words);
}

function serviceOn(kv: DenoKv, prefix: string): CasService<string> {
  async function getMany(keys: readonly string[]) {
    const parts = Array.from({ length: Math.ceil(keys.length / MOST) }, (_, i) =>
      keys.slice(i * MOST, (i + 1) * MOST).map((key) => [prefix, key]),
    );
    const entries = (await Promise.all(parts.map((part) => kv.getMany(part)))).flat();
    return entries.map(({ value, versionstamp }) =>
      versionstamp === null
        ? undefined
        : { value: value instanceof Uint8Array ? value : new Uint8Array(), version: versionstamp },
    );
  }

  async function putAll(puts: readonly CasPut<string>[]): Promise<boolean> {
    const transaction = kv.atomic();
    for (const { key, value, version, expiresInMs } of puts)
      transaction
        // A versionstamp of null means that the key must not exist.
        .check({ key: [prefix, key], versionstamp: version ?? null })
        // A value may be a view of a buffer that it shares with other values. `slice` copies only this value.
        .set([prefix, key], value.slice(), { expireIn: expiresInMs });
    try {
      return (await transaction.commit()).ok;
    } catch (error) {
      // Another process is writing to the local file, so nothing was written.
      if (String((error as Error | undefined)?.message).includes('database is locked')) return false;
      throw error;
    }
  }

  return {
    getMany,
    putAll,
    get: async (key) => (await getMany([key]))[0],
    put: (key, value, version, expiresInMs) => putAll([{ key, value, version, expiresInMs }]),
  };
}
