/** Memory and Redis. */
import { Redis } from 'ioredis';
import { afterAll, inject } from 'vitest';
import { redis } from '../../src/stores/redis/index.ts';
import { differential } from './differential.ts';

/** Valkey in wasm answers once in a tenth of a second: fewer hits, more at once, and all cases side by side. */
const SERVERS = [
  { port: 'redisPort', hits: 100_000, atOnce: 6 },
  { port: 'valkeyPort', hits: 10_000, atOnce: 60 },
] as const;

for (const { port, ...amount } of SERVERS) {
  const client = new Redis(inject(port), '127.0.0.1');
  afterAll(() => client.disconnect());
  differential(
    `memory against ${port}`,
    (clock) => redis(client, { onFailure: 'throw', clock, deadline: '30s' }),
    amount,
  );
}
