/** A cache with a maximum size and strings as keys. */
export interface BoundedCache<T> {
  get(id: string): T | undefined;
  set(id: string, value: T): T;
  /** Number of entries. At most twice the number `least` with which the cache was created. */
  readonly size: number;
}

/**
 * Keeps at least the `least` most recently used entries, and at most twice that number. It alternates between two Maps, because
 * finding the oldest entry of a single Map becomes slow once many of its first entries have been deleted.
 */
export function boundedCache<T>(least: number): BoundedCache<T> {
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
    get size() {
      return recent.size + older.size;
    },
  };
}
