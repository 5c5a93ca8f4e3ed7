/** Claims about the Deno KV store. Deno runs this file, and prints the claims that do not hold. */
import { type DenoKv, denoKv } from '../../../src/stores/deno-kv/index.ts';
import { conformance } from '../../../src/testing/index.ts';
import { contenders } from '../contenders.ts';

interface Global {
  readonly Deno: { openKv(path: string): Promise<DenoKv & { close(): void }> };
}

const kv = await (globalThis as unknown as Global).Deno.openKv(':memory:');
const patient = { deadline: '30s', onFailure: 'throw' } as const;
const results: Record<string, string> = {};
for (const { name, run } of [
  ...conformance((clock) => denoKv(kv, { ...patient, clock })),
  ...contenders(() => denoKv(kv, patient), true),
]) {
  try {
    await run();
    results[name] = 'holds';
  } catch (error) {
    results[name] = String(error);
  }
}
kv.close();
console.log(JSON.stringify(results));
