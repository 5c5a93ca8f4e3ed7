/** A store on any key-value service that supports compare-and-swap. */
import { clockOf, systemClock } from '../../internal/clock.ts';
import type { Decision, MaybePromise, Millis, Store } from '../../engine/contract.ts';
import { SluiceError } from '../../internal/errors.ts';
import { checkOptionNames } from '../../internal/options.ts';
import { inBatches, type Send } from './batches.ts';
import { GUARDED, guarded, type GuardedOptions } from './guarded.ts';
import type { Rows, Write } from './swap-store.ts';

/** The operations that a service must provide. Keys consist of at most 200 printable ASCII characters, without spaces. */
export interface CasService<Version = unknown> {
  /** Returns the latest value of the key, or nothing if the key has expired. It must never return an older value. */
  get(key: string): MaybePromise<CasFound<Version> | undefined | null>;
  /**
   * Writes the value if the stored value still has this version or, if `version` is undefined, if there is still no stored value.
   * Returns whether the value was written. The comparison and the write must be one atomic step.
   */
  put(
    key: string,
    value: Uint8Array,
    version: Version | undefined,
    expiresInMs: Millis,
  ): MaybePromise<boolean>;
  /**
   * Reads several different keys in one call and returns the results in the order of the keys. Optional. With `getMany`, checks of
   * many keys need fewer calls.
   */
  getMany?(keys: readonly string[]): MaybePromise<readonly (CasFound<Version> | undefined | null)[]>;
  /**
   * Writes several different keys in one call, each of them atomically, and returns for each key whether it was written.
   * Optional.
   */
  putMany?(puts: readonly CasPut<Version>[]): MaybePromise<readonly boolean[]>;
  /**
   * Writes several different keys in one atomic step and returns true, or writes nothing and returns false if one of the keys no
   * longer has the given version. Optional. With `putAll`, `takeMany` charges all keys or none in one atomic step.
   */
  putAll?(puts: readonly CasPut<Version>[]): MaybePromise<boolean>;
  /**
   * Returns the service's time in milliseconds since 1970. Optional. Instead, the result of `get` may contain the time as `now`.
   */
  now?(): MaybePromise<Millis>;
}

/** A value and its version. */
export interface CasValue<Version = unknown> {
  /** The bytes that were last written. */
  readonly value: Uint8Array;
  /** Changes with each write and never repeats, not even after the key has expired. */
  readonly version: Version;
}

/** The result of `get`: a value or nothing, and optionally the service's time in milliseconds since 1970. */
export type CasFound<Version = unknown> = (
  | CasValue<Version>
  | { readonly value?: undefined; readonly version?: undefined }
) & { readonly now?: Millis | undefined };

/** The arguments of a `put`. */
export interface CasPut<Version = unknown> {
  /** The key to write to. */
  readonly key: string;
  /** The bytes to write. */
  readonly value: Uint8Array;
  /** The version that the value must still have. Undefined if there must be no value. */
  readonly version: Version | undefined;
  /** The service may drop the value after this many milliseconds. */
  readonly expiresInMs: Millis;
}

export interface CasOptions extends GuardedOptions {}

/** Creates a store on a key-value service. The store never closes the service. */
export function casStore<Version>(
  service: CasService<Version>,
  options: CasOptions = {},
): Store<Promise<Decision>> {
  checkOptionNames('casStore', options, GUARDED);
  if (typeof service?.get !== 'function' || typeof service.put !== 'function')
    throw new SluiceError(
      'ERR_OPTIONS',
      'casStore.service',
      service,
      '',
      'must be an object with get() and put()',
    );
  return serviceStore('casStore', service, options, service);
}

/**
 * Creates a store on a service that Sluice provides. `what` is the name of the store's function in error messages, and `backend`
 * identifies the place where the service keeps its rows. `isPerRequest` has the same meaning as in `guarded`.
 */
export function serviceStore<Version>(
  what: string,
  service: CasService<Version>,
  options: GuardedOptions,
  backend: object,
  isPerRequest = false,
): Store<Promise<Decision>> {
  const clock = options.clock === undefined ? undefined : clockOf(`${what}.clock`, options.clock);
  return { ...guarded(rowsOn(service, clock, !isPerRequest), options, isPerRequest), backend };
}

/**
 * The rows of a service. `clock` replaces the service's time. If `sharesCalls` is true, requests of one tick may share a call.
 */
export function rowsOn<Version>(
  service: CasService<Version>,
  clock: { now(): Millis } | undefined,
  sharesCalls: boolean,
): Rows {
  // A service may throw synchronously. An async function turns the exception into a rejection.
  const getOne = async (key: string) => service.get(key);
  const putOne = async ({ key, value, version, expiresInMs }: CasPut<Version>) =>
    service.put(key, value, version, expiresInMs);
  const many = service as Required<CasService<Version>>;
  const getMany = inBatches(async (keys: readonly string[]) => many.getMany(keys));
  const putMany = inBatches(async (puts: readonly CasPut<Version>[]) => many.putMany(puts));
  const find =
    service.getMany === undefined || !sharesCalls
      ? getOne
      : (key: string) =>
          new Promise<CasFound<Version> | undefined | null>((resolve, reject) =>
            getMany(key, resolve, reject),
          );
  const write: Send<CasPut<Version>, boolean> = service.putMany === undefined || !sharesCalls
    ? (put, resolve, reject) => void putOne(put).then(resolve, reject)
    : putMany;

  return {
    async get(key) {
      const [found, time] = await Promise.all([find(key), clock?.now() ?? service.now?.()]);
      const now = time ?? found?.now ?? systemClock.now();
      return { value: found?.value, version: found?.version, now, sure: true };
    },
    put: (row, resolve, reject) => write(putOf(row), resolve, reject),
    putAll:
      service.putAll === undefined ? undefined : async (writes) => many.putAll(writes.map(putOf<Version>)),
  };
}

function putOf<Version>({ key, found, value, expiresIn }: Write): CasPut<Version> {
  return { key, value, version: found.version as Version | undefined, expiresInMs: expiresIn };
}
