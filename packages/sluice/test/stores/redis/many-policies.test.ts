/** A script has 200 locals. With some dozen policies they no longer suffice, and the script is another. */
import { Redis } from 'ioredis';
import { afterAll, describe, expect, inject, test } from 'vitest';
import {
  createLimiter,
  gcra,
  type LimiterOptions,
  pacer,
  type Policy,
  slidingLog,
  slidingWindow,
} from '../../../src/index.ts';
import { redis } from '../../../src/stores/redis/index.ts';
import type { ManualClock } from '../../../src/testing/index.ts';
import { compare } from '../differential.ts';
import { CASES } from '../../support/policies.ts';

const client = new Redis(inject('redisPort'), '127.0.0.1');
afterAll(() => client.disconnect());
const onRedis = (clock: ManualClock) => redis(client, { onFailure: 'throw', clock, deadline: '30s' });

interface Many {
  readonly policy: (i: number) => Policy;
  readonly inherit?: LimiterOptions['inherit'];
  /** Around these counts something changes; the last is the most that fits. */
  readonly counts: readonly number[];
}

const MANY: Readonly<Record<string, Many>> = {
  gcra: {
    policy: (i) => gcra({ limit: 20 + i, per: 1000 + 100 * i, burst: 5 + i }),
    counts: [11, 12, 39],
  },
  'gcra, as-is': {
    policy: (i) => gcra({ limit: 20 + i, per: 1000 + 100 * i, burst: 5 + i }),
    inherit: 'as-is',
    counts: [7, 8, 15],
  },
  'sliding window, as-is': {
    policy: (i) => slidingWindow({ limit: 9 + i, per: `${900 + 100 * i}ms` }),
    inherit: 'as-is',
    counts: [7, 8, 13],
  },
  'sliding log': {
    policy: (i) => slidingLog({ limit: 5 + i, per: `${900 + 100 * i}ms` }),
    counts: [12, 13, 53],
  },
  pacer: { policy: (i) => pacer({ limit: 10, per: 1000, warmup: `${500 + i}ms` }), counts: [6, 9, 26] },
};

describe.each(Object.entries(MANY))('%s', (kind, { policy, inherit, counts }) => {
  const policies = (count: number) => Array.from({ length: count }, (_, i) => policy(i));
  const name = `many ${process.pid} ${kind}`;

  test.each(counts)('%d policies decide as in memory', async (count) => {
    await compare(policies(count), onRedis, { name, inherit }, { hits: 100, atOnce: 6 }, count);
  });

  test('one more is a mistake, told by its number', async () => {
    const most = Math.max(...counts);
    const limiter = createLimiter(policies(most + 1), {
      name,
      inherit,
      store: redis(client, { onFailure: 'throw', deadline: '30s' }),
    });
    await expect(limiter.take('a')).rejects.toMatchObject({ code: 'ERR_POLICY', value: most + 1 });
  });
});

test('one of each algorithm, side by side, decide as in memory', async () => {
  const all = Object.entries(CASES).filter(([, { policies }]) => 'algorithm' in (policies as object));
  const policies = Object.fromEntries(all.map(([name, one]) => [name, one.policies as Policy]));
  expect(all.length).toBeGreaterThan(15);
  await compare(policies, onRedis, { name: `many ${process.pid}` }, { hits: 600, atOnce: 6 }, 1);
});
