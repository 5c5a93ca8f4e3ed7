import { describe, expect, test } from 'vitest';
import { createLimiter, type Decision, gcra, type Limiter, StoreUnavailable } from '../../../src/index.ts';
import { redis } from '../../../src/stores/redis/index.ts';
import { ioredis } from 'sluice-test-support/redis/clients.ts';
import { proxyTo } from './proxy.ts';
import { ROWS } from './rows.ts';
import { redisServer } from 'sluice-test-support/redis/server.ts';
import { outcome, rejections, until } from 'sluice-test-support/redis/watch.ts';

const DEADLINE = 50;

describe.concurrent.each(Object.entries(ROWS))(
  'when replies are lost after the write, with %s,',
  (name, connect) => {
    /**
     * Sends calls whose replies are lost, cuts the connection when `left` of 100 units are left, waits for the
     * client to reconnect, and returns how many units are left after it has reconnected.
     */
    async function lose(
      before: number,
      left: number,
      hits: (limiter: Limiter<Promise<Decision>>) => Promise<unknown>[],
    ) {
      const server = await redisServer({
        args: name.endsWith('cluster') ? ['--cluster-enabled', 'yes'] : [],
      });
      const proxy = await proxyTo(server.port);
      const connected = await connect(proxy.port, server);
      const plain = ioredis(server.port);
      const unhandled = rejections();
      try {
        const policy = gcra({ limit: 100, per: '365d' });
        const limiter = createLimiter(policy, {
          store: redis(connected.client, { onFailure: 'throw', deadline: DEADLINE }),
          name,
        });
        const truth = createLimiter(policy, {
          store: redis(plain, { onFailure: 'throw', deadline: '5s' }),
          name,
        });
        await truth.take('a', before);
        await until(async () => (await outcome(() => limiter.peek('a'))).value?.source === 'store');
        proxy.mute = true;
        const results = await Promise.all(hits(limiter).map((hit) => outcome(() => hit)));
        expect(results.every(({ error }) => error instanceof StoreUnavailable)).toBe(true);
        // On a busy machine the calls may be in flight for longer than their deadline.
        await until(async () => (await truth.peek('a')).remaining === left);
        proxy.mute = false;
        proxy.cut();
        await until(async () => (await outcome(() => limiter.peek('a'))).value?.source === 'store');
        return (await truth.peek('a')).remaining;
      } finally {
        await connected.close();
        plain.disconnect();
        await proxy.stop();
        await server.stop();
        await unhandled.stop();
        expect(unhandled.seen).toEqual([]);
      }
    }

    test('no take is resent, so none is counted twice', async () => {
      expect(await lose(1, 89, (limiter) => Array.from({ length: 10 }, () => limiter.take('a')))).toBe(89);
    });

    test('no refund is resent, so no units are created', async () => {
      expect(await lose(100, 3, (limiter) => [limiter.refund('a', 3)])).toBe(3);
    });
  },
);
