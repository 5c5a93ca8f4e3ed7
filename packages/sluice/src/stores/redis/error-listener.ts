/**
 * If a node-redis client emits 'error' and has no listener, Node.js ends the process. A dropped connection of the limiter must not
 * end the whole service, so the store adds a listener, which warns if it is the only one.
 */
import { warnOnce } from '../../internal/warn.ts';
import { processState } from '../../internal/process-state.ts';
import type { Client } from './connections.ts';

interface Emitter {
  on(event: 'error', listener: (error: unknown) => void): unknown;
  listenerCount(event: 'error'): number;
}

const handled = /* @__PURE__ */ processState('redis errors', () => new WeakSet<object>());

export function handleErrorsOf(client: Client): void {
  if (handled.has(client) || typeof client['listenerCount'] !== 'function') return;
  handled.add(client);
  const emitter = client as unknown as Emitter;
  emitter.on('error', (error) => {
    if (emitter.listenerCount('error') > 1) return;
    warnOnce(
      'SLUICE_REDIS_ERROR_LISTENER',
      `the Redis client reported an error and has no listener for it, which would have ended the process; add client.on('error', …) where you create it. The error: ${String(error)}`,
      client,
    );
  });
}
