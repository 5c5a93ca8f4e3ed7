/** Makes a key safe to print. Keys come from untrusted clients and may contain terminal control characters. */
export function printable(text = ''): string {
  return text.replace(/\p{C}/gu, '·').slice(0, 80);
}
