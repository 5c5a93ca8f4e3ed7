/**
 * Handles POST /v1/hits, with which the library's store `remote` decides. Each hit carries its own policies, and may reset or block
 * its key. So the route is off unless the operator turns it on, and needs the permission to reset and block keys.
 */
import { decideRemoteHits, type RemoteHits } from 'sluice/remote';
import type { Core } from '../../core/core.ts';
import { HttpProblem, JSON_TYPE, type Reply } from './reply.ts';
import type { Route } from './routes.ts';

/** The route. If `isOn` is false, it answers every request with what the operator has to do. */
export function hitsRoute({ store }: Core, isOn: boolean): Route {
  if (!isOn) return { method: 'POST', access: 'public', answer: refuse };
  const decide = decideRemoteHits(store);
  return { method: 'POST', access: 'admin', answer: (_request, _query, body) => replyTo(decide, body) };
}

function refuse(): never {
  throw new HttpProblem(
    'not-found',
    'this server does not decide for remote stores. Start it with --remote to turn this on.',
  );
}

async function replyTo(decide: RemoteHits, body: unknown): Promise<Reply> {
  return { status: 200, type: JSON_TYPE, body: await decide(body), asked: () => ({ count: countIn(body) }) };
}

/** The number of hits in a body that was decided, and is therefore valid. */
function countIn(body: unknown): number {
  return (body as readonly [unknown, readonly unknown[]])[1].length;
}
