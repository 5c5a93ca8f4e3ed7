// @ts-check
/**
 * A separate process that sends many checks to Redis or Postgres. Tests start it with `hammer.ts` and control
 * it by messages. It imports the built package, because Node 20 cannot run TypeScript.
 *
 * argv: port, client (a Kind of hammer.ts), clock offset of this process in milliseconds.
 * hammer.ts defines the types of the message (Blow) and of the answer (Damage).
 */
const [port, kind, skew] = process.argv.slice(2).map((arg, i) => (i === 1 ? arg : Number(arg)));

if (skew !== 0) {
  const real = Date.now.bind(Date);
  Date.now = () => real() + Number(skew);
  const origin = performance.timeOrigin + Number(skew);
  Object.defineProperty(performance, 'timeOrigin', { get: () => origin });
}

const { createLimiter, fixedWindow, gcra, slidingLog, slidingWindow } = await import(
  '../../../dist/index.js'
);
const { postgres } = await import('../../../dist/stores/postgres/index.js');
const { redis } = await import('../../../dist/stores/redis/index.js');

/** Selected by name, because a policy is a function and cannot be sent in a message. */
const POLICIES = {
  gcra: (limit) => gcra({ limit, per: '1d' }),
  slidingLog: (limit) => slidingLog({ limit, per: '1d' }),
  fixedWindow: (limit) => fixedWindow({ limit, per: '1d', align: 'first' }),
  slidingWindow: (limit) => slidingWindow({ limit, per: '365d' }),
  'two policies': (limit) => ({
    burst: gcra({ limit: 2 * limit, per: '1d' }),
    day: fixedWindow({ limit, per: '1d', align: 'first' }),
  }),
};

async function connect() {
  const patient = { deadline: '20s', onFailure: 'throw' };
  const url = `postgres://postgres:password@127.0.0.1:${port}/postgres`;
  if (kind === 'pg') {
    const { Pool } = await import('pg');
    return postgres(new Pool({ connectionString: url }), patient);
  }
  if (kind === 'postgres') {
    const { default: sql } = await import('postgres');
    return postgres(sql(url), patient);
  }
  if (kind === 'node-redis') {
    const { createClient } = await import('redis');
    const client = createClient({ socket: { port: Number(port) } });
    return redis(await client.connect(), patient);
  }
  const { Redis } = await import(String(kind));
  return redis(new Redis({ port }), patient);
}

const store = await connect();
const limiters = new Map();

async function strike({ policies, limit, name, inherit, key, keys, lanes, checks }) {
  const id = `${name} ${policies} ${limit} ${inherit}`;
  const limiter = limiters.get(id) ?? createLimiter(POLICIES[policies](limit), { store, name, inherit });
  limiters.set(id, limiter);
  let admitted = 0;
  let retryAfter = 0;
  let left = checks;
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      while (left-- > 0) {
        const decision = await limiter.take(keys === undefined ? key : `${key} ${left % keys}`);
        if (decision.allowed) admitted++;
        else retryAfter = decision.retryAfter;
      }
    }),
  );
  return { admitted, retryAfter };
}

process.on('message', (blow) => void strike(blow).then((damage) => process.send?.(damage)));
process.send?.('ready');
