/**
 * The limiters that are measured. `make` gets the burst (`limit`), the number of units replenished in a `window` of
 * milliseconds (`rate`), and the server's port. It imports only its own library. `check` is the call that a user would make, and
 * `passed` interprets its answer. All contenders but one use ioredis. `through` is the latency to inject into each round trip, in
 * milliseconds.
 */
import { delayedPort } from './delay.mjs';

async function ioredis(port, roundTrip = 0) {
  const { Redis } = await import('ioredis');
  return new Redis(roundTrip > 0 ? await delayedPort(port, roundTrip) : port, '127.0.0.1');
}

async function nodeRedis(port) {
  const { createClient } = await import('redis');
  return createClient({ socket: { host: '127.0.0.1', port } }).connect();
}

/**
 * The deadline is long, so that a stall of the machine does not count as a failure of the store. A failure ends the benchmark,
 * because a fallback would admit units that the store does not know about.
 */
const PATIENT = { deadline: 5000, onFailure: 'throw' };

/** Number of contenders created so far. Each contender gets its own name, so that no two share a count. */
let made = 0;

async function sluice(client, policies, options = {}) {
  const { createLimiter } = await import('sluice');
  const { redis } = await import('sluice/redis');
  const limiter = createLimiter(policies, {
    store: redis(client, { ...PATIENT, ...options }),
    name: `sluice ${++made}`,
  });
  return { check: (key) => limiter.take(key), passed: (decision) => decision.allowed };
}

async function gcraOf({ limit, rate, window }) {
  const { gcra } = await import('sluice');
  return gcra({ limit: rate, per: window, burst: limit });
}

/** The limiters that are compared with Sluice. */
const peers = {
  'rate-limiter-flexible': {
    label: 'rate-limiter-flexible 11.2',
    async make({ limit, window, port }) {
      const { RateLimiterRedis } = await import('rate-limiter-flexible');
      const storeClient = await ioredis(port);
      const limiter = new RateLimiterRedis({ storeClient, points: limit, duration: window / 1000 });
      // A denial is a rejection, which the loop catches.
      return { check: (key) => limiter.consume(key), passed: () => true };
    },
  },
  'rate-limit-redis': {
    label: 'rate-limit-redis 6.0',
    async make({ limit, window, port }) {
      const { RedisStore } = await import('rate-limit-redis');
      const client = await ioredis(port);
      const store = new RedisStore({ sendCommand: (...words) => client.call(...words) });
      await store.init({ windowMs: window });
      return { check: (key) => store.increment(key), passed: ({ totalHits }) => totalHits <= limit };
    },
  },
  'fastify-rate-limit': {
    label: '@fastify/rate-limit 11.2',
    async make({ limit, window, port }) {
      const { default: RedisStore } = await import('@fastify/rate-limit/store/RedisStore.js');
      const store = new RedisStore(false, false, await ioredis(port));
      const check = (key) =>
        new Promise((resolve, reject) => {
          const done = (error, result) => (error ? reject(error) : resolve(result));
          store.incr(key, done, window, limit);
        });
      return { check, passed: ({ current }) => current <= limit };
    },
  },
  upstash: {
    label: '@upstash/ratelimit 2.2 token bucket',
    async make({ limit, rate, window, port }) {
      const { Ratelimit } = await import('@upstash/ratelimit');
      const client = await ioredis(port);
      // The original uses HTTP to reach Upstash's service. Here, its script runs on the same server as the other contenders. The
      // script's first line, which only Upstash supports, is left out, so its digest differs.
      let digest;
      const evalsha = (sha, keys, args) => client.evalsha(digest ?? sha, keys.length, ...keys, ...args);
      const redis = {
        evalsha,
        async eval(script, keys, args) {
          digest = await client.script('LOAD', script.replace(/^#!.*/, ''));
          return evalsha(digest, keys, args);
        },
      };
      const bucket = Ratelimit.tokenBucket(rate, `${window} ms`, limit);
      const limiter = new Ratelimit({ redis, limiter: bucket, ephemeralCache: false });
      return { check: (key) => limiter.limit(key), passed: ({ success }) => success };
    },
  },
  rolling: {
    label: 'rolling-rate-limiter 0.4',
    async make({ limit, window, port }) {
      const { IORedisRateLimiter } = await import('rolling-rate-limiter');
      const client = await ioredis(port);
      const namespace = 'rolling:';
      const limiter = new IORedisRateLimiter({ client, namespace, interval: window, maxInInterval: limit });
      return {
        check: (key) => limiter.limit(key),
        passed: (blocked) => !blocked,
        // This limiter's checks get slower as the log grows, and 10,000 checks would take a minute, so the entries are written
        // directly.
        async record(key, count) {
          const now = Date.now() * 1000;
          const id = (i) => `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`;
          const entries = Array.from({ length: count }, (_, i) => [now - count + i, id(i)]);
          await client.zadd(namespace + key, ...entries.flat());
        },
      };
    },
  },
};

export const peerNames = Object.keys(peers);

/** The least work that a limiter can do. It uses the client's clock, stores one number, and returns one number. */
const BARE = `
local now, tat = tonumber(ARGV[1]), tonumber(redis.call('GET', KEYS[1]) or 0)
if tat < now then tat = now end
local spare = ARGV[3] - (tat + ARGV[2] - now)
if spare < 0 then return spare end
redis.call('SET', KEYS[1], tat + ARGV[2], 'PX', math.ceil(tat + ARGV[2] - now))
return spare`;

export const contenders = {
  sluice: {
    label: 'sluice, ioredis',
    make: async (limits) => sluice(await ioredis(limits.port, limits.through), await gcraOf(limits)),
  },
  'sluice-node': {
    label: 'sluice, node-redis',
    make: async (limits) => sluice(await nodeRedis(limits.port), await gcraOf(limits)),
  },
  'sluice-three': {
    label: 'sluice, gcra + gcra + fixedWindow',
    async make(limits) {
      const { fixedWindow } = await import('sluice');
      const { limit, rate, window, port } = limits;
      return sluice(await ioredis(port), {
        short: await gcraOf(limits),
        long: await gcraOf({ limit: limit * 2, rate: rate * 2, window: window * 4 }),
        day: fixedWindow({ limit: limit * 2, per: window }),
      });
    },
  },
  'sluice-fixed': {
    label: 'sluice, fixedWindow',
    async make({ limit, window, port }) {
      const { fixedWindow } = await import('sluice');
      return sluice(await ioredis(port), fixedWindow({ limit, per: window }));
    },
  },
  'sluice-sliding': {
    label: 'sluice, slidingWindow',
    async make({ limit, window, port }) {
      const { slidingWindow } = await import('sluice');
      return sluice(await ioredis(port), slidingWindow({ limit, per: window }));
    },
  },
  'sluice-leaky': {
    label: 'sluice, leakyBucket',
    async make({ limit, rate, window, port }) {
      const { leakyBucket } = await import('sluice');
      return sluice(await ioredis(port), leakyBucket({ size: limit, dripRate: window / rate }));
    },
  },
  'sluice-log': {
    label: 'sluice, slidingLog',
    async make({ limit, window, port }) {
      const { slidingLog } = await import('sluice');
      return sluice(await ioredis(port), slidingLog({ limit, per: window }));
    },
  },
  'sluice-deny': {
    label: 'sluice, denyCache',
    make: async (limits) =>
      sluice(await ioredis(limits.port, limits.through), await gcraOf(limits), { denyCache: true }),
  },
  ...peers,
  bare: {
    label: 'a bare EVALSHA, handwritten GCRA',
    async make({ limit, rate, window, port }) {
      const client = await ioredis(port);
      const sha = await client.script('LOAD', BARE);
      const [interval, burst] = [String(window / rate), String((limit * window) / rate)];
      const check = (key) => client.evalsha(sha, 1, key, String(Date.now()), interval, burst);
      return { check, passed: (spare) => spare >= 0 };
    },
  },
  ping: {
    label: 'PING',
    async make({ port }) {
      const client = await ioredis(port);
      return { limitless: true, check: () => client.ping(), passed: () => true };
    },
  },
};
