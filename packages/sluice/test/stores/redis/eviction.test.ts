import type { Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createLimiter } from '../../../src/index.ts';
import { redis } from '../../../src/stores/redis/index.ts';
import { CLIENTS, type Connected, ioredis } from 'sluice-test-support/redis/clients.ts';
import { CLUSTER_CLIENTS } from './cluster.ts';
import { redisServer } from 'sluice-test-support/redis/server.ts';
import { until } from 'sluice-test-support/redis/watch.ts';

const CODE = 'SLUICE_REDIS_EVICTION';

let warnings: (Error & { code?: string })[] = [];
const listener = (warning: Error): void => {
  warnings.push(warning);
};
beforeEach(() => {
  warnings = [];
  process.on('warning', listener);
});
afterEach(() => void process.off('warning', listener));

const evictions = (): string[] => warnings.filter(({ code }) => code === CODE).map(({ message }) => message);

type Connect = (port: number, control: Redis) => Promise<Connected>;

/**
 * Runs checks on a server with these settings until the store has asked the server for its eviction policy.
 */
async function check(args: string, connect: Connect = CLIENTS['ioredis']): Promise<void> {
  const server = await redisServer({ args: args.split(' ').filter((word) => word !== '') });
  const control = ioredis(server.port);
  const connected = await connect(server.port, control);
  try {
    const limiter = createLimiter('10/h', {
      store: redis(connected.client, { deadline: '10s' }),
      name: 'api',
    });
    const decisions = [await limiter.take('a'), await limiter.take('a'), await limiter.take('a')];
    expect(decisions.map(({ remaining }) => remaining)).toEqual([9, 8, 7]);
    // The first EVAL loads the script, and the second one asks for the policy.
    await until(async () => /cmdstat_eval:calls=2/.test(await control.info('commandstats')));
    expect((await limiter.take('a')).remaining).toBe(6);
  } finally {
    await connected.close();
    control.disconnect();
    await server.stop();
  }
}

describe('the warning about a server that evicts keys', () => {
  test.each(Object.entries(CLIENTS))('appears once with %s', async (_, connect) => {
    await check('--maxmemory 100mb --maxmemory-policy allkeys-lru', connect);
    await until(() => evictions().length > 0);
    expect(evictions()).toHaveLength(1);
    expect(evictions()[0]).toContain('maxmemory-policy allkeys-lru');
  });

  test.each(Object.entries(CLUSTER_CLIENTS))('appears in a cluster with %s', async (_, connect) => {
    await check(
      '--cluster-enabled yes --maxmemory 100mb --maxmemory-policy volatile-ttl',
      async (port, control) => {
        await control.config('SET', 'cluster-announce-ip', '127.0.0.1');
        await control.cluster('ADDSLOTSRANGE', 0, 16_383);
        await until(async () => String(await control.cluster('INFO')).includes('cluster_state:ok'));
        return connect([port]);
      },
    );
    await until(() => evictions().length > 0);
    expect(evictions()[0]).toContain('maxmemory-policy volatile-ttl');
  });

  test.each([
    ['no memory limit', '--maxmemory-policy allkeys-lru'],
    ['the policy noeviction', '--maxmemory 100mb --maxmemory-policy noeviction'],
    ['default settings', ''],
  ])('does not appear with %s', async (_, args) => {
    await check(args);
    expect(evictions()).toEqual([]);
  });

  test('does not appear, and no check fails, if the user has no permission to read the configuration', async () => {
    await check('--maxmemory 100mb --maxmemory-policy allkeys-lru', async (port, control) => {
      await control.acl('SETUSER', 'limited', 'on', '>secret', '~*', '+@all', '-info', '-config');
      const client = createClient({ url: `redis://limited:secret@127.0.0.1:${port}` });
      return { client, close: () => {} };
    });
    expect(evictions()).toEqual([]);
  });
});
