/** A memory with a bound: a Map keeps the order of insertion, and what came first makes room. */
export function keep<T>(kept: Map<string, T>, id: string, value: T, most: number): T {
  kept.delete(id);
  for (const oldest of kept.keys()) {
    if (kept.size < most) break;
    kept.delete(oldest);
  }
  kept.set(id, value);
  return value;
}
