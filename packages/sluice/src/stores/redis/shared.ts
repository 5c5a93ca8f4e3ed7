/**
 * Stores on the same client share one connection, which is a duplicate of the client. It is closed when the last of these stores is
 * closed.
 */
import type { Client, Connection } from './connections.ts';
import type { Source } from './duplicates.ts';
import { renewed } from './reconnect.ts';
import { processState } from '../../internal/process-state.ts';

interface Shared {
  readonly connection: ReturnType<typeof renewed>;
  users: number;
}

const connections = /* @__PURE__ */ processState('redis connections', () => new WeakMap<Client, Shared>());

export function shared(client: Client, sourceOf: () => Source): Connection {
  const found = connections.get(client) ?? { connection: renewed(sourceOf()), users: 0 };
  connections.set(client, found);
  found.users++;
  let closed = false;
  return {
    ...found.connection,
    close() {
      if (closed) return;
      closed = true;
      if (--found.users === 0) found.connection.close();
    },
  };
}
