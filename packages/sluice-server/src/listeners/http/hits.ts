/**
 * Handles POST /v1/hits, to which the library's store `remote` sends its hits. Each hit carries its own policies and may reset or
 * block its key. So the route is off unless the operator turns it on, and clients need the verb `store`.
 */
import { decideRemoteHits } from 'sluice/remote';
import type { Core } from '../../core/core.ts';
import type { Log } from '../../log.ts';
import { audit } from '../audit.ts';
import { requestIdOf } from '../request-id.ts';
import { JSON_TYPE } from './reply.ts';
import type { Route } from './routes.ts';

/** The parts of a valid request body that are read here. */
type Asked = readonly [plans: readonly string[], hits: readonly AskedHit[]];
/** `span` is the duration of a block. A block of 0 ms ends a block, which is how the library unblocks a key. */
type AskedHit = readonly [
  plan: number,
  verb: string,
  key: string,
  cost: unknown,
  mode: unknown,
  span: number,
];

export function hitsRoute({ store }: Core, log: Log): Route {
  const decide = decideRemoteHits(store);
  return {
    method: 'POST',
    verb: 'store',
    statuses: [200, 400, 413, 503],
    async answer(request, _query, body, grant) {
      // `decide` rejects if the body is invalid.
      const answers = await decide(body);
      const [plans, hits] = body as Asked;
      for (const [plan, verb, key, , , span] of hits)
        if (verb === 'block' || verb === 'reset') {
          audit(
            log,
            {
              listener: 'http',
              verb: verb === 'block' && span === 0 ? 'unblock' : verb,
              grant,
              limit: nameIn(plans[plan]),
              key,
              requestId: requestIdOf(request),
            },
            'done',
          );
        }
      return { status: 200, type: JSON_TYPE, body: answers, asked: () => ({ count: hits.length }) };
    },
  };
}

/** The name of a plan's limiter. Undefined if the text is not a plan, in which case only the hits of that plan have failed. */
function nameIn(plan: string): string | undefined {
  try {
    return (JSON.parse(plan) as [string])[0];
  } catch {
    return undefined;
  }
}
