/**
 * Names of keys that any service takes: `name:subject`, at most 200 characters of printable ASCII without blanks, and
 * no two subjects share one.
 */
import type { Plan } from '../../engine/contract.ts';

const LONGEST = 200;

/** What is written as its UTF-16 code unit. Names also lose what sets the parts apart. */
const ODD = /[^!-$&-~]/g;
const ODD_IN_NAME = /[^!"$&-9;-?A-~]/g;

/** The whole name, however long. */
export function idOf({ name }: Plan, subject: string): string {
  return `${escaped(name, ODD_IN_NAME)}:${escaped(subject, ODD)}`;
}

/** A long one is kept as its SHA-256, with a # in front that no other name begins with. */
export async function digestOf(id: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(id)));
  return `#${Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

export function isLong(id: string): boolean {
  return id.length > LONGEST;
}

function escaped(text: string, odd: RegExp): string {
  return text.replaceAll(odd, (unit) => {
    const code = unit.charCodeAt(0);
    return code < 256 ? `%${code.toString(16).padStart(2, '0')}` : `%u${code.toString(16).padStart(4, '0')}`;
  });
}
