/**
 * Creates names of keys, in the form `name:{subject}`. No two subjects share a key, and the subject alone determines the cluster
 * slot.
 */
import { createHash } from 'node:crypto';

/** Maximum length of a subject in a key. For longer subjects, the key contains a digest. */
const LONGEST = 256;

/** The part before the subject. Braces in a name would become the hash tag, so they are escaped. */
export function prefixOf(name: string): string {
  return `${name.replaceAll(/[{}%]/g, escapeUnit)}:{`;
}

export function keyOf(prefix: string, subject: string): string {
  return `${prefix}${isPlain(subject) ? subject : escaped(subject)}}`;
}

/**
 * Whether a subject needs no escaping. The hash tag ends at the first closing brace, so the slot of a subject that contains a
 * closing brace would depend only on the text before the brace. A NUL in front marks an escaped subject, so a subject that starts
 * with a NUL must also be escaped.
 */
function isPlain(subject: string): boolean {
  return (
    subject.length <= LONGEST &&
    subject.charCodeAt(0) !== 0 &&
    !subject.includes('}') &&
    subject.isWellFormed()
  );
}

/**
 * Escapes a subject. Lone surrogates have no UTF-8 form, so subjects that differ only in a lone surrogate would get the same key.
 */
function escaped(subject: string): string {
  if (subject.length > LONGEST) return `\0s${createHash('sha256').update(unitsOf(subject)).digest('hex')}`;
  if (!subject.isWellFormed()) return `\0x${unitsOf(subject).toString('hex')}`;
  return `\0b${subject.replaceAll(/[}%]/g, escapeUnit)}`;
}

function unitsOf(subject: string): Buffer {
  return Buffer.from(subject, 'utf16le');
}

function escapeUnit(unit: string): string {
  return `%${unit.charCodeAt(0).toString(16)}`;
}
