/** Compares memory with Redis and Valkey. */
import { Redis } from 'ioredis';
import { afterAll, inject } from 'vitest';
import { redis } from '../../src/stores/redis/index.ts';
import { differential } from './differential.ts';

/** Valkey in WebAssembly answers every 100 ms, so it gets fewer hits, more of them together, and all cases run concurrently. */
const SERVERS = [
  { server: 'Redis', port: 'redisPort', hits: 100_000, atOnce: 6 },
  { server: 'Valkey', port: 'valkeyPort', hits: 10_000, atOnce: 60 },
] as const;

for (const { server, port, ...amount } of SERVERS) {
  const client = new Redis(inject(port), '127.0.0.1');
  afterAll(() => client.disconnect());
  differential(
    `the Redis store on ${server}, compared with memory,`,
    (clock) => redis(client, { onFailure: 'throw', clock, deadline: '30s' }),
    amount,
  );
}
