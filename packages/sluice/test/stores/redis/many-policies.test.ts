/**
 * Lua allows 200 local variables per function. Plans that would need more do not use the lean path (the script's code for the most
 * frequent hits), but must make the same decisions.
 */
import { Redis } from 'ioredis';
import { afterAll, describe, expect, inject, test } from 'vitest';
import {
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
  /** Policy counts to test. Some of them are close to the number above which the lean path is not used. */
  readonly counts: readonly number[];
}

const MANY: Readonly<Record<string, Many>> = {
  gcra: {
    policy: (i) => gcra({ limit: 20 + i, per: 1000 + 100 * i, burst: 5 + i }),
    counts: [11, 21, 22, 90],
  },
  'gcra, as-is': {
    policy: (i) => gcra({ limit: 20 + i, per: 1000 + 100 * i, burst: 5 + i }),
    inherit: 'as-is',
    counts: [7, 40],
  },
  'sliding window, as-is': {
    policy: (i) => slidingWindow({ limit: 9 + i, per: `${900 + 100 * i}ms` }),
    inherit: 'as-is',
    counts: [7, 40],
  },
  'sliding log': {
    policy: (i) => slidingLog({ limit: 5 + i, per: `${900 + 100 * i}ms` }),
    counts: [12, 60],
  },
  pacer: { policy: (i) => pacer({ limit: 10, per: 1000, warmup: `${500 + i}ms` }), counts: [9, 10, 50] },
};

describe.each(Object.entries(MANY))('%s', (kind, { policy, inherit, counts }) => {
  const policies = (count: number) => Array.from({ length: count }, (_, i) => policy(i));

  test.each(counts)('%d policies make the same decisions in Redis as in memory', async (count) => {
    // Plans with the same name would share manual blocks.
    const name = `many ${process.pid} ${kind} ${count}`;
    await compare(policies(count), onRedis, { name, inherit }, { hits: 100, atOnce: 6 }, count);
  });
});

test('policies of all algorithms together make the same decisions in Redis as in memory', async () => {
  const all = Object.entries(CASES).filter(([, { policies }]) => 'algorithm' in (policies as object));
  const policies = Object.fromEntries(all.map(([name, one]) => [name, one.policies as Policy]));
  expect(all.length).toBeGreaterThan(15);
  await compare(policies, onRedis, { name: `many ${process.pid}` }, { hits: 600, atOnce: 6 }, 1);
});
