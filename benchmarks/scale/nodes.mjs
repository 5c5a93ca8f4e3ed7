/**
 * The contenders, each of which defines how a node decides. `make` gets the address of the store and the number of nodes. Each node
 * has its own client, store and limiter, and imports only what it needs. `asked` returns the number of hits sent to the store.
 */

/**
 * The deadline is long, so that a stall of the machine does not count as a failure of the store. A failure ends the benchmark,
 * because a fallback would admit units that the store does not know about.
 */
const PATIENT = { deadline: 10_000, onFailure: 'throw' };

async function onRedis(port, options) {
  const { Redis } = await import('ioredis');
  const { redis } = await import('sluice/redis');
  const client = new Redis(port, '127.0.0.1');
  await client.ping();
  return { store: redis(client, { ...PATIENT, ...options }), end: () => client.disconnect() };
}

const SYNC_EVERY = 100;

export const contenders = {
  direct: { label: 'direct', make: ({ address }) => onRedis(address) },
  'deny-cache': { label: 'denyCache', make: ({ address }) => onRedis(address, { denyCache: true }) },
  leased: {
    label: 'leased',
    make: ({ address }) => onRedis(address),
    async wrap(store, nodes) {
      const { leased } = await import('sluice');
      return leased(store, { nodes });
    },
  },
  synced: {
    label: `synced, ${SYNC_EVERY} ms`,
    make: ({ address }) => onRedis(address),
    async wrap(store) {
      const { synced } = await import('sluice');
      return synced(store, { every: SYNC_EVERY });
    },
  },
  ipc: {
    label: 'ipc',
    async make({ address }) {
      const { ipc } = await import('sluice/ipc');
      return { store: ipc({ path: address, ...PATIENT }), end() {} };
    },
  },
  postgres: {
    label: 'postgres',
    async make({ address }) {
      const { default: pg } = await import('pg');
      const { postgres } = await import('sluice/postgres');
      const pool = new pg.Pool({ connectionString: address, max: 8 });
      return { store: postgres(pool, PATIENT), end: () => pool.end() };
    },
  },
  // rate-limiter-flexible on the same server. A fixed window is its only algorithm, and its limits are never reached.
  flexible: {
    label: 'rate-limiter-flexible',
    async node({ address, name }) {
      const { default: pg } = await import('pg');
      const { RateLimiterPostgres } = await import('rate-limiter-flexible');
      const storeClient = new pg.Pool({ connectionString: address, max: 8 });
      const limiter = await new Promise((resolve, reject) => {
        const options = {
          storeClient,
          tableName: 'flexible',
          keyPrefix: name,
          points: 1e9,
          duration: 86_400,
        };
        const made = new RateLimiterPostgres({ ...options, clearExpiredByTimeout: false }, (error) =>
          error === undefined || error === null ? resolve(made) : reject(error),
        );
      });
      let asked = 0;
      return {
        async take(key) {
          asked++;
          await limiter.consume(key);
          return { allowed: true, source: 'store' };
        },
        asked: () => asked,
        close: () => storeClient.end(),
      };
    },
  },
};

/** @returns a node: `take(key)`, `asked()`, `close()` */
export async function nodeOf(contender, limits, name, { address, nodes }) {
  if (contenders[contender].node !== undefined) return contenders[contender].node({ address, name });
  const { createLimiter, gcra } = await import('sluice');
  const { make, wrap = (store) => store } = contenders[contender];
  const { store, end } = await make({ address });
  let asked = 0;
  const counted = {
    clock: store.clock,
    apply(hit) {
      asked++;
      return store.apply(hit);
    },
    close: () => store.close(),
  };
  const outer = await wrap(counted, nodes);
  const limiter = createLimiter(gcra(limits), { store: outer, name });
  return {
    take: (key) => limiter.take(key),
    asked: () => asked,
    async close() {
      await outer.close();
      await end();
    },
  };
}
