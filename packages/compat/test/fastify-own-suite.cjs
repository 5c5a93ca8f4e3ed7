// This file is loaded before the plugin's own tests. It makes the plugin keep its counts in a Sluice store, unless a test passes
// its own store class. It uses the built packages. The tests fake Date, so the clock of the memory store reads Date. REDIS_PORT is
// the port of the Redis server that the tests use.
const Module = require('node:module');
const path = require('node:path');
const { Redis } = require('ioredis');
const plugin = require('@fastify/rate-limit');
const { sluiceStore } = require('sluice-compat/fastify-rate-limit');
const { redis: redisStore } = require('sluice/redis');

async function overSluice(fastify, { redis, nameSpace, ...settings }) {
  const store =
    redis === undefined
      ? sluiceStore({ clock: { now: () => Date.now() } })
      : sluiceStore({ store: redisStore(redis, { deadline: '30s', onFailure: 'throw' }), prefix: nameSpace });
  return plugin(fastify, { store, ...settings });
}
Object.assign(overSluice, plugin);

function LocalRedis(options) {
  return new Redis({ ...options, port: Number(process.env.REDIS_PORT) });
}

const theirTests = path.join('@fastify', 'rate-limit', 'test');
const load = Module._load;
Module._load = (request, parent, isMain) => {
  if (!parent?.filename?.includes(theirTests)) return load(request, parent, isMain);
  if (/^(\.\.\/)+index$/.test(request)) return overSluice;
  return request === 'ioredis' ? LocalRedis : load(request, parent, isMain);
};
