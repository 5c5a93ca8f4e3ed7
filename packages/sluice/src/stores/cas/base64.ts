/** Encodes values as text, for services whose clients change bytes or return them in different forms. */

export function toBase64(bytes: Uint8Array): string {
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/** Decodes a value. Returns undefined if the text is not base64, so that its key is treated as new. */
export function fromBase64(text: unknown): Uint8Array | undefined {
  try {
    return Uint8Array.from(atob(String(text)), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
