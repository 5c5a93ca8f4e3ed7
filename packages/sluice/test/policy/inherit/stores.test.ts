/** Tests how stores and wrappers support inherit. Rows must be kept long enough, and leases must work across versions. */
import { Redis } from 'ioredis';
import { afterAll, beforeEach, describe, expect, inject, test } from 'vitest';
import {
  createLimiter,
  type Decision,
  fixedWindow,
  gcra,
  leased,
  type Limiter,
  type LimiterOptions,
  memory,
} from '../../../src/index.ts';
import { redis } from '../../../src/stores/redis/index.ts';
import { manualClock } from '../../../src/testing/index.ts';
import { another } from '../../support/stores.ts';

type Inherit = LimiterOptions['inherit'];

describe('on a server with its own clock', () => {
  const client = new Redis(inject('redisPort'), '127.0.0.1');
  const store = redis(client, { onFailure: 'throw', deadline: '30s' });
  let names = 0;
  let name = '';
  beforeEach(() => {
    name = `inherit ${process.pid} ${++names}`;
  });
  afterAll(() => client.disconnect());
  const limiter = (limit: number, inherit: Inherit): Limiter<Promise<Decision>> =>
    createLimiter(gcra({ limit, per: '1h' }), { store: another(store), name, inherit });
  const keys = (): Promise<string[]> => client.keys(`${name}*`);

  test('as-is: a row that is fully replenished for one version of a limiter is kept while another version needs it', async () => {
    await limiter(200, 'as-is').take('k', 50);
    await limiter(100, 'as-is').take('k');
    expect(await limiter(100, 'as-is').refund('k')).toMatchObject({ remaining: 100, resetAfter: 0 });
    const [key = ''] = await keys();
    expect(await client.pttl(key)).toBeGreaterThan(800_000);
    expect((await limiter(200, 'as-is').peek('k')).remaining).toBe(100);
  });

  test.each(['additive', 'proportional'] as const)(
    '%s: a fully replenished row is deleted',
    async (inherit) => {
      await limiter(200, inherit).take('k', 50);
      expect(await keys()).toHaveLength(1);
      await limiter(100, inherit).refund('k', 50);
      expect(await keys()).toEqual([]);
    },
  );

  test('versions of a limiter with and without inherit do not erase each other’s state', async () => {
    await limiter(100, undefined).take('k', 60);
    await limiter(100, 'additive').take('k', 30);
    await limiter(100, 'reset').take('k', 20);
    expect((await limiter(100, undefined).peek('k')).remaining).toBe(40);
    expect((await limiter(200, 'additive').peek('k')).remaining).toBe(170);
    expect((await limiter(100, 'reset').peek('k')).remaining).toBe(80);
  });

  test('with reset, a new algorithm under the same name does not erase the state of the previous algorithm', async () => {
    const policy = fixedWindow({ limit: 100, per: '1h', align: 'first' });
    const after = createLimiter(policy, { store, name, inherit: 'reset' });
    await limiter(100, undefined).take('k', 60);
    await after.take('k', 30);
    expect((await limiter(100, undefined).take('k')).remaining).toBe(39);
    expect((await after.take('k')).remaining).toBe(69);
  });
});

test('as-is, in memory: a row that is fully replenished for one version of a limiter survives the growth of the table', () => {
  const clock = manualClock(1_700_000_000_000);
  const store = memory({ clock });
  const [before, after] = [100, 200].map((limit) =>
    createLimiter(gcra({ limit, per: '1h' }), { store, name: 'api', inherit: 'as-is' }),
  ) as [Limiter, Limiter];
  after.take('k', 50);
  before.take('k');
  before.refund('k');
  // A table that grows drops rows that are fully replenished.
  for (let i = 0; i < 5000; i++) before.take(`other ${i}`);
  expect(after.peek('k').remaining).toBe(100);
  clock.advance(15 * 60_000);
  expect(after.peek('k').remaining).toBe(200);
});

test.each(['as-is', 'proportional', 'additive'] as const)(
  '%s: versions of a limiter with leases never admit more than their limits',
  async (inherit) => {
    const clock = manualClock(1_700_000_000_000);
    const rows = memory({ clock });
    const versions = [1000, 2000].map((limit) => {
      const store = leased(rows, { clock, nodes: 2, random: () => 0.5 });
      return {
        store,
        limit,
        limiter: createLimiter(gcra({ limit, per: '1d' }), { store, name: 'api', inherit }),
        admitted: 0,
      };
    });
    let local = 0;
    for (let i = 0; i < 6000; i++) {
      const one = versions[(i * 7) % 3 === 0 ? 0 : 1];
      const { allowed, source } = await one.limiter.take('k');
      if (allowed) one.admitted++;
      if (source === 'lease') local++;
      clock.advance(1);
    }
    const [before, after] = versions.map(({ admitted }) => admitted) as [number, number];
    expect(local).toBeGreaterThan(3000);
    // Six seconds replenish almost nothing.
    expect(before).toBeLessThanOrEqual(1001);
    expect(after).toBeLessThanOrEqual(2001);
    expect(before + after).toBeGreaterThan(900);
    if (inherit === 'additive') expect(before + after).toBeLessThanOrEqual(2001);
    if (inherit === 'proportional') expect(2 * before + after).toBeLessThanOrEqual(2002);
    for (const { store } of versions) await store.close();
  },
);
