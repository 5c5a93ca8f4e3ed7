/**
 * Decides which keys a wrapper may keep in memory, and in what form. A limit on the number of keys alone does not bound memory,
 * because 10,000 keys of 100 kB take a gigabyte. So wrappers do not keep long keys at all. Every hit of such a key is sent to the
 * store, which keeps a digest or a fingerprint of the key.
 */

/** Maximum length of a key to keep, in UTF-16 code units. A code unit takes one or two bytes, so 10,000 keys take at most 20 MB. */
export const MAX_CACHEABLE_LENGTH = 1024;

export function isCacheable(key: string): boolean {
  return key.length <= MAX_CACHEABLE_LENGTH;
}

/**
 * Copies a key into memory of its own. Otherwise, V8 would keep the whole parent string of a slice, or all parts of a
 * concatenated string, alive.
 */
export function copyOf(key: string): string {
  // To slice a concatenated string, V8 first copies its characters to new memory.
  return ` ${key}`.slice(1);
}
