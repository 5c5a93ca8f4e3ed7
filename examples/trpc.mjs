// @ts-check
// Rate limits in tRPC. Try it:
//
//   npm run build && node examples/trpc.mjs
//   curl -i localhost:3000/hello       five a minute; the sixth gets TOO_MANY_REQUESTS

import { initTRPC } from '@trpc/server';
import { createHTTPServer } from '@trpc/server/adapters/standalone';
import { createLimiter } from 'sluice';
import { rateLimit } from 'sluice/trpc';

/** @typedef {import('@trpc/server/adapters/standalone').CreateHTTPContextOptions} Context */

const t = /** @type {ReturnType<typeof initTRPC.context<Context>>} */ (initTRPC.context()).create();

// The address is read from ctx.req, and headers are set on ctx.res, so pass both on in createContext.
const limited = t.procedure.use(rateLimit(createLimiter('5/min')));

const router = t.router({
  hello: limited.query(() => 'Hello'),
});

const server = createHTTPServer({ router, createContext: (options) => options });
server.listen(Number(process.env['PORT'] ?? 3000), () => {
  const address = server.address();
  console.log(`listening on http://localhost:${typeof address === 'object' && address?.port}/hello`);
});
