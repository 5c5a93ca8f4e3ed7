// @ts-check
// Five requests in ten seconds per address, and three failed logins a minute. Try it:
//   node examples/fastify.mjs
//   for i in 1 2 3 4 5 6; do curl -i localhost:3000/; done
//   for i in 1 2 3 4; do curl -i 'localhost:3000/login?password=wrong'; done

import fastify from 'fastify';
import { createLimiter } from 'sluice';
import { rateLimit } from 'sluice/fastify';

const app = fastify();
await app.register(rateLimit, { limiter: createLimiter({ all: '5/10s' }) });

app.get('/', async (request) => `hello, ${request.rateLimit?.remaining} left\n`);

app.get(
  '/login',
  {
    config: {
      rateLimit: {
        limiter: createLimiter({ login: '3/min' }),
        settle: (_request, { status }) => (status === 401 ? 1 : 0),
      },
    },
  },
  async (request, reply) => {
    const { password } = /** @type {{ password?: string }} */ (request.query);
    return password === 'sesame' ? 'welcome\n' : reply.code(401).send('wrong\n');
  },
);

// Health checks are not limited.
app.get('/health', { config: { rateLimit: false } }, async () => 'well\n');

console.log(`listening on ${await app.listen({ port: Number(process.env['PORT'] ?? 3000) })}`);
