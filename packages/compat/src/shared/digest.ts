/**
 * The 32-bit hash FNV-1a, which is the same in every process. It is not collision-resistant, so it must not be used as the only
 * identifier of a client's key.
 */
export function digest(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}
