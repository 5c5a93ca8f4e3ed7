/**
 * Copies a slice of a string. Without the copy, V8 would keep the whole original string in memory for as long as the slice
 * exists.
 */
export function detachedCopy(slice: string): string {
  // V8 already copies slices of fewer than 13 characters.
  return slice.length < 13 ? slice : ` ${slice}`.slice(1);
}
