import { Redis } from 'ioredis';
import { describe, expect, inject, test } from 'vitest';
import { sluiceStore as express } from '../src/express-rate-limit.ts';
import { sluiceStore as fastify } from '../src/fastify-rate-limit.ts';
import { sluiceStore as hono } from '../src/hono-rate-limiter.ts';
import { sluiceStore as nest } from '../src/nestjs-throttler.ts';
import { memory } from 'sluice';
import { redis } from 'sluice/redis';

describe.each(Object.entries({ express, fastify, hono, nest }))(
  'a second sluiceStore() for %s',
  (_, sluiceStore) => {
    const refused = expect.objectContaining({ code: 'ERR_MISSING_OPTION', option: 'sluiceStore.prefix' });

    test('requires a prefix if it uses the same store as the first one', () => {
      const store = memory();
      sluiceStore({ store });
      expect(() => sluiceStore({ store })).toThrow(refused);
      sluiceStore({ store, prefix: 'login' });
    });

    test('requires a prefix if it uses the same Redis client as the first one', async () => {
      const client = new Redis({ port: inject('redisPort'), lazyConnect: true });
      client.on('error', () => {});
      sluiceStore({ store: redis(client) });
      expect(() => sluiceStore({ store: redis(client) })).toThrow(refused);
      sluiceStore({ store: redis(client), prefix: 'login' });
      client.disconnect();
    });

    test('does not require a prefix if it has its own store', () => {
      sluiceStore();
      sluiceStore();
      sluiceStore({ store: memory() });
      sluiceStore({ store: memory() });
    });
  },
);

test('the default prefix can be used again after a shutdown', async () => {
  const store = memory();
  await express({ store }).shutdown();
  await hono({ store }).shutdown();
  nest({ store }).onApplicationShutdown();
  express({ store });
  hono({ store });
  nest({ store });
});
