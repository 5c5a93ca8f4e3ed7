/** Keys come from strangers: nothing of them may steer the terminal. */
export function printable(text = ''): string {
  return text.replace(/\p{C}/gu, '·').slice(0, 80);
}
