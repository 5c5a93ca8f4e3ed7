/** Composite keys that cannot collide. */
import { SluiceError } from '../internal/errors.ts';

/**
 * `key('user', id, 'route', name)`. Different parts, different key: a ':' within a part is escaped.
 * A part that is missing is refused: it would put everybody who lacks it under one limit.
 */
export function key(...parts: readonly (string | number | bigint | boolean)[]): string {
  if (parts.length === 0) throw new SluiceError('ERR_KEY', 'key', undefined, 'of at least one part');
  return parts.map(escaped).join(':');
}

function escaped(part: string | number | bigint | boolean, index: number): string {
  if (part === undefined || part === null || typeof part === 'object')
    throw new SluiceError('ERR_KEY', `key part ${index + 1}`, part);
  return `${part}`.replace(/[\\:]/g, '\\$&');
}
