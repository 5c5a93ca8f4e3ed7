/** Any key-value service with compare-and-swap, as a store. */
import { clockOf, systemClock } from '../../clock.ts';
import type { Decision, MaybePromise, Millis, Store } from '../../contract.ts';
import { SluiceError } from '../../errors.ts';
import { known } from '../../options.ts';
import { GUARDED, guarded, type GuardedOptions } from './guarded.ts';
import type { Rows } from './swap-store.ts';

/** What a service has to be able to do. Keys are at most 200 characters of printable ASCII without blanks. */
export interface CasService<Version = unknown> {
  /** What was last put there, unless it has expired; never an older value. */
  get(key: string): MaybePromise<CasValue<Version> | undefined | null>;
  /**
   * Writes if the value still has this version, or if there still is none where the version is undefined, and says
   * whether it did: in one step that nobody comes between.
   */
  put(
    key: string,
    value: Uint8Array,
    version: Version | undefined,
    expiresInMs: Millis,
  ): MaybePromise<boolean>;
  /** The service's time, if it tells one; otherwise the process's own. */
  now?(): MaybePromise<Millis>;
}

/** A value as it was found. */
export interface CasValue<Version = unknown> {
  /** What was put there. */
  readonly value: Uint8Array;
  /** Another one after each write, and never the same again, not even after the key had expired. */
  readonly version: Version;
}

export interface CasOptions extends GuardedOptions {}

/** A store on a key-value service. It never closes the service. */
export function casStore<Version>(
  service: CasService<Version>,
  options: CasOptions = {},
): Store<Promise<Decision>> {
  const { clock: given } = known('casStore', options, GUARDED);
  const clock = given === undefined ? undefined : clockOf('casStore.clock', given);
  if (typeof service?.get !== 'function' || typeof service.put !== 'function')
    throw new SluiceError('ERR_OPTIONS', 'casStore.service', service, 'with get() and put()');

  // Both are async, so that a service that throws at once fails like one that rejects.
  const rows: Rows = {
    async get(key) {
      const [found, time] = await Promise.all([service.get(key), clock?.now() ?? service.now?.()]);
      const now = time ?? systemClock.now();
      return { value: found?.value, version: found?.version, now, sure: true };
    },
    async put(key, { version }, value, expiresIn) {
      return service.put(key, value, version as Version | undefined, expiresIn);
    },
  };
  return guarded(rows, options);
}
