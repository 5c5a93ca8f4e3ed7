// A limit in Cloudflare Durable Objects, in workerd on this machine. The counts outlive the objects.
//
//   npm run build && node examples/durable-object.mjs

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { Miniflare } from 'miniflare';

const contents = `
  import { createLimiter } from 'sluice';
  import { durableObject } from 'sluice/durable-object';
  export { SluiceObject } from 'sluice/durable-object';
  export default {
    async fetch(request, env) {
      const limiter = createLimiter('100/h', { store: durableObject(env.LIMITS), name: 'api' });
      return Response.json(await limiter.take(new URL(request.url).searchParams.get('key')));
    },
  };
`;
const stdin = { contents, resolveDir: import.meta.dirname };
const { outputFiles } = await build({ stdin, bundle: true, write: false, format: 'esm' });
const folder = mkdtempSync(join(tmpdir(), 'limits-'));

for (const start of ['first', 'after a restart']) {
  const worker = new Miniflare({
    modules: true,
    script: outputFiles[0].text,
    compatibilityDate: '2026-01-01',
    durableObjects: { LIMITS: { className: 'SluiceObject', useSQLite: true } },
    durableObjectsPersist: folder,
  });
  const ask = async () => (await worker.dispatchFetch('http://limits/?key=alice')).json();
  const passed = (await Promise.all(Array.from({ length: 60 }, ask))).filter(({ allowed }) => allowed);
  console.log(`${start}: 60 calls, ${passed.length} passed`); // → first: 60 calls, 60 passed
  await worker.dispose(); // → after a restart: 60 calls, 40 passed
}
rmSync(folder, { recursive: true });
