// A limit in a Cloudflare Durable Object, in workerd on this machine. The counts outlive the object.
//
//   npm run build && node examples/durable-object.mjs

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { Miniflare } from 'miniflare';

const WORKER = `
  export { Limits } from './stores/durable-object.mjs';
  export default {
    fetch: (request, env) => env.LIMITS.get(env.LIMITS.idFromName('api')).fetch(request),
  };
`;
const { outputFiles } = await build({
  stdin: { contents: WORKER, resolveDir: import.meta.dirname },
  bundle: true,
  write: false,
  format: 'esm',
});
const folder = mkdtempSync(join(tmpdir(), 'limits-'));

for (const start of ['first', 'after a restart']) {
  const worker = new Miniflare({
    modules: true,
    script: outputFiles[0].text,
    compatibilityDate: '2026-01-01',
    durableObjects: { LIMITS: 'Limits' },
    durableObjectsPersist: folder,
  });
  const ask = async () => (await worker.dispatchFetch('http://limits/?key=alice')).json();
  const passed = (await Promise.all(Array.from({ length: 60 }, ask))).filter(({ allowed }) => allowed);
  console.log(`${start}: 60 calls, ${passed.length} passed`); // → first: 60 calls, 60 passed
  await worker.dispose(); // → after a restart: 60 calls, 40 passed
}
rmSync(folder, { recursive: true });
