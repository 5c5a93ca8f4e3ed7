/**
 * connections.test.ts bundles this program and runs it on each version of Node. The program prints a line of JSON for each claim,
 * so that the output of a crashed process shows how far it got. An argument selects the claims whose name contains it.
 */
import { claims } from './claims.ts';

/** Node 20 throws if a handler responds to a stream that has been aborted; applications must catch that error. */
function tolerate(error: Error & { readonly code?: string }): void {
  if (error.code !== 'ERR_HTTP2_INVALID_STREAM') throw error;
}

process.on('uncaughtException', tolerate);
const [, , chosen = ''] = process.argv;
for (const claim of claims.filter(({ name }) => name.includes(chosen))) {
  const problem = await claim.run().then(
    () => undefined,
    (error: unknown) => String(error),
  );
  console.log(JSON.stringify({ name: claim.name, problem }));
}
// Aborted streams keep the servers open, so the process would not end by itself.
process.exit();
