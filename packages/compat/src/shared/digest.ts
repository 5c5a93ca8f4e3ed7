/** FNV-1a, 32 bits: short, and the same in every process. Not collision-resistant, so never hash a client's key with it alone. */
export function digest(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}
