// Required before the plugin's own tests: the plugin they load counts in a store of Sluice, unless they bring a class.
// It runs what was built. Their tests set Date, so that is the clock in memory; REDIS_PORT is where their Redis is.
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
