/**
 * Keeps the names of limiters that are open on a store. Two limiters that have the same name but different kinds of policies do not
 * share their counts, so a key could use up the limits of both. Therefore creating the second limiter is an error.
 */
import type { Store } from '../engine/contract.ts';
import { SluiceError } from '../internal/errors.ts';
import { type BoundedCache, boundedCache } from '../internal/bounded-cache.ts';
import { processState } from '../internal/process-state.ts';

/** The properties that limiters with the same name must have in common. */
export interface Shape {
  /** The signatures of the limiter's rows, and the source code of its policy function, if it has one. */
  readonly rows: string;
  /** The names of the limiter's policies. Undefined if some of these names were derived from the policies themselves. */
  readonly names: string | undefined;
  /** The policies, for an error message. */
  readonly shown: string;
}

interface Entry {
  readonly shape: Shape;
  /** Number of open limiters with this name and shape. */
  open: number;
}

/**
 * The maximum number of names to remember per store, so that a program that never closes its limiters does not fill the memory.
 */
const MOST_NAMES = 2000;

/**
 * Open names by store object. Two stores on the same client are treated like two processes, such as two versions of a program
 * during a deployment, so limiters with the same name on these stores may have different policies. Such limiters count separately.
 */
const byStore = /* @__PURE__ */ processState('open names', () => new WeakMap<Store, BoundedCache<Entry>>());

/** Throws if a limiter with this name and a different shape is open on the store. Returns a function that frees the name. */
export function openName(store: Store, name: string, shape: Shape): () => void {
  const names = byStore.get(store) ?? boundedCache<Entry>(MOST_NAMES);
  byStore.set(store, names);
  const entry = names.get(name) ?? names.set(name, { shape, open: 0 });
  if (!isShared(entry.shape, shape)) {
    const hint =
      `the open limiter has ${entry.shape.shown}, this one has ${shape.shown}; give one of them another name, ` +
      `make them one limiter with tiers, or close() the open one first`;
    throw new SluiceError('ERR_NAME', 'createLimiter.name', name, hint);
  }
  entry.open++;
  let isOpen = true;
  return () => {
    if (!isOpen) return;
    isOpen = false;
    if (--entry.open === 0 && names.get(name) === entry) names.delete(name);
  };
}

function isShared(a: Shape, b: Shape): boolean {
  if (a.rows !== b.rows) return false;
  return a.names === undefined || b.names === undefined || a.names === b.names;
}
