/** Copies a slice of a string, so that keeping the slice does not keep the whole original string in memory, as V8 would. */
export function detachedCopy(slice: string): string {
  // V8 already copies slices of fewer than 13 characters.
  return slice.length < 13 ? slice : ` ${slice}`.slice(1);
}
