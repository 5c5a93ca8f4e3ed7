// @ts-check
// An API with plans, in which customers who pay more get higher limits. Try it:
//
//   npm run build && node examples/tiers.mjs
//   curl -i localhost:3000                            without a key: three a minute per address
//   curl -i -H 'x-api-key: bob' localhost:3000        free: a burst of 5
//   curl -i -H 'x-api-key: alice' localhost:3000      pro: a burst of 50

import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { createLimiter } from 'sluice';
import { rateLimit } from 'sluice/hono';

/** @type {Map<string, string | undefined>} API keys and their plans; undefined means the limiter's own policies. */
const plans = new Map(Object.entries({ alice: 'pro', bob: undefined }));

const api = createLimiter(
  { second: '2/s burst 5', month: '1000/month fixed-window' },
  {
    name: 'api',
    tiers: { pro: { second: '20/s burst 50', month: '100000/month fixed-window' } },
  },
);
const anonymous = createLimiter({ anonymous: '3/min' });

/** Unknown keys are ignored. @param {import('hono').Context} context */
function customer(context) {
  const name = context.req.header('x-api-key') ?? '';
  return plans.has(name) && name;
}

const app = new Hono();
app.use(rateLimit({ limiter: api, key: customer, tier: (context) => plans.get(customer(context) || '') }));
app.use(rateLimit({ limiter: anonymous, skip: (context) => customer(context) !== false }));
app.get('/', (context) => context.text(`Hello, ${customer(context) || 'stranger'}\n`));

serve({ fetch: app.fetch, port: Number(process.env['PORT'] ?? 3000) }, ({ port }) => {
  console.log(`listening on http://localhost:${port}`);
});
