/** Finds the word that a user probably meant, for error messages. */

/** Maximum number of characters that must be inserted, removed or replaced. */
const MAX_EDITS = 2;

/** The most similar of the words. Undefined if none is similar. */
export function closest(given: string, words: readonly string[]): string | undefined {
  const [best] = words
    .map((word) => ({ word, edits: editsBetween(given, word) }))
    .sort((a, b) => a.edits - b.edits);
  // A short word is similar to many words, so it must differ less.
  return best !== undefined && best.edits <= Math.min(MAX_EDITS, given.length - 2) ? best.word : undefined;
}

/** The Levenshtein distance. */
function editsBetween(a: string, b: string): number {
  /** `row[j]` is the distance between the part of `a` read so far and the first j characters of `b`. */
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next.push(Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length];
}
