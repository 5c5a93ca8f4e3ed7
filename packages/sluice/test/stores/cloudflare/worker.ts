/** A Worker and a Durable Object in which cloudflare.test.ts runs claims about the stores. */
import { createLimiter, type Decision, gcra, type Limiter } from '../../../src/index.ts';
import { d1, type D1Database } from '../../../src/stores/d1/index.ts';
import {
  durableObject,
  type DurableObjectNamespace,
  type DurableObjectStorage,
} from '../../../src/stores/durable-object/index.ts';
import { conformance } from '../../../src/testing/index.ts';
import { contenders } from '../contenders.ts';

export { SluiceObject } from '../../../src/stores/durable-object/index.ts';

interface Env {
  readonly DB: D1Database;
  readonly LIMITS: DurableObjectNamespace;
  readonly CLAIMS: {
    idFromName(name: string): unknown;
    get(id: unknown): { fetch(request: Request): Promise<Response> };
  };
}

const patient = { deadline: '30s', onFailure: 'throw' } as const;

/** The claims about each store, by the name of the store. */
function claimsOf(kind: string, env: Env, storage: DurableObjectStorage | undefined) {
  if (kind === 'd1')
    return [
      ...conformance((clock) => d1(env.DB, { ...patient, clock })),
      ...contenders(() => d1(env.DB, patient), true),
    ];
  const place = storage ?? env.LIMITS;
  return [
    ...conformance((clock) => durableObject(place, { ...patient, clock })),
    ...contenders(() => durableObject(place, patient), storage !== undefined),
  ];
}

async function answer(request: Request, env: Env, storage?: DurableObjectStorage): Promise<Response> {
  const { searchParams } = new URL(request.url);
  const [kind, name] = [searchParams.get('kind') ?? '', searchParams.get('claim')];
  try {
    if (name === null) return Response.json(await admitted(kind, env));
    await claimsOf(kind, env, storage)
      .find((claim) => claim.name === name)
      ?.run();
    return new Response('holds');
  } catch (error) {
    return new Response(String((error as Error).stack ?? error));
  }
}

/** Limiters that all requests to a Worker share. */
const limiters = new Map<string, Limiter<Promise<Decision>>>();

/** Takes once, and returns whether the take was admitted. The limit is 12. */
async function admitted(kind: string, env: Env): Promise<boolean> {
  const store = () => (kind === 'd1' ? d1(env.DB, patient) : durableObject(env.LIMITS, patient));
  const limiter =
    limiters.get(kind) ??
    createLimiter(gcra({ limit: 12, per: '1d' }), { store: store(), name: `workers ${kind}` });
  limiters.set(kind, limiter);
  return (await limiter.take('k')).allowed;
}

/** Runs claims inside a Durable Object, on its own storage. */
export class Claims {
  readonly #storage: DurableObjectStorage;
  readonly #env: Env;
  constructor({ storage }: { storage: DurableObjectStorage }, env: Env) {
    this.#storage = storage;
    this.#env = env;
  }
  fetch(request: Request): Promise<Response> {
    return answer(request, this.#env, this.#storage);
  }
}

export default {
  fetch(request: Request, env: Env): Promise<Response> {
    if (new URL(request.url).searchParams.get('kind') !== 'storage') return answer(request, env);
    return env.CLAIMS.get(env.CLAIMS.idFromName('claims')).fetch(request);
  },
};
