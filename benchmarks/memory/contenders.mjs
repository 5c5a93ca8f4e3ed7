/**
 * The limiters that are measured. `make` gets the burst (`limit`), the number of units replenished in a `window` of milliseconds
 * (`rate`), and the number of keys. It imports only its own library. `check` is the call that a user would make, and `passed`
 * interprets its answer. If `awaited` is true, the answer is a promise.
 */

/** @typedef {{ limit: number, rate: number, window: number, keys: number }} Limits */

/** The limiters that are compared with Sluice in every column. */
const peers = {
  'rate-limiter-flexible': {
    label: 'rate-limiter-flexible 11.2',
    async make({ limit, window }) {
      const { RateLimiterMemory } = await import('rate-limiter-flexible');
      const limiter = new RateLimiterMemory({ points: limit, duration: window / 1000 });
      // A denial is a rejection, which the loop catches.
      return { awaited: true, check: (key) => limiter.consume(key), passed: () => true };
    },
  },
  'express-rate-limit': {
    label: 'express-rate-limit 8.7 memory',
    async make({ limit, window }) {
      const { MemoryStore } = await import('express-rate-limit');
      const store = new MemoryStore();
      store.init({ windowMs: window });
      return {
        awaited: true,
        check: (key) => store.increment(key),
        passed: (info) => info.totalHits <= limit,
      };
    },
  },
  'fastify-rate-limit': {
    label: '@fastify/rate-limit 11.2 local',
    async make({ limit, window, keys }) {
      const { default: LocalStore } = await import('@fastify/rate-limit/store/LocalStore.js');
      // By default, the store drops all but 5,000 keys, including live ones. With room for all keys, it does the same work as the
      // other contenders.
      const store = new LocalStore(false, false, keys);
      let answer;
      const keep = (_error, result) => {
        answer = result;
      };
      const check = (key) => {
        store.incr(key, keep, window, limit);
        return answer;
      };
      return { check, passed: (result) => result.current <= limit };
    },
  },
  limiter: {
    label: 'limiter 4.1 TokenBucket in a Map',
    async make({ limit, rate, window }) {
      const { TokenBucket } = await import('limiter');
      const buckets = new Map();
      const check = (key) => {
        let bucket = buckets.get(key);
        if (bucket === undefined) {
          bucket = new TokenBucket({ bucketSize: limit, tokensPerInterval: rate, interval: window });
          bucket.content = limit;
          buckets.set(key, bucket);
        }
        return bucket.tryRemoveTokens(1);
      };
      return { check, passed: (removed) => removed };
    },
  },
  'nestjs-throttler': {
    label: '@nestjs/throttler 6.7',
    async make({ limit, window }) {
      const { ThrottlerStorageService } = await import('@nestjs/throttler');
      const storage = new ThrottlerStorageService();
      // The storage sweeps once a minute by default. Here it sweeps once per window, so that keys expire during the measurement.
      storage.sweepIntervalMs = Math.min(storage.sweepIntervalMs, window);
      // The call passes the window as the duration of the block, as the guard of @nestjs/throttler does by default.
      const check = (key) => storage.increment(key, window, limit, window, 'default');
      return { awaited: true, check, passed: (record) => !record.isBlocked };
    },
  },
  map: {
    label: 'a bare Map of numbers, handwritten GCRA',
    make({ limit, rate, window }) {
      const arrivals = new Map();
      const interval = window / rate;
      const burst = limit * interval;
      const check = (key) => {
        const now = Date.now();
        const next = Math.max(arrivals.get(key) ?? 0, now) + interval;
        const spare = burst - (next - now);
        if (spare < 0) return { allowed: false, remaining: 0, retryAfter: -spare };
        arrivals.set(key, next);
        return { allowed: true, remaining: Math.floor(spare / interval), retryAfter: 0 };
      };
      return { check, passed: (answer) => answer.allowed };
    },
  },
};

/** The names of all peers, and the names of those peers that are libraries. */
export const peerNames = Object.keys(peers);
export const libraryNames = peerNames.filter((name) => name !== 'map');

/**
 * One policy of each algorithm that keeps a row of fixed size. The policies are used to compare a limiter that is alone in its
 * process with a limiter that runs beside limiters of the other algorithms.
 */
export const policies = {
  gcra: (s, { limit, rate, window }) => s.gcra({ limit: rate, per: window, burst: limit }),
  fixedWindow: (s, { limit, window }) => s.fixedWindow({ limit, per: window }),
  slidingWindow: (s, { limit, window }) => s.slidingWindow({ limit, per: window }),
  leakyBucket: (s, { limit, rate, window }) => s.leakyBucket({ size: limit, dripRate: window / rate }),
  pacer: (s) => s.pacer({ limit: 1e9, per: 1000 }),
};

/** Number of checks of each limiter before the measurement, so that the shared code has seen all algorithms. */
const BESIDE = 50_000;

/** A limiter of one algorithm. If `beside` is true, limiters of all algorithms are used first in the same process. */
export async function ownLimiter(algorithm, limits, beside) {
  const s = await import('sluice');
  if (beside) {
    const others = Object.values(policies).map((policy) => s.createLimiter(policy(s, limits)));
    for (let i = 0; i < BESIDE; i++) for (const other of others) other.take(`key ${i & 1023}`);
  }
  const limiter = s.createLimiter(policies[algorithm](s, limits));
  return { check: (key) => limiter.take(key), passed: (decision) => decision.allowed };
}

/** Calls of Sluice other than `take(key)`. Each of them takes a limiter with two policies and a tier, and a key. */
export const calls = {
  'take(key)': (limiter, key) => limiter.take(key),
  'take(key, 3)': (limiter, key) => limiter.take(key, 3),
  "take(key, { tier: 'pro' })": (limiter, key) => limiter.take(key, { tier: 'pro' }),
  'take(key, { cost: { requests: 1, units: 3 } })': (limiter, key) =>
    limiter.take(key, { cost: { requests: 1, units: 3 } }),
  'peek(key)': (limiter, key) => limiter.peek(key),
  'take(key), then refund(key, { of })': (limiter, key) => limiter.refund(key, { of: limiter.take(key) }),
  'reserve(key)': (limiter, key) => limiter.reserve(key).decision,
  'takeMany of two keys': (limiter, key) => limiter.takeMany([{ key }, { key: 'shared' }]),
  'await acquire(key)': (limiter, key) => limiter.acquire(key),
  'await run(key, call)': (limiter, key) => limiter.run(key, () => ALLOWED),
};
const ALLOWED = { allowed: true };

/** A limiter whose checks are the named call. */
export async function callOf(name, { limit, rate, window }) {
  const { createLimiter, gcra } = await import('sluice');
  const policy = gcra({ limit: rate, per: window, burst: limit });
  const both = { requests: policy, units: policy };
  const limiter = createLimiter(both, { name: 'calls', tiers: { pro: both } });
  const check = (key) => calls[name](limiter, key);
  return { awaited: name.startsWith('await '), check, passed: (decision) => decision.allowed };
}

export const contenders = {
  sluice: {
    label: 'sluice, gcra',
    async make({ limit, rate, window }) {
      const { createLimiter, gcra } = await import('sluice');
      const limiter = createLimiter(gcra({ limit: rate, per: window, burst: limit }));
      return { check: (key) => limiter.take(key), passed: (decision) => decision.allowed };
    },
  },
  'sluice-three': {
    label: 'sluice, gcra + gcra + fixedWindow',
    async make({ limit, rate, window }) {
      const { createLimiter, gcra, fixedWindow } = await import('sluice');
      const limiter = createLimiter({
        short: gcra({ limit: rate, per: window, burst: limit }),
        long: gcra({ limit: rate * 2, per: window * 4, burst: limit * 2 }),
        day: fixedWindow({ limit: limit * 2, per: window }),
      });
      return { check: (key) => limiter.take(key), passed: (decision) => decision.allowed };
    },
  },
  ...peers,
  date: {
    label: 'nothing but Date.now()',
    make: () => ({ isClock: true, check: () => Date.now(), passed: () => true }),
  },
  performance: {
    label: 'nothing but performance.now()',
    make: () => ({ isClock: true, check: () => performance.now(), passed: () => true }),
  },
};
