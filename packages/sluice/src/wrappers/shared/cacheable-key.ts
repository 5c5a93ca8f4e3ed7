/**
 * Which keys a wrapper may keep in memory, and in what form. A limit on the number of keys alone does not bound memory:
 * 10,000 keys of 100 kB take a gigabyte. So wrappers do not keep long keys at all. Every hit of such a key goes to the
 * store, which keeps a digest or a fingerprint of it.
 */

/** In UTF-16 code units, which take one or two bytes each: 10,000 keys take at most 20 MB. */
export const MAX_CACHEABLE_LENGTH = 1024;

export function isCacheable(key: string): boolean {
  return key.length <= MAX_CACHEABLE_LENGTH;
}

/**
 * The same key in memory of its own. V8 keeps the whole parent string alive for a key that was sliced from it, and also
 * while the key is only a part of a concatenated string.
 */
export function copyOf(key: string): string {
  // To slice a concatenated string, V8 first writes its characters to a new place.
  return ` ${key}`.slice(1);
}
