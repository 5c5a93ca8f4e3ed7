// @ts-check
// Rate limits in Hono, on Node. The app runs unchanged on Bun, Deno and Workers. Try it:
//
//   npm run build && node examples/hono.mjs
//   curl -i localhost:3000           ten a minute
//   curl -i localhost:3000/search    costs five of them

import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { createLimiter } from 'sluice';
import { rateLimit } from 'sluice/hono';

const limiter = createLimiter('10/min');

const app = new Hono();
app.use(rateLimit(limiter));
app.get('/', (context) => context.text('Hello\n'));

// Uses the same limiter again. The middleware above charges one unit, and this route charges four more.
app.get('/search', rateLimit({ limiter, cost: 4 }), (context) => context.text('Found nothing\n'));

serve({ fetch: app.fetch, port: Number(process.env['PORT'] ?? 3000) }, ({ port }) => {
  console.log(`listening on http://localhost:${port}`);
});
