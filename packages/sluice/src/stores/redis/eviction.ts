/**
 * Warns about a server that may evict keys, because such a server would forget denials and manual blocks. The store reads the
 * server's eviction policy once, after the first reply.
 */
import { warnOnce } from '../../internal/warn.ts';
import { processState } from '../../internal/process-state.ts';
import type { Connection } from './connections.ts';

/**
 * A script that reads the eviction policy. Every client can run a script on the server of a given key, which is not true for
 * other commands. INFO is often allowed where CONFIG is not.
 */
const READ_POLICY = `local info = redis.call('INFO', 'memory')
return (info:match('maxmemory:(%d+)') or '0') .. ' ' .. (info:match('maxmemory_policy:([%w-]+)') or '')`;

/** Clients whose server was already checked. */
const asked = /* @__PURE__ */ processState('redis eviction', () => new WeakSet<object>());

/** Warns if the server evicts keys. Never rejects. Does nothing if the user has no permission to run INFO. */
export async function warnOfEviction(connection: Connection, key: string): Promise<void> {
  if (asked.has(connection.client)) return;
  asked.add(connection.client);
  try {
    const reply = await connection.evaluate('EVAL', READ_POLICY, [key], []);
    const [maxmemory, policy] = String(reply).split(' ');
    if (Number(maxmemory) > 0 && policy !== '' && policy !== 'noeviction')
      warnOnce(
        'SLUICE_REDIS_EVICTION',
        `the Redis server evicts keys when its memory is full (maxmemory-policy ${policy}). An evicted key is forgotten, so a denied or blocked client starts over. Use a server or database with maxmemory-policy noeviction for limits`,
        connection.client,
      );
  } catch {}
}
