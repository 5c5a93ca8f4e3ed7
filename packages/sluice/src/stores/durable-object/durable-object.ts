/** The store on Cloudflare's Durable Objects. */
import type { Decision, Millis, Store } from '../../engine/contract.ts';
import type { Duration } from '../../internal/duration.ts';
import { SluiceError } from '../../internal/errors.ts';
import { clockOf } from '../../internal/clock.ts';
import { checkOptionNames } from '../../internal/options.ts';
import { guardedBy } from '../../wrappers/guarded-by.ts';
import { serviceStore } from '../cas/cas.ts';
import { deadlineOf, GUARDED, type GuardedOptions } from '../cas/guarded.ts';
import { type DurableObjectNamespace, namespaceStore } from './object.ts';
import { type DurableObjectStorage, storageService } from './storage.ts';

export interface DurableObjectOptions extends GuardedOptions {
  /** How long a check may take. Default one second, because the object may be on another continent. */
  readonly deadline?: Duration | undefined;
}

const DEADLINE: Millis = 1000;

/**
 * Creates a store on Durable Objects. In a Worker, pass the binding of the class `SluiceObject`, such as `env.LIMITS`; each key has
 * an object of its own. In your own Durable Object, pass `ctx.storage`.
 */
export function durableObject(
  place: DurableObjectNamespace | DurableObjectStorage,
  options: DurableObjectOptions = {},
): Store<Promise<Decision>> {
  checkOptionNames('durableObject', options, GUARDED);
  const has = (name: string): boolean =>
    typeof (place as unknown as Record<string, unknown>)?.[name] === 'function';
  const isNamespace = has('idFromName');
  if (!isNamespace && !(has('transaction') && has('list')))
    throw new SluiceError('ERR_OPTIONS', 'durableObject.place', place, '', wordsFor(place));
  const settings = { ...options, deadline: deadlineOf(options, DEADLINE) };
  if (!isNamespace)
    return serviceStore('durableObject', storageService(place as DurableObjectStorage), settings, place);
  return workerStore(place as DurableObjectNamespace, settings);
}

function workerStore(
  namespace: DurableObjectNamespace,
  { denyCache, clock: given, ...rest }: DurableObjectOptions,
): Store<Promise<Decision>> {
  const clock = given === undefined ? undefined : clockOf('durableObject.clock', given);
  const store = namespaceStore(namespace, clock);
  // Cloudflare ties timers to the request in which they were set.
  const hooks = { hasRequestTimers: true };
  return {
    ...guardedBy({ ...store, clock: clock ?? store.clock }, rest, denyCache, hooks),
    backend: namespace,
  };
}

function wordsFor(given: unknown): string {
  const { storage, fetch } = (given ?? {}) as { readonly storage?: unknown; readonly fetch?: unknown };
  if (storage !== undefined) return 'is the state of an object; pass its storage, ctx.storage';
  if (typeof fetch === 'function')
    return 'is the stub of one object; pass the binding of its class, such as env.LIMITS';
  return 'must be the binding of a Durable Object class, such as env.LIMITS, or ctx.storage inside an object';
}
