/** Names of keys: `name:{subject}`, so that all of a subject lies in one slot and no two subjects share a key. */
import { createHash } from 'node:crypto';

/** Longer subjects are kept as their digest. */
const LONGEST = 256;

/** The part before the subject. Braces would move the slot's tag, so they are escaped. */
export function prefixOf(name: string): string {
  return `${name.replaceAll(/[{}%]/g, (brace) => `%${brace.charCodeAt(0).toString(16)}`)}:{`;
}

/** A variant is a tier of other algorithms, whose row is another. */
export function keyOf(prefix: string, subject: string, variant: string): string {
  return `${prefix}${isPlain(subject) ? subject : escaped(subject)}}${variant}`;
}

/** A NUL in front says that a subject is escaped, so one that starts with it has to be, too. */
function isPlain(subject: string): boolean {
  return subject.length <= LONGEST && subject.charCodeAt(0) !== 0 && subject.isWellFormed();
}

/** Lone surrogates have no bytes in UTF-8: two different ones would become the same key. */
function escaped(subject: string): string {
  const units = Buffer.from(subject, 'utf16le');
  if (subject.length <= LONGEST) return `\0x${units.toString('hex')}`;
  return `\0s${createHash('sha256').update(units).digest('hex')}`;
}
