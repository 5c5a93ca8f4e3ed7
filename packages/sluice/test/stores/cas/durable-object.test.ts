/** Tests examples/stores/durable-object.mjs in workerd, which runs a bundle of the sources. */
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { Miniflare } from 'miniflare';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { memory } from '../../../src/index.ts';
import { conformance } from '../../../src/testing/index.ts';
import { races } from './races.ts';

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** The claims run inside the object, over its storage. */
const WORKER = `
  import { casStore } from 'sluice';
  import { conformance } from ${JSON.stringify(pathOf('../../../src/testing/index.ts'))};
  import { races } from ${JSON.stringify(pathOf('./races.ts'))};
  import { durableStorage, Limits } from ${JSON.stringify(pathOf('../../../../../examples/stores/durable-object.mjs'))};

  export { Limits };

  export class Claims {
    constructor({ storage }) {
      this.claims = [
        ...conformance((clock) => casStore(durableStorage(storage), { onFailure: 'throw', clock, deadline: '30s' })),
        ...races(() => durableStorage(storage)),
      ];
    }
    async fetch(request) {
      const name = new URL(request.url).searchParams.get('claim');
      try {
        await this.claims.find((claim) => claim.name === name).run();
        return new Response('holds');
      } catch (error) {
        return new Response(String(error));
      }
    }
  }

  export default {
    fetch(request, env) {
      const url = new URL(request.url);
      const objects = url.searchParams.has('claim') ? env.CLAIMS : env.LIMITS;
      return objects.get(objects.idFromName('one')).fetch(request);
    },
  };
`;

/** Only the names of the claims are needed here. */
const noService = (): never => {
  throw new Error('there is none here');
};

describe('a Durable Object', () => {
  let worker: Miniflare;

  beforeAll(async () => {
    const { outputFiles } = await build({
      stdin: { contents: WORKER, resolveDir: pathOf('.') },
      alias: { sluice: pathOf('../../../src/index.ts') },
      bundle: true,
      write: false,
      format: 'esm',
      // Workers do not have these modules, so the bundle must not contain them.
      platform: 'neutral',
      target: 'es2022',
    });
    worker = new Miniflare({
      modules: true,
      script: outputFiles[0]?.text ?? '',
      compatibilityDate: '2026-01-01',
      durableObjects: { LIMITS: 'Limits', CLAIMS: 'Claims' },
      port: 0,
    });
    await worker.ready;
  }, 60_000);

  afterAll(() => worker.dispose());

  async function ask(query: Record<string, string>): Promise<Response> {
    const url = new URL(`/?${new URLSearchParams(query).toString()}`, await worker.ready);
    return fetch(url, { headers: { connection: 'close' } });
  }

  for (const { name } of [...conformance(() => memory()), ...races(noService)])
    test(name, async () => expect(await (await ask({ claim: name })).text()).toBe('holds'));

  test('admits exactly as many simultaneous requests as its limit allows, and counts keys separately', async () => {
    const responses = await Promise.all(Array.from({ length: 120 }, () => ask({ key: 'alice' })));
    const decisions = (await Promise.all(responses.map((response) => response.json()))) as {
      allowed: boolean;
      retryAfter: number;
    }[];
    const refused = decisions.filter(({ allowed }) => !allowed);
    expect(decisions.length - refused.length).toBe(100);
    // One comes back every 36 s.
    for (const { retryAfter } of refused) expect(retryAfter).toBeLessThanOrEqual(36_000);
    expect(await (await ask({ key: 'bob' })).json()).toMatchObject({ allowed: true, remaining: 99 });
  });
});
