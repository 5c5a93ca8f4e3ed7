// Runs the conformance suite and the tests of other Redis clients on Bun's own client. The argument is the server's port.
import { RedisClient } from 'bun';
import { createLimiter, gcra } from 'sluice';
import { redis } from 'sluice/redis';
import { conformance } from 'sluice/testing';
import { RateLimiterRedis } from 'sluice-compat/rate-limiter-flexible';
import { judged, same } from './run.mjs';

const client = new RedisClient(`redis://127.0.0.1:${process.argv[2]}/13`);
await client.send('FLUSHDB', []);

const clientClaims = [
  {
    name: 'sends the script to a server that has not loaded it yet',
    async run() {
      await client.send('SCRIPT', ['FLUSH']);
      const limiter = createLimiter(gcra({ limit: 3, per: '1h' }), { store: redis(client), name: 'fresh' });
      const { remaining, source } = await limiter.take('a');
      same([remaining, source], [2, 'store']);
    },
  },
  {
    name: 'counts unusual keys separately',
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
    name: 'counts each of 500 checks in the same tick separately',
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
    name: 'shares one limit between two clients, and does not use the fallback',
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
    name: "reports the server's errors",
    async run() {
      await client.send('LPUSH', ['wrong:{a}', '1']);
      const limiter = createLimiter('3/h', { store: redis(client, { onFailure: 'throw' }), name: 'wrong' });
      const fault = await limiter.take('a').catch((error) => error.fault);
      same(fault, 'wrong-type');
    },
  },
  {
    name: 'rejectIfRedisNotReady of the drop-in for rate-limiter-flexible recognizes when the client is connected',
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
];

const stores = conformance((clock) => redis(client, { clock, deadline: 5000 }));
console.log(JSON.stringify(await judged([...stores, ...clientClaims])));
client.close();
