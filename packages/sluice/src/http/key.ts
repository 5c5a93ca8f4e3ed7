/** Creates composite keys that cannot collide. */
import { SluiceError } from '../internal/errors.ts';

/**
 * Joins parts into one key, as in `key('user', id, 'route', name)`. Different parts always give different keys, because a ':'
 * within a part is escaped. Throws if a part is missing, because otherwise all clients without it would share one limit.
 */
export function key(...parts: readonly (string | number | bigint | boolean)[]): string {
  if (parts.length === 0)
    throw new SluiceError('ERR_KEY', 'key', undefined, '', 'must have at least one part');
  return parts.map(escaped).join(':');
}

function escaped(part: string | number | bigint | boolean, index: number): string {
  if (part === undefined || part === null || typeof part === 'object')
    throw new SluiceError('ERR_KEY', `key part ${index + 1}`, part);
  return `${part}`.replace(/[\\:]/g, '\\$&');
}
