/** What must hold on every version of Node when connections die. Bundled and run by each of them. */
import type { Claim } from './audit.ts';
import { pipelining } from './pipelining.ts';
import { streams } from './streams.ts';

export const claims: readonly Claim[] = [...pipelining, ...streams];

/** Node 20 throws if a handler answers a stream that was aborted meanwhile; that is the app's own to catch. */
function tolerate(error: Error & { readonly code?: string }): void {
  if (error.code !== 'ERR_HTTP2_INVALID_STREAM') throw error;
}

/** Prints a line of JSON for each claim, so that a process that crashes shows how far it came. */
export async function judge(chosen = ''): Promise<void> {
  process.on('uncaughtException', tolerate);
  for (const claim of claims.filter(({ name }) => name.includes(chosen))) {
    const problem = await claim.run().then(
      () => undefined,
      (error: unknown) => String(error),
    );
    console.log(JSON.stringify({ name: claim.name, problem }));
  }
}
