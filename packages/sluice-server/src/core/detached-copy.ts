/** A slice of a long text keeps all of that text alive; this copies it, for whoever remembers it. */
export function detachedCopy(slice: string): string {
  // Shorter ones are copies already.
  return slice.length < 13 ? slice : ` ${slice}`.slice(1);
}
