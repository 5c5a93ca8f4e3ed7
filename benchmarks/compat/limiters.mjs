/**
 * Limiters that users call directly: the original (`before`) and the drop-in (`after`). Each factory function receives the
 * `limit`, the `window` in milliseconds and, on Redis, an ioredis client. `check` is the call that a user would make, and
 * `passed` interprets its answer. If there is no `before`, the original does not run here, and `recorded` holds what is known
 * about it.
 */
import { called, patient, perKey } from './shared.mjs';

const classdojo = (call) => {
  const passed = call === 'limit' ? (blocked) => !blocked : ({ blocked }) => !blocked;
  const inMemory =
    ({ InMemoryRateLimiter }) =>
    ({ limit, window }) => {
      const limiter = new InMemoryRateLimiter({ interval: window, maxInInterval: limit });
      return { check: (key) => limiter[call](key), passed };
    };
  return {
    label: `rolling-window, classdojo ${call}`,
    original: 'rolling-rate-limiter 0.4',
    isLog: true,
    memory: {
      before: async (limits) => inMemory(await import('rolling-rate-limiter'))(limits),
      after: async (limits) => inMemory(await import('sluice-compat/rolling-window'))(limits),
    },
    redis: {
      async before({ limit, window }, client) {
        const { IORedisRateLimiter } = await import('rolling-rate-limiter');
        const namespace = 'rolling:';
        const limiter = new IORedisRateLimiter({ client, namespace, interval: window, maxInInterval: limit });
        // The original's checks get slower as the log grows, and 10,000 checks would take a minute, so the entries are written
        // directly.
        async function record(key, count) {
          const now = Date.now() * 1000;
          const id = (i) => `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`;
          const entries = Array.from({ length: count }, (_, i) => [now - count + i, id(i)]);
          await client.zadd(namespace + key, ...entries.flat());
        }
        return { check: (key) => limiter[call](key), passed, record };
      },
      async after({ limit, window }, client) {
        const { RedisRateLimiter } = await import('sluice-compat/rolling-window');
        const store = await patient(client);
        const namespace = 'rolling:';
        const limiter = new RedisRateLimiter({ store, namespace, interval: window, maxInInterval: limit });
        return { check: (key) => limiter[call](key), passed };
      },
    },
  };
};

const carlson = (subjects) => {
  const idsOf = (key) => (subjects === 1 ? key : [key, `${key}'`]);
  const rules = ({ limit, window }) => {
    const interval = window / 1000;
    return [{ interval, limit, precision: interval / 10 }];
  };
  const passed = (limited) => !limited;
  return {
    label: `multi-precision, ${subjects === 1 ? 'one identifier' : 'two identifiers'}`,
    original: 'ratelimit.js 1.8',
    subjects,
    memory: {
      async after(limits) {
        const { createMultiPrecision } = await import('sluice-compat/multi-precision');
        const limiter = createMultiPrecision(rules(limits));
        return { check: (key) => limiter.incr(idsOf(key)), passed };
      },
    },
    redis: {
      async before(limits, client) {
        const { default: library } = await import('ratelimit.js');
        const limiter = new library.RateLimit(client, rules(limits));
        return { check: (key) => called((callback) => limiter.incr(idsOf(key), callback)), passed };
      },
      async after(limits, client) {
        const { RateLimit } = await import('sluice-compat/multi-precision');
        const limiter = new RateLimit(undefined, rules(limits), { store: await patient(client) });
        return { check: (key) => limiter.incr(idsOf(key)), passed };
      },
    },
  };
};

/** Entry for a drop-in whose original does not run here. Makes the same call in memory and, with a `store`, on Redis. */
const onlyAfter = (make) => ({
  memory: { after: (limits) => make(limits) },
  redis: { after: async (limits, client) => make(limits, await patient(client)) },
});

export const limiters = {
  'rate-limiter-flexible': {
    label: 'rate-limiter-flexible, consume',
    original: 'rate-limiter-flexible 11.2',
    memory: {
      async before({ limit, window }) {
        const { RateLimiterMemory } = await import('rate-limiter-flexible');
        const limiter = new RateLimiterMemory({ points: limit, duration: window / 1000 });
        return { check: (key) => limiter.consume(key), passed: () => true };
      },
      async after({ limit, window }) {
        const { RateLimiterMemory } = await import('sluice-compat/rate-limiter-flexible');
        const limiter = new RateLimiterMemory({ points: limit, duration: window / 1000 });
        return { check: (key) => limiter.consume(key), passed: () => true };
      },
    },
    redis: {
      async before({ limit, window }, storeClient) {
        const { RateLimiterRedis } = await import('rate-limiter-flexible');
        const limiter = new RateLimiterRedis({ storeClient, points: limit, duration: window / 1000 });
        return { check: (key) => limiter.consume(key), passed: () => true };
      },
      async after({ limit, window }, client) {
        const { RateLimiterRedis } = await import('sluice-compat/rate-limiter-flexible');
        const store = await patient(client);
        const limiter = new RateLimiterRedis({ store, points: limit, duration: window / 1000 });
        return { check: (key) => limiter.consume(key), passed: () => true };
      },
    },
  },
  'classdojo-limit': classdojo('limit'),
  'classdojo-info': classdojo('limitWithInfo'),
  risingstack: {
    label: 'rolling-window, RisingStack',
    original: 'rate-limiter 1.0.4',
    isLog: true,
    recorded: { log: { server: '35,000', bytes: '1.29 MB' } },
    ...onlyAfter(async ({ limit, window }, store) => {
      const { rateLimiterFactory } = await import('sluice-compat/rolling-window');
      const limiter = rateLimiterFactory({ store, interval: window, maxInInterval: limit, buckets: limit });
      return { check: (key) => limiter(key), passed: ({ acknowledged }) => acknowledged === 1 };
    }),
  },
  'carlson-one': carlson(1),
  'carlson-two': carlson(2),
  sharkey: {
    label: 'sharkey, limit',
    original: 'SkRateLimiterService',
    recorded: { redis: { trips: '2–3' } },
    ...onlyAfter(async ({ limit, window }, store) => {
      const { createSkRateLimiterService } = await import('sluice-compat/sharkey');
      const service = createSkRateLimiterService({ store });
      const bucket = { type: 'bucket', key: 'notes/create', size: limit, dripRate: window / limit };
      return { check: (key) => service.limit(bucket, key), passed: ({ blocked }) => !blocked };
    }),
  },
  'redis-cell': {
    label: 'redis-cell, CL.THROTTLE',
    original: 'redis-cell 0.5 (a module)',
    recorded: { redis: { trips: '1' } },
    ...onlyAfter(async ({ limit, window }, store) => {
      const { createClThrottle } = await import('sluice-compat/redis-cell');
      const throttle = createClThrottle({ store });
      const check = (key) => throttle(key, limit - 1, limit, window / 1000);
      return { check, passed: ([limited]) => limited === 0 };
    }),
  },
  throttled: {
    label: 'throttled, rateLimit',
    original: 'throttled 2.13 (Go)',
    // Each check is a read and a compare-and-swap, which are repeated if another writer came first.
    recorded: { redis: { trips: '2 or more' } },
    ...onlyAfter(async ({ limit, window }, store) => {
      const { createGcraRateLimiter, perDuration } = await import('sluice-compat/throttled');
      const quota = { maxRate: perDuration(limit, window), maxBurst: limit - 1 };
      const limiter = createGcraRateLimiter({ quota, store });
      return { check: (key) => limiter.rateLimit(key), passed: ({ limited }) => !limited };
    }),
  },
  guava: {
    label: 'guava, reserve (one limiter per key)',
    original: 'Guava (Java)',
    ...onlyAfter(async (_, store) => {
      const { RateLimiter } = await import('sluice-compat/guava');
      const limiterOf = perKey((key) =>
        store === undefined ? RateLimiter.create(1000) : RateLimiter.distributed(1000, { store, key }),
      );
      return { check: (key) => limiterOf(key).reserve(), passed: (wait) => wait < Infinity };
    }),
  },
};
