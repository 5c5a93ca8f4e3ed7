// Runs the conformance suite on Bun's built-in Redis client, and repeats the tests that Sluice runs on other Redis clients. The
// argument is the server's port.
import { connect, createServer } from 'node:net';
import { RedisClient, redis as defaultClient } from 'bun';
import { createLimiter, gcra } from 'sluice';
import { redis } from 'sluice/redis';
import { conformance } from 'sluice/testing';
import { RateLimiterRedis } from 'sluice-compat/rate-limiter-flexible';
import { judged, same } from './run.mjs';

const client = new RedisClient(`redis://127.0.0.1:${process.argv[2]}/13`);
await client.send('FLUSHDB', []);

/**
 * A proxy in front of the server. While it is mute, the server's replies are lost. `stop` closes all connections and refuses
 * new ones until `start` is called.
 */
async function proxied() {
  const sockets = new Set();
  const proxy = createServer((near) => {
    const far = connect(Number(process.argv[2]), '127.0.0.1');
    near.on('data', (chunk) => far.write(chunk));
    far.on('data', (chunk) => state.mute || near.write(chunk));
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        near.destroy();
        far.destroy();
      });
    }
  });
  let port = 0;
  const state = {
    mute: false,
    url: '',
    async start() {
      await new Promise((resolve) => proxy.listen(port, '127.0.0.1', resolve));
      port = proxy.address().port;
      state.url = `redis://127.0.0.1:${port}/13`;
    },
    cut() {
      for (const socket of sockets) socket.destroy();
    },
    stop() {
      proxy.close();
      state.cut();
    },
  };
  await state.start();
  return state;
}

/** Calls until the result satisfies the condition, for at most ten seconds. */
async function until(call, isWanted) {
  for (const end = performance.now() + 10_000; performance.now() < end; await Bun.sleep(20)) {
    const result = await call();
    if (isWanted(result)) return result;
  }
  throw new Error('the condition was not met within ten seconds');
}

const clientClaims = [
  {
    name: 'the script is sent to a server that has not loaded it yet',
    async run() {
      await client.send('SCRIPT', ['FLUSH']);
      const limiter = createLimiter(gcra({ limit: 3, per: '1h' }), { store: redis(client), name: 'fresh' });
      const { remaining, source } = await limiter.take('a');
      same([remaining, source], [2, 'store']);
    },
  },
  {
    name: 'unusual keys are counted separately',
    async run() {
      const store = redis(client, { deadline: '5s' });
      const limiter = createLimiter(gcra({ limit: 2, per: '1h' }), { store, name: 'odd' });
      const odd = ['', '__proto__', '{a}{b}', '}', '{}', 'a\r\nb', '\0', '\0a', '😀', '\ud83d', '\ufffd'];
      const keys = [...odd, 'é', 'e\u0301', 'x'.repeat(257), 'x'.repeat(1_000_000)];
      const taken = await Promise.all(keys.map((key) => limiter.take(key)));
      same(
        taken.map(({ remaining }) => remaining),
        keys.map(() => 1),
      );
    },
  },
  {
    name: 'each of 500 checks in the same tick is counted',
    async run() {
      const store = redis(client, { deadline: '5s' });
      const limiter = createLimiter(gcra({ limit: 300, per: '1h' }), { store, name: 'many' });
      const taken = await Promise.all(Array.from({ length: 500 }, () => limiter.take('a')));
      same(
        taken.filter(({ allowed }) => allowed).map(({ remaining }) => remaining),
        Array.from({ length: 300 }, (_, i) => 299 - i),
      );
    },
  },
  {
    name: 'two clients share one limit, and no fallback decides',
    async run() {
      const other = new RedisClient(`redis://127.0.0.1:${process.argv[2]}/13`);
      const limiters = [client, other].map((one) =>
        createLimiter('3/h', { store: redis(one, { onFailure: 'allow' }), name: 'shared' }),
      );
      const taken = [];
      for (let i = 0; i < 6; i++) taken.push(await limiters[i % 2].take('a'));
      other.close();
      same(
        taken.map(({ allowed, source }) => [allowed, source]),
        [true, true, true, false, false, false].map((allowed) => [allowed, 'store']),
      );
    },
  },
  {
    name: "the server's errors are reported",
    async run() {
      await client.send('LPUSH', ['wrong:{a}', '1']);
      const limiter = createLimiter('3/h', { store: redis(client, { onFailure: 'throw' }), name: 'wrong' });
      const fault = await limiter.take('a').catch((error) => error.fault);
      same(fault, 'wrong-type');
    },
  },
  {
    name: 'rejectIfRedisNotReady in the drop-in for rate-limiter-flexible recognizes whether the client is connected',
    async run() {
      const idle = new RedisClient(`redis://127.0.0.1:${process.argv[2]}/13`);
      const limiter = new RateLimiterRedis({
        storeClient: idle,
        points: 2,
        duration: 10,
        rejectIfRedisNotReady: true,
      });
      const refusal = await limiter.consume('a').catch((error) => error.fault);
      await idle.connect();
      const { remainingPoints } = await limiter.consume('a');
      idle.close();
      same([refusal, remainingPoints], ['connection', 1]);
    },
  },
  {
    name: "Bun's default client is accepted",
    async run() {
      const limiter = createLimiter('3/h', {
        store: redis(defaultClient, { onFailure: 'throw' }),
        name: 'default',
      });
      const { remaining, source } = await limiter.take('a');
      defaultClient.close();
      same([remaining, source], [2, 'store']);
    },
  },
  {
    name: 'a take whose reply was lost is not sent again',
    async run() {
      const proxy = await proxied();
      const cut = new RedisClient(proxy.url);
      const [near, truth] = [cut, client].map((one) =>
        createLimiter('10/h', { store: redis(one, { onFailure: 'throw', deadline: 200 }), name: 'lost' }),
      );
      await until(
        () => near.peek('a').catch(() => undefined),
        (found) => found !== undefined,
      );
      proxy.mute = true;
      const fault = await near.take('a').catch((error) => error.fault);
      await until(
        () => truth.peek('a'),
        ({ remaining }) => remaining === 9,
      );
      proxy.mute = false;
      proxy.cut();
      const { remaining } = await until(
        () => near.peek('a').catch(() => ({ remaining: undefined })),
        (found) => found.remaining !== undefined,
      );
      cut.close();
      proxy.stop();
      same([fault, remaining], ['deadline', 9]);
    },
  },
  {
    name: 'a client with a large maxRetries is used again when the server is back',
    async run() {
      const proxy = await proxied();
      const patient = new RedisClient(proxy.url, { maxRetries: 1e9 });
      const store = redis(patient, { onFailure: 'allow', deadline: 100 });
      const limiter = createLimiter('100/h', { store, name: 'patient' });
      const sources = [
        (
          await until(
            () => limiter.take('a'),
            ({ source }) => source === 'store',
          )
        ).source,
      ];
      proxy.stop();
      sources.push(
        (
          await until(
            () => limiter.take('a'),
            ({ source }) => source === 'fallback',
          )
        ).source,
      );
      await Bun.sleep(300);
      await proxy.start();
      sources.push(
        (
          await until(
            () => limiter.take('a'),
            ({ source }) => source === 'store',
          )
        ).source,
      );
      patient.close();
      proxy.stop();
      same(sources, ['store', 'fallback', 'store']);
    },
  },
  {
    name: 'a client that has stopped reconnecting causes a warning, and onFailure decides even after the server is back',
    async run() {
      const warnings = [];
      const listener = ({ code }) => warnings.push(code);
      process.on('warning', listener);
      const proxy = await proxied();
      const hasty = new RedisClient(proxy.url, { maxRetries: 1 });
      // Creates a new store each time, because the circuit breaker of the previous store may be open.
      const take = () =>
        createLimiter('100/h', {
          store: redis(hasty, { onFailure: 'allow', deadline: 100 }),
          name: 'hasty',
        }).take('a');
      await until(take, ({ source }) => source === 'store');
      proxy.stop();
      await until(take, () => warnings.length > 0);
      await proxy.start();
      await Bun.sleep(300);
      const { source } = await take();
      process.off('warning', listener);
      hasty.close();
      proxy.stop();
      same([warnings, source], [['SLUICE_REDIS_GAVE_UP'], 'fallback']);
    },
  },
];

const stores = conformance((clock) => redis(client, { clock, deadline: 5000 }));
console.log(JSON.stringify(await judged([...stores, ...clientClaims])));
client.close();
