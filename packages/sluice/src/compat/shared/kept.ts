/** A memory with a bound, by a name. */
export interface Kept<T> {
  get(id: string): T | undefined;
  set(id: string, value: T): T;
  delete(id: string): void;
}

/**
 * Keeps the last `least` that were asked for, and at most twice as many. Two Maps take turns, because one Map from which
 * the oldest is deleted again and again becomes slow: each look for the oldest passes all that was deleted.
 */
export function kept<T>(least: number): Kept<T> {
  let recent = new Map<string, T>();
  let older = new Map<string, T>();

  function set(id: string, value: T): T {
    if (recent.size >= least) {
      older = recent;
      recent = new Map();
    }
    recent.set(id, value);
    return value;
  }

  return {
    get(id) {
      const value = recent.get(id);
      if (value !== undefined) return value;
      const before = older.get(id);
      return before === undefined ? undefined : set(id, before);
    },
    set,
    delete(id) {
      recent.delete(id);
      older.delete(id);
    },
  };
}
