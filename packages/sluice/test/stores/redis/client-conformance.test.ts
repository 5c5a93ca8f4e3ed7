/**
 * Runs the conformance tests of every store through each client. It must make no difference whether a client uses strings or
 * bytes, promises or callbacks.
 */
import { afterAll, beforeAll, describe, test } from 'vitest';
import type { Decision, Store } from '../../../src/index.ts';
import { redis } from '../../../src/stores/redis/index.ts';
import { conformance } from '../../../src/testing/index.ts';
import { CLIENTS, type Connected, ioredis } from 'sluice-test-support/redis/clients.ts';
import { redisServer, type Server } from 'sluice-test-support/redis/server.ts';

describe.each(Object.entries(CLIENTS))('the Redis store, through %s,', (_, connect) => {
  let server: Server;
  let connected: Connected;
  let control: ReturnType<typeof ioredis>;
  beforeAll(async () => {
    server = await redisServer();
    connected = await connect(server.port);
    control = ioredis(server.port);
  });
  afterAll(async () => {
    await connected.close();
    control.disconnect();
    await server.stop();
  });

  const make = (clock: { now(): number }): Store<Promise<Decision>> =>
    redis(connected.client, { onFailure: 'throw', clock, deadline: '30s' });
  for (const { name, run } of conformance(make))
    test(name, async () => {
      await control.flushdb();
      await run();
    });
});
