/**
 * A hello-world app in each framework: without middleware, with a middleware that does nothing, with the framework's usual
 * limiter, or with Sluice. No request is denied, and all limiters write their headers.
 */
import { createLimiter } from 'sluice';

const LIMIT = 1_000_000_000;
const MINUTE = 60_000;
const limiter = () => createLimiter({ default: `${LIMIT}/min` });

/**
 * The frameworks. `usual` names the framework's usual limiter, and `start` returns a listening server with one of the four
 * variants.
 */
export const apps = {
  express: {
    usual: 'express-rate-limit',
    async start(variant) {
      const { default: express } = await import('express');
      const app = express();
      if (variant === 'empty') app.use((_request, _response, next) => next());
      if (variant === 'usual') {
        const { rateLimit } = await import('express-rate-limit');
        app.use(
          rateLimit({ windowMs: MINUTE, limit: LIMIT, standardHeaders: 'draft-8', legacyHeaders: false }),
        );
      }
      if (variant === 'sluice') {
        const { rateLimit } = await import('sluice/express');
        app.use(rateLimit(limiter()));
      }
      app.get('/', (_request, response) => response.end('hello'));
      return app.listen(0, '127.0.0.1');
    },
  },
  fastify: {
    usual: '@fastify/rate-limit',
    async start(variant) {
      const { default: fastify } = await import('fastify');
      const app = fastify();
      if (variant === 'empty') app.addHook('onRequest', (_request, _reply, next) => next());
      if (variant === 'usual') {
        const { default: rateLimit } = await import('@fastify/rate-limit');
        await app.register(rateLimit, { max: LIMIT, timeWindow: MINUTE, enableDraftSpec: true });
      }
      if (variant === 'sluice') {
        const { rateLimit } = await import('sluice/fastify');
        await app.register(rateLimit, { limiter: limiter() });
      }
      app.get('/', (_request, reply) => reply.send('hello'));
      await app.listen({ port: 0, host: '127.0.0.1' });
      return app.server;
    },
  },
  hono: {
    usual: 'hono-rate-limiter',
    async start(variant) {
      const { Hono } = await import('hono');
      const { serve } = await import('@hono/node-server');
      const app = new Hono();
      if (variant === 'empty') app.use((_context, next) => next());
      if (variant === 'usual') {
        const { rateLimiter } = await import('hono-rate-limiter');
        const keyGenerator = (context) => context.env.incoming.socket.remoteAddress;
        app.use(rateLimiter({ windowMs: MINUTE, limit: LIMIT, standardHeaders: 'draft-7', keyGenerator }));
      }
      if (variant === 'sluice') {
        const { rateLimit } = await import('sluice/hono');
        app.use(rateLimit(limiter()));
      }
      app.get('/', (context) => context.text('hello'));
      return serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' });
    },
  },
  nest: {
    usual: '@nestjs/throttler',
    async start(variant) {
      await import('reflect-metadata');
      const { Controller, Get, Module } = await import('@nestjs/common');
      const { NestFactory, APP_GUARD } = await import('@nestjs/core');
      class Hello {
        hello() {
          return 'hello';
        }
      }
      Get()(Hello.prototype, 'hello', Object.getOwnPropertyDescriptor(Hello.prototype, 'hello'));
      Controller()(Hello);
      const { imports = [], guard } = await nestParts(variant);
      class App {}
      Module({
        imports,
        controllers: [Hello],
        providers: guard === undefined ? [] : [{ provide: APP_GUARD, useClass: guard }],
      })(App);
      const app = await NestFactory.create(App, { logger: false });
      await app.listen(0, '127.0.0.1');
      return app.getHttpServer();
    },
  },
};

async function nestParts(variant) {
  if (variant === 'empty') {
    return {
      guard: class {
        canActivate() {
          return true;
        }
      },
    };
  }
  if (variant === 'usual') {
    const { ThrottlerModule, ThrottlerGuard } = await import('@nestjs/throttler');
    return { imports: [ThrottlerModule.forRoot([{ ttl: MINUTE, limit: LIMIT }])], guard: ThrottlerGuard };
  }
  if (variant === 'sluice') {
    const { RateLimitModule } = await import('sluice/nest');
    return { imports: [RateLimitModule.forRoot({ limiter: limiter() })] };
  }
  return {};
}
