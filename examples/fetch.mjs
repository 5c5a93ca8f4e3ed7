// @ts-check
// Rate limits for a web-standard handler. Bun.serve, Deno.serve, Workers and Next accept the same handler; here
// @hono/node-server runs it. Try it:
//
//   npm run build && node examples/fetch.mjs
//   curl -i localhost:3000                 1000 tokens a minute; each response costs one token per word

import { serve } from '@hono/node-server';
import { createLimiter } from 'sluice';
import { withRateLimit } from 'sluice/fetch';

const tokens = createLimiter({ tokens: '1000/min' });

/** @type {WeakMap<Request, number>} */
const used = new WeakMap();

const handler = withRateLimit(
  {
    limiter: tokens,
    // This is an estimate. The actual cost is settled once the response has been sent.
    cost: 200,
    settle: ({ request }) => used.get(request),
  },
  async (request) => {
    const answer = 'All work and no play makes Jack a dull boy.\n'.repeat(40);
    used.set(request, answer.split(' ').length);
    return new Response(answer);
  },
);

serve({ fetch: handler, port: Number(process.env['PORT'] ?? 3000) }, ({ port }) => {
  console.log(`listening on http://localhost:${port}`);
});
