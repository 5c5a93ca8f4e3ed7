/**
 * Handles POST /v1/hits, with which the library's store `remote` decides. Each hit carries its own policies, and may reset or block
 * its key. So the route is off unless the operator turns it on, and needs the permission to reset and block keys.
 */
import { decideRemoteHits, type RemoteHits } from 'sluice/remote';
import type { Core } from '../../core/core.ts';
import { JSON_TYPE, type Reply } from './reply.ts';
import type { Route } from './routes.ts';

export function hitsRoute({ store }: Core): Route {
  const decide = decideRemoteHits(store);
  return { method: 'POST', access: 'admin', answer: (_request, _query, body) => replyTo(decide, body) };
}

async function replyTo(decide: RemoteHits, body: unknown): Promise<Reply> {
  return { status: 200, type: JSON_TYPE, body: await decide(body), asked: () => ({ count: countIn(body) }) };
}

/** The number of hits in a body that was decided, and is therefore valid. */
function countIn(body: unknown): number {
  return (body as readonly [unknown, readonly unknown[]])[1].length;
}
