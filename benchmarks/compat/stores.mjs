/**
 * Stores for other libraries' middleware, as originals and as drop-ins, in the form that limiters.mjs describes. The benchmark
 * makes the calls that the middleware makes.
 */
import { called, patient } from './shared.mjs';

/** The store interface of express-rate-limit, which hono-rate-limiter adopted. */
async function hits(store, { limit, window }) {
  await store.init({ windowMs: window });
  return { check: (key) => store.increment(key), passed: ({ totalHits }) => totalHits <= limit };
}

function routes(store, { limit, window }) {
  const check = (key) => called((callback) => store.incr(key, callback, window, limit));
  return { check, passed: ({ current }) => current <= limit };
}

/** Passes the window as the duration of the block, as the guard of @nestjs/throttler does by default. */
function throttler(storage, { limit, window }) {
  const check = (key) => storage.increment(key, window, limit, window, 'default');
  return { check, passed: ({ isBlocked }) => !isBlocked };
}

/**
 * Maximum number of keys in the original store. By default, the original drops all but 5,000 keys, including live ones. With room
 * for all keys, it does the same work as the other contenders.
 */
const ROOM = 1_000_000;

export const stores = {
  'express-rate-limit': {
    label: 'express-rate-limit, increment',
    original: 'express-rate-limit 8.7, rate-limit-redis 6.0',
    memory: {
      async before(limits) {
        const { MemoryStore } = await import('express-rate-limit');
        return hits(new MemoryStore(), limits);
      },
      async after(limits) {
        const { sluiceStore } = await import('sluice-compat/express-rate-limit');
        return hits(sluiceStore(), limits);
      },
    },
    redis: {
      async before(limits, client) {
        const { RedisStore } = await import('rate-limit-redis');
        return hits(new RedisStore({ sendCommand: (...words) => client.call(...words) }), limits);
      },
      async after(limits, client) {
        const { sluiceStore } = await import('sluice-compat/express-rate-limit');
        return hits(sluiceStore({ store: await patient(client) }), limits);
      },
    },
  },
  'fastify-rate-limit': {
    label: 'fastify-rate-limit, incr',
    original: '@fastify/rate-limit 11.2',
    memory: {
      async before(limits) {
        const { default: LocalStore } = await import('@fastify/rate-limit/store/LocalStore.js');
        return routes(new LocalStore(false, false, ROOM), limits);
      },
      async after(limits) {
        const { sluiceStore } = await import('sluice-compat/fastify-rate-limit');
        const Store = sluiceStore();
        return routes(new Store(), limits);
      },
    },
    redis: {
      async before(limits, client) {
        const { default: RedisStore } = await import('@fastify/rate-limit/store/RedisStore.js');
        return routes(new RedisStore(false, false, client), limits);
      },
      async after(limits, client) {
        const { sluiceStore } = await import('sluice-compat/fastify-rate-limit');
        const Store = sluiceStore({ store: await patient(client) });
        return routes(new Store(), limits);
      },
    },
  },
  'hono-rate-limiter': {
    label: 'hono-rate-limiter, increment',
    original: 'hono-rate-limiter 0.5',
    memory: {
      async before(limits) {
        const { MemoryStore } = await import('hono-rate-limiter');
        return hits(new MemoryStore(), limits);
      },
      async after(limits) {
        const { sluiceStore } = await import('sluice-compat/hono-rate-limiter');
        return hits(sluiceStore(), limits);
      },
    },
    redis: {
      async before(limits, client) {
        const { RedisStore } = await import('hono-rate-limiter');
        // The original expects an Upstash client, which takes lists instead of separate arguments.
        const listed = {
          scriptLoad: (script) => client.script('LOAD', script),
          evalsha: (sha, keys, args) => client.evalsha(sha, keys.length, ...keys, ...args),
        };
        return hits(new RedisStore({ client: listed }), limits);
      },
      async after(limits, client) {
        const { sluiceStore } = await import('sluice-compat/hono-rate-limiter');
        return hits(sluiceStore({ store: await patient(client) }), limits);
      },
    },
  },
  'nestjs-throttler': {
    label: 'nestjs-throttler, increment',
    original: '@nestjs/throttler 6.7 memory',
    isLog: true,
    memory: {
      async before(limits) {
        const { ThrottlerStorageService } = await import('@nestjs/throttler');
        return throttler(new ThrottlerStorageService(), limits);
      },
      async after(limits) {
        const { sluiceStore } = await import('sluice-compat/nestjs-throttler');
        return throttler(sluiceStore(), limits);
      },
    },
    redis: {
      async after(limits, client) {
        const { sluiceStore } = await import('sluice-compat/nestjs-throttler');
        return throttler(sluiceStore({ store: await patient(client) }), limits);
      },
    },
  },
};
