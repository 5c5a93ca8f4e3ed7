/** Tests which hits a node of `leased` sends to its store, and when. */
import { beforeEach, describe, expect, test } from 'vitest';
import {
  createLimiter,
  type Decision,
  fixedWindow,
  gcra,
  leased,
  type Limiter,
  type MaybePromise,
  type Policies,
  slidingLog,
  type Store,
} from '../../../src/index.ts';
import type { PlainHit } from '../../../src/engine/contract.ts';
import type { Hit } from '../../../src/store.ts';
import type { ManualClock } from '../../../src/testing/index.ts';
import { KeyStore, type Node } from '../../../src/wrappers/leased/key-store.ts';
import { SlowStoreQueue } from '../../../src/wrappers/leased/slow-store-queue.ts';
import { type Terms, termsOf } from '../../../src/wrappers/leased/terms.ts';
import { askedStore, planSent, settled } from './asked.ts';

const BUCKET = gcra({ limit: 100, per: '1s', burst: 1000 });
const DAY = fixedWindow({ limit: 1000, per: '1d', align: 'first' });

let clock: ManualClock;
let asked: string[];
let store: Store<Promise<Decision>>;
let wrapped: Store<MaybePromise<Decision>>;

beforeEach(() => {
  ({ clock, asked, store } = askedStore());
  wrapped = leased(store, { clock, random: () => 0 });
});

const limiterOf = (policies: Policies, name = 'leases'): Limiter<MaybePromise<Decision>> =>
  createLimiter(policies, { store: wrapped, name });

async function warm(limiter: Limiter<MaybePromise<Decision>>, key = 'alice'): Promise<void> {
  for (let i = 0; i < 40; i++) await limiter.take(key);
  asked.length = 0;
  expect(limiter.take(key)).toMatchObject({ allowed: true, source: 'lease' });
}

describe('with a lease in hand', () => {
  test.each(['partial', 'always'] as const)(
    'a take in mode %s calls the store and keeps the lease',
    async (mode) => {
      const limiter = limiterOf(BUCKET);
      await warm(limiter);
      expect(await limiter.take('alice', { cost: 2, mode })).toMatchObject({ source: 'store' });
      expect(asked).toEqual([`take ${mode} 2`]);
      expect(limiter.take('alice')).toMatchObject({ source: 'lease' });
    },
  );

  test('a refund of what the fallback charged is sent to the store', async () => {
    const limiter = limiterOf(BUCKET);
    await warm(limiter);
    const of: Decision = { ...(await limiter.take('alice')), source: 'fallback' };
    await limiter.refund('alice', { of });
    expect(asked).toEqual(['refund 1']);
  });

  test('a reset of the same key in a limiter with another name keeps the lease', async () => {
    const [limiter, other] = [limiterOf(BUCKET), limiterOf(BUCKET, 'others')];
    await warm(limiter);
    await other.reset('alice');
    expect(limiter.take('alice')).toMatchObject({ source: 'lease' });
  });

  test('a manual block returns the lease to the store', async () => {
    const limiter = limiterOf(DAY);
    await warm(limiter);
    await limiter.block('alice', '1m');
    await settled();
    expect(asked.map((what) => what.split(' ')[0])).toEqual(['refund', 'block']);
  });

  test('a hit that costs more than any lease is sent to the store', async () => {
    const limiter = limiterOf(BUCKET);
    await warm(limiter);
    expect(await limiter.take('alice', 876)).toMatchObject({ allowed: false, source: 'store' });
    expect(asked).toEqual(['take 876']);
  });

  test('the next batch is fetched before the units are used up, so that no hit waits', async () => {
    const apply = store.apply.bind(store);
    store.apply = async (hit) => {
      const decision = await apply(hit);
      clock.advance(20);
      return decision;
    };
    const limiter = limiterOf(BUCKET);
    for (let i = 0; i < 100; i++) {
      await limiter.take('alice');
      clock.advance(25);
    }
    asked.length = 0;
    let waited = 0;
    for (let i = 0; i < 400; i++) {
      const answer = limiter.take('alice');
      if (answer instanceof Promise) waited++;
      await answer;
      await settled();
      clock.advance(25);
    }
    expect(waited).toBe(0);
    expect(asked.length).toBeGreaterThan(3);
    expect(asked.length).toBeLessThan(20);
  });
});

test('when a lease ends, unused units are returned if they would otherwise be lost until the end of a window', async () => {
  const limiter = limiterOf({ day: DAY, log: slidingLog({ limit: 10_000, per: '1m' }) });
  await warm(limiter);
  clock.set(clock.now() + 6000);
  await limiter.take('alice');
  await settled();
  expect(asked.filter((what) => what.startsWith('refund'))).toHaveLength(1);
});

test('after close, every hit is sent to the store', async () => {
  const limiter = limiterOf(BUCKET);
  await warm(limiter);
  await wrapped.close();
  asked.length = 0;
  for (let i = 0; i < 10; i++) await limiter.take('alice');
  expect(asked).toEqual(Array.from({ length: 10 }, () => 'take 1'));
});

test('every hit of a key longer than 1,024 characters is sent to the store', async () => {
  const limiter = limiterOf(BUCKET);
  for (let i = 0; i < 20; i++) await limiter.take('x'.repeat(1025));
  expect(asked).toHaveLength(20);
});

test('the backend of a leased store is the innermost store', () => {
  expect(wrapped.backend).toBe(store);
  expect(leased(wrapped).backend).toBe(store);
});

describe('the store is called again for an exhausted key', () => {
  /** How long the node denies by itself after the store granted less than was asked for. */
  async function deniedFor(policies: Policies, limit: number, random: number): Promise<number> {
    wrapped = leased(store, { clock, random: () => random });
    const limiter = limiterOf(policies);
    for (let i = 0; i < limit + 50; i++) await limiter.take('alice');
    const denied = await limiter.take('alice');
    expect(denied).toMatchObject({ allowed: false, source: 'lease' });
    asked.length = 0;
    const start = clock.now();
    for (let i = 0; i < 3000 && !(limiter.take('alice') instanceof Promise); i++) clock.set(clock.now() + 10);
    return clock.now() - start;
  }

  test('no earlier than after a fraction of a lease’s duration, even if the bucket is replenished before then', async () => {
    // 0.4 times the lease duration of one second. Depending on `random`, up to half of that is added.
    expect(await deniedFor(BUCKET, 1000, 0)).toBeCloseTo(400, -2);
    ({ clock, asked, store } = askedStore());
    expect(await deniedFor(BUCKET, 1000, 1)).toBeCloseTo(600, -2);
  });

  test('no later than after a few lease durations, even if the window ends later', async () => {
    // 3.2 times the lease duration of five seconds, because another node may return units.
    expect(await deniedFor(DAY, 1000, 0)).toBeCloseTo(16_000, -2);
  });
});

describe('the store of a key', () => {
  const terms = termsOf(planSent(BUCKET), 5000, 8) as Terms;
  const hits: Hit[] = [];
  let answer: Partial<Decision>;
  let now = 0;
  const keyStore = (took = 0, its = terms): [KeyStore, Node] => {
    hits.length = 0;
    now = 1000;
    const apply = (hit: Hit): Decision => {
      hits.push(hit);
      now += took;
      return {
        allowed: true,
        taken: 0,
        remaining: 0,
        retryAfter: 0,
        policies: [],
        ...answer,
      } as unknown as Decision;
    };
    const node: Node = { store: { clock, apply, close() {} }, now: () => now, random: () => 0, roundTrip: 0 };
    return [new KeyStore('k', its, node), node];
  };

  test('grants no lease if the fallback answers, and refunds the charge that the fallback made', async () => {
    answer = { source: 'fallback', taken: 7 };
    const [key, node] = keyStore(80);
    expect(await key.debit(10, terms.longPlan)).toBeUndefined();
    expect(hits).toMatchObject([
      { verb: 'take', mode: 'partial', cost: 10 },
      { verb: 'refund', mode: 'whole', cost: 7, of: { source: 'fallback' } },
    ]);
    expect([key.remaining, node.roundTrip]).toEqual([undefined, 0]);
    answer = { source: 'fallback', taken: 0 };
    const [other] = keyStore();
    await other.debit(10, terms.plan);
    expect(hits).toHaveLength(1);
  });

  test('is called with the reduced plan, or with the plan for long leases', async () => {
    answer = { source: 'store', remaining: 5 };
    const logPlan = planSent(slidingLog({ limit: 1000, per: '1m' }));
    const { plan: reduced, longPlan } = termsOf(logPlan, 5000, 8) as Terms;
    const [key] = keyStore(0, { ...terms, plan: reduced, longPlan });
    for (const plan of [logPlan, reduced, longPlan])
      await key.ask({ verb: 'take', plan, key: 'k', cost: 1, mode: 'whole', span: 0 });
    expect(hits.map(({ plan }) => plan.id)).toEqual([reduced.id, reduced.id, longPlan.id]);
    expect(key.remaining).toBe(5);
  });

  test('counts as slow if its average round trip is as long as a short lease', async () => {
    answer = { source: 'store' };
    const [key, node] = keyStore(800);
    await key.debit(1, terms.plan);
    expect(node.roundTrip).toBe(100);
    await key.debit(1, terms.plan);
    expect(node.roundTrip).toBe(187.5);
    node.roundTrip = 999;
    expect(key.isSlow).toBe(false);
    node.roundTrip = 1000;
    expect(key.isSlow).toBe(true);
  });

  test('announces, in a denial, the node’s own wait or the wait that the store announced, whichever ends later', async () => {
    answer = { ...createLimiter(BUCKET).take('k'), retryAfter: 500 };
    const [key] = keyStore();
    await key.debit(1, terms.plan);
    expect(key.decision(0, 0, 1100, 1300)).toMatchObject({
      allowed: false,
      retryAfter: 400,
      source: 'lease',
    });
    expect(key.decision(0, 0, 1100, 2000)).toMatchObject({ allowed: false, retryAfter: 900 });
    expect(key.decision(1, 0, 1100)).toMatchObject({ allowed: true, retryAfter: 0 });
  });

  test('gets no units back from a lease that is used up', async () => {
    answer = { source: 'store' };
    const [key] = keyStore();
    await key.debit(1, terms.plan);
    hits.length = 0;
    const lease = { ...terms.leaseFrom({ taken: 500, policies: [{}] } as unknown as Decision, now) };
    await key.giveBack(lease, now);
    expect(hits).toMatchObject([{ verb: 'refund', cost: 400, of: { source: 'store' } }]);
    await key.giveBack(lease, now);
    expect([hits.length, lease.left]).toEqual([1, 0]);
  });
});

describe('hits that wait for a slow store', () => {
  const hitOf = (cost: number): PlainHit => ({
    verb: 'take',
    plan: planSent(DAY),
    key: 'k',
    cost,
    mode: 'whole',
    span: 0,
  });
  const denied = { allowed: false } as Decision;

  test('are served in order by one request, and units that none of them could use are refunded', async () => {
    const sent: string[] = [];
    const queue = new SlowStoreQueue(
      async ({ verb, mode, cost }) => {
        sent.push(`${verb} ${mode} ${cost}`);
        await settled();
        return {
          allowed: true,
          taken: verb === 'take' ? Math.min(cost, 5) : 0,
          policies: [],
          source: 'store',
        } as unknown as Decision;
      },
      () => denied,
    );
    const first = queue.join(hitOf(1));
    const group = [2, 2, 2].map((cost) => queue.join(hitOf(cost)));
    expect(await first).toMatchObject({ taken: 1 });
    expect(await Promise.all(group)).toEqual([
      expect.objectContaining({ taken: 2 }),
      expect.objectContaining({ taken: 2 }),
      denied,
    ]);
    await settled();
    expect(sent).toEqual(['take partial 1', 'take partial 6', 'refund whole 1']);
    await queue.join(hitOf(3));
    expect(sent.at(-1)).toBe('take partial 3');
  });

  test('are sent to the store one by one if the fallback answers in place of the store', async () => {
    const sent: string[] = [];
    const queue = new SlowStoreQueue(
      async ({ mode, cost }) => {
        sent.push(`${mode} ${cost}`);
        return { allowed: true, taken: cost, source: 'fallback' } as Decision;
      },
      () => denied,
    );
    const group = [1, 2, 3].map((cost) => queue.join(hitOf(cost)));
    expect((await Promise.all(group)).map(({ taken }) => taken)).toEqual([1, 2, 3]);
    expect(sent).toEqual(['partial 1', 'whole 1', 'partial 5', 'whole 2', 'whole 3']);
  });

  test('all reject if the request fails, and later hits cause a new request', async () => {
    let isDown = true;
    const queue = new SlowStoreQueue(
      async ({ cost }) => {
        if (isDown) throw new Error('down');
        return { allowed: true, taken: cost, policies: [], source: 'store' } as unknown as Decision;
      },
      () => denied,
    );
    for (const failed of await Promise.allSettled([queue.join(hitOf(1)), queue.join(hitOf(1))]))
      expect(failed.status).toBe('rejected');
    isDown = false;
    expect(await queue.join(hitOf(1))).toMatchObject({ taken: 1 });
  });
});
