/** A flood on a key whose burst is used up, with latency injected between the denial cache and a real server. */
import { setImmediate as immediate } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLimiter, type Decision, gcra } from '../../../src/index.ts';
import { redis } from '../../../src/stores/redis/index.ts';
import { denyCache } from '../../../src/wrappers/deny-cache.ts';
import { ioredis } from 'sluice-test-support/redis/clients.ts';
import { redisServer, type Server } from 'sluice-test-support/redis/server.ts';
import { unpunctuality } from 'sluice-test-support/redis/watch.ts';
import { type Middleman, proxyTo } from './proxy.ts';

let server: Server;
let proxy: Middleman;

beforeAll(async () => {
  server = await redisServer();
  proxy = await proxyTo(server.port);
});
afterAll(async () => {
  await proxy.stop();
  await server.stop();
});

const CALLERS = 256;
/** Units per millisecond. A round trip of 2 ms or more takes longer than one unit needs to be replenished. */
const RATE = 1;
const BURST = 2000;
const DURATION = 1000;

test.each([0, 2, 5])(
  'with %d ms of injected latency, exactly the rate is admitted, and no caller waits longer than three round trips',
  async (latency) => {
    proxy.latency = latency;
    const client = ioredis(proxy.port);
    const direct = redis(client, { onFailure: 'throw', deadline: '10s' });
    let slowestCall = 0;
    const timed: typeof direct = {
      ...direct,
      async apply(hit) {
        const sent = performance.now();
        const decision = await direct.apply(hit);
        slowestCall = Math.max(slowestCall, performance.now() - sent);
        return decision;
      },
    };
    const policy = gcra({ limit: BURST, per: BURST / RATE });
    const options = { name: `flood ${latency}` };
    const uncached = createLimiter(policy, { store: direct, ...options });
    const limiter = createLimiter(policy, { store: denyCache(timed), ...options });
    // Units are replenished from the moment at which the server charges the burst.
    const earliest = performance.now();
    await uncached.take('a', BURST);

    const late = unpunctuality();
    const start = performance.now();
    const isOver = (): boolean => performance.now() - start > DURATION;
    let [passed, slowest] = [0, 0];
    let atTheEnd: Promise<Decision> | undefined;
    await Promise.all(
      Array.from({ length: CALLERS }, async () => {
        while (!isOver()) {
          const asked = performance.now();
          const { allowed } = await limiter.take('a');
          if (allowed) passed++;
          slowest = Math.max(slowest, performance.now() - asked);
          await immediate();
        }
        atTheEnd ??= uncached.peek('a');
      }),
    );
    const elapsed = performance.now() - earliest;
    const pause = late.stop();
    const left = (await atTheEnd)?.remaining ?? Infinity;
    client.disconnect();

    expect(passed).toBeLessThanOrEqual(elapsed * RATE + 1);
    // Units are left only if they were replenished while a call of the cache was on its way.
    expect(left).toBeLessThanOrEqual((2 * slowestCall + pause) * RATE + 1);
    expect(slowest).toBeLessThanOrEqual(3 * slowestCall + pause);
  },
  30_000,
);
