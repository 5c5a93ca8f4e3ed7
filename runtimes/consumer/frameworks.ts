// Uses the entries whose types refer to a framework's types. This file is only compiled, never run.
import Fastify from 'fastify';
import { Hono } from 'hono';
import { createLimiter } from 'sluice';
import { rateLimit as fastify } from 'sluice/fastify';
import { rateLimit as hono } from 'sluice/hono';
import { RateLimit, RateLimitModule, requestOf, SkipRateLimit } from 'sluice/nest';

const limiter = createLimiter('10/s');

const app = Fastify();
app.register(fastify, { limiter, key: (request) => request.ip, hook: 'preHandler' });
app.get('/', { config: { rateLimit: false } }, (request) => request.rateLimit?.remaining ?? 0);

const edge = new Hono();
edge.use(hono({ limiter, key: (context) => context.req.header('x-api-key') ?? 'anonymous' }));

@SkipRateLimit()
class Health {
  @RateLimit({ limiter, key: (context) => String(requestOf(context)) })
  get(): string {
    return 'ok';
  }
}

export { app, edge, Health };
export const limits = RateLimitModule.forRoot({ limiter });
