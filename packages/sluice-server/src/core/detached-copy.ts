/** Copies a string that will be kept: V8 keeps the whole original string alive for as long as one of its slices. */
export function detachedCopy(slice: string): string {
  // V8 already copies slices of fewer than 13 characters.
  return slice.length < 13 ? slice : ` ${slice}`.slice(1);
}
