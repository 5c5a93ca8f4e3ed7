/**
 * Creates key names that any service accepts. They have the form `name:subject` and consist of at most 200 printable ASCII
 * characters, without spaces. No two subjects have the same key name.
 */
import type { Plan } from '../../engine/contract.ts';

const LONGEST = 200;

/** Matches characters that are escaped as their UTF-16 code unit. In a limiter's name, `:`, `#` and `@` are also escaped. */
const ODD = /[^!-$&-~]/g;
const ODD_IN_NAME = /[^!"$&-9;-?A-~]/g;

/** Caches the start of each plan's key names, because escaping takes longer than a lookup. */
const prefixes = new WeakMap<Plan, string>();

/** The full key name, which may be too long for a service. */
export function idOf(plan: Plan, subject: string): string {
  let prefix = prefixes.get(plan);
  if (prefix === undefined) {
    prefix = `${escaped(plan.name, ODD_IN_NAME)}:`;
    prefixes.set(plan, prefix);
  }
  return prefix + escaped(subject, ODD);
}

/** The SHA-256 digest that replaces a key name that is too long. It begins with #, and no other key name does. */
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
