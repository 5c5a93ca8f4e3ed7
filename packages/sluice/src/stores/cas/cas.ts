/** Any key-value service with compare-and-swap, as a store. */
import { clockFrom, systemClock } from '../../clock.ts';
import type { Clock, Decision, MaybePromise, Millis, Store } from '../../contract.ts';
import { SluiceError } from '../../errors.ts';
import { known } from '../../options.ts';
import { denyCache as rememberDenials, type DenyCacheOptions } from '../../wrappers/deny-cache.ts';
import { resilient, type ResilientOptions } from '../../wrappers/resilient.ts';
import { swapStore } from './swap-store.ts';

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

export interface CasValue<Version = unknown> {
  readonly value: Uint8Array;
  /** Another one after each write, and never the same again, not even after the key had expired. */
  readonly version: Version;
}

export interface CasOptions extends ResilientOptions {
  /** Remember denials in this process until they end; default false. */
  readonly denyCache?: boolean | DenyCacheOptions | undefined;
  /** In place of the service's time and the process's: for tests. Rows are then kept a day longer. */
  readonly clock?: { now(): Millis; after?: Clock['after'] } | undefined;
}

/** An injected clock may stand still while the service's goes on. */
const DAY: Millis = 86_400_000;

/** A store on a key-value service. It never closes the service. */
export function casStore<Version>(
  service: CasService<Version>,
  options: CasOptions = {},
): Store<Promise<Decision>> {
  const { denyCache, clock, ...rest } = known('casStore', options, [
    'deadline',
    'onFailure',
    'maxInFlight',
    'onEvent',
    'denyCache',
    'clock',
  ]);
  if (typeof service?.get !== 'function' || typeof service.put !== 'function')
    throw new SluiceError('ERR_OPTIONS', 'casStore.service', service, 'with get() and put()');

  async function get(key: string) {
    const [found, time] = await Promise.all([service.get(key), clock?.now() ?? service.now?.()]);
    const now = time ?? systemClock.now();
    return { value: found?.value, version: found?.version, now, sure: true };
  }

  const rows = {
    // A service that throws at once fails like one that rejects.
    get,
    put: async (key: string, found: { version: unknown }, value: Uint8Array, expiresIn: Millis) =>
      service.put(key, value, found.version as Version | undefined, expiresIn),
  };
  const store = swapStore(rows, {
    clock: clock === undefined ? systemClock : waitable(clock),
    steady: clock === undefined,
    keep: clock === undefined ? 0 : DAY,
  });
  const safe = resilient(store, rest);
  if (denyCache === undefined || denyCache === false) return safe;
  return rememberDenials(safe, denyCache === true ? {} : denyCache);
}

function waitable(clock: NonNullable<CasOptions['clock']>): Pick<Clock, 'after'> {
  return clock.after === undefined ? clockFrom(() => clock.now()) : (clock as Clock);
}
