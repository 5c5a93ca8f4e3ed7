import { beforeEach, describe, expect, test } from 'vitest';
import {
  type Decision,
  createLimiter,
  fixedWindow,
  gcra,
  leased,
  type LeasedOptions,
  type Limiter,
  type MaybePromise,
  memory,
  type Policies,
  type Store,
} from '../../../src/index.ts';
import { conformance, type ManualClock } from '../../../src/testing/index.ts';
import { askedStore, settled } from './asked.ts';

/** A burst of 1,000 and 100 per second. Leases last 2.5 s and reduce the burst by half of what is replenished in that time, to 875. */
const BUCKET = gcra({ limit: 100, per: '1s', burst: 1000 });
/** Nothing is replenished for a day. Leases last five seconds. */
const DAY = fixedWindow({ limit: 1000, per: '1d', align: 'first' });

let clock: ManualClock;
/** The hits that reached the store, as text. */
let asked: string[];
let store: Store<Promise<Decision>>;

beforeEach(() => {
  ({ clock, asked, store } = askedStore());
});

function limiterOf(policies: Policies, options: LeasedOptions = {}): Limiter<MaybePromise<Decision>> {
  return createLimiter(policies, {
    store: leased(store, { clock, random: () => 0, ...options }),
    name: 'leases',
  });
}

/** Takes from the key until it has a lease. */
async function warm(limiter: Limiter<MaybePromise<Decision>>, key = 'alice'): Promise<void> {
  for (let i = 0; i < 40; i++) await limiter.take(key);
  asked.length = 0;
  expect(limiter.take(key)).toMatchObject({ allowed: true, source: 'lease' });
}

test('the first hits of a key are sent to the store one by one, and later hits are answered synchronously', async () => {
  const limiter = limiterOf(BUCKET);
  for (let i = 0; i < 2; i++) await limiter.take('alice');
  expect(asked).toEqual(['take 1', 'take 1']);
  for (let i = 0; i < 100; i++) await limiter.take('alice');
  expect(asked.length).toBeLessThan(20);
  expect(limiter.take('alice')).not.toBeInstanceOf(Promise);
});

test('a decision from a lease reports the units in hand plus the units left in the store', async () => {
  const limiter = limiterOf(BUCKET);
  await warm(limiter);
  const decision = limiter.take('alice') as Decision;
  expect(decision).toMatchObject({
    limit: 875,
    remaining: 875 - 42,
    taken: 1,
    retryAfter: 0,
    source: 'lease',
  });
  expect(decision.policies).toHaveLength(1);
  expect(decision.policies[0]).toMatchObject({ name: 'default', limit: 875, remaining: 875 - 42 });
});

describe('an expired lease is never spent', () => {
  /** Five seconds, less the tolerance for clock drift. */
  const LIFE = 4995;
  /** A stalled event loop: time passes, but no timer fires. */
  const stalled = () => ({ clock: { now: () => clock.now(), after: () => () => {} } });

  test('even if no timer ended it', async () => {
    const limiter = limiterOf(DAY, stalled());
    await warm(limiter);
    const start = clock.now();
    clock.set(start + LIFE - 0.01);
    expect(limiter.take('alice')).toMatchObject({ allowed: true, source: 'lease' });
    asked.length = 0;
    clock.set(start + LIFE);
    const late = limiter.take('alice');
    expect(late).toBeInstanceOf(Promise);
    await late;
    expect(asked.length).toBeGreaterThan(0);
  });

  test('because its duration is measured from the request, not from the answer', async () => {
    const limiter = limiterOf(DAY, stalled());
    await warm(limiter);
    const sent = clock.now() + LIFE;
    clock.set(sent);
    const apply = store.apply.bind(store);
    store.apply = async (hit) => {
      const decision = await apply(hit);
      clock.set(sent + 200);
      return decision;
    };
    await limiter.take('alice');
    store.apply = apply;
    clock.set(sent + LIFE - 0.01);
    expect(limiter.peek('alice')).toMatchObject({ source: 'lease' });
    clock.set(sent + LIFE);
    expect(limiter.peek('alice')).toBeInstanceOf(Promise);
  });
});

test('units of a bucket fade, so that halfway through a lease, at most half of its units can be spent', async () => {
  const limiter = limiterOf(BUCKET);
  await warm(limiter);
  const spendHere = (): number => {
    for (let spent = 0; ; spent++) if (limiter.take('alice') instanceof Promise) return spent;
  };
  spendHere();
  await settled();
  const granted = Number(asked.at(-1)?.split(' ')[2]);
  expect(granted).toBeGreaterThan(20);
  clock.set(clock.now() + 1250);
  const spent = spendHere();
  expect(spent).toBeGreaterThan(granted / 4);
  expect(spent).toBeLessThanOrEqual(granted / 2);
});

test('unused units of a window’s lease become part of the next lease, without a call and without loss', async () => {
  const limiter = limiterOf(DAY);
  let taken = 0;
  for (let i = 0; i < 400; i++) {
    const { allowed } = await limiter.take('alice');
    taken += allowed ? 1 : 0;
    clock.advance(100);
    await settled();
  }
  expect(asked.filter((what) => what.startsWith('refund'))).toEqual([]);
  clock.advance(60_000);
  await settled();
  expect((await createLimiter(DAY, { store, name: 'leases' }).peek('alice')).remaining).toBe(1000 - taken);
});

test('unused units of a window’s lease are not spent in the next window', async () => {
  const limiter = limiterOf(DAY, { clock: { now: () => clock.now(), after: () => () => {} } });
  await warm(limiter);
  clock.set(clock.now() + 86_400_000);
  let allowed = 0;
  for (let i = 0; i < 1500; i++) if ((await limiter.take('alice')).allowed) allowed++;
  expect(allowed).toBe(1000);
});

test('a key with few hits never gets a lease', async () => {
  const limiter = limiterOf(BUCKET);
  for (let i = 0; i < 20; i++) {
    await limiter.take('alice');
    clock.advance(1500);
  }
  expect(new Set(asked)).toEqual(new Set(['take 1']));
});

describe('an exhausted key', () => {
  test('is denied by the node until the announced time, and then the node calls the store again', async () => {
    const limiter = limiterOf(DAY);
    await limiter.take('alice', 990);
    for (let i = 0; i < 60; i++) await limiter.take('alice');
    asked.length = 0;
    const denied = limiter.take('alice') as Decision;
    expect(denied).toMatchObject({ allowed: false, taken: 0, remaining: 0, source: 'lease' });
    expect(denied.retryAfter).toBeGreaterThanOrEqual(2000);
    for (let i = 0; i < 1000; i++) await limiter.take('alice');
    expect(asked).toEqual([]);
    clock.advance(20_000);
    for (let i = 0; i < 60; i++) await limiter.take('alice');
    expect(asked.filter((what) => what.startsWith('take'))).not.toEqual([]);
  });

  test('reports, as its limit, the largest cost that can pass', async () => {
    const limiter = limiterOf(BUCKET);
    await warm(limiter);
    const { limit, policies } = await limiter.peek('bob');
    expect(policies[0]).toMatchObject({ limit: 875, window: 8750, refill: 'even' });
    expect(await limiter.take('bob', limit)).toMatchObject({ allowed: true, remaining: 0 });
    expect(await limiter.take('alice', limit + 1)).toMatchObject({
      limit: 875,
      retryAfter: Infinity,
      source: 'store',
    });
  });
});

describe('unused units', () => {
  const left = async (): Promise<number> =>
    (await createLimiter(DAY, { store, name: 'leases' }).peek('alice')).remaining;

  test('are returned when the key is idle', async () => {
    const limiter = limiterOf(DAY);
    await warm(limiter);
    expect(await left()).toBeLessThan(1000 - 41);
    clock.advance(6000);
    await settled();
    expect(await left()).toBe(1000 - 41);
  });

  test('are returned on close', async () => {
    const wrapped = leased(store, { clock });
    const limiter = createLimiter(DAY, { store: wrapped, name: 'leases' });
    await warm(limiter);
    const held = 1000 - 41 - (await left());
    expect(held).toBeGreaterThan(0);
    asked.length = 0;
    const apply = store.apply.bind(store);
    store.apply = async (hit) => {
      const decision = await apply(hit);
      await settled();
      asked.push('done');
      return decision;
    };
    store.close = () => void asked.push('close');
    await wrapped.close();
    expect(asked).toEqual([`refund ${held}`, 'done', 'close']);
  });

  test('that are in flight during close are returned before the store is closed', async () => {
    const wrapped = leased(store, { clock });
    const limiter = createLimiter(DAY, { store: wrapped, name: 'leases' });
    await warm(limiter);
    const waves = Array.from({ length: 200 }, async () => limiter.take('alice'));
    expect(asked.some((what) => what.startsWith('take partial'))).toBe(true);
    const apply = store.apply.bind(store);
    let returning = 0;
    let seen = 0;
    store.apply = async (hit) => {
      if (hit.verb !== 'refund') return apply(hit);
      seen++;
      returning++;
      await settled();
      returning--;
      return apply(hit);
    };
    store.close = () => expect(returning).toBe(0);
    await Promise.all([...waves, wrapped.close()]);
    expect(seen).toBe(1);
  });

  test('are returned when the key is evicted', async () => {
    const limiter = limiterOf(DAY, { maxKeys: 1 });
    await warm(limiter);
    await limiter.take('bob');
    await limiter.take('carol');
    await settled();
    expect(await left()).toBe(1000 - 41);
  });

  test('of a bucket are not returned if the bucket has replenished them', async () => {
    const limiter = limiterOf(gcra({ limit: 10, per: '1s', burst: 1000 }));
    await warm(limiter);
    clock.advance(10_000);
    await settled();
    for (const what of asked.filter((each) => each.startsWith('refund')))
      expect(Number(what.split(' ')[1])).toBeLessThan(30);
  });
});

describe('equal policies in new objects', () => {
  test('share a lease', async () => {
    const policiesOf = (): Policies => gcra({ limit: 100, per: '1s', burst: 1000 });
    const limiter = createLimiter(policiesOf, { store: leased(store, { clock }), name: 'leases' });
    for (let i = 0; i < 500; i++) await limiter.take('alice');
    expect(asked.length).toBeLessThan(50);
    expect(limiter.take('alice')).toMatchObject({ source: 'lease', remaining: 875 - 501 });
    await limiter.reset('alice');
    expect(await limiter.take('alice')).toMatchObject({ source: 'store', remaining: 874 });
  });

  test('share a lease between two limiters, even after all keys were idle for a while', async () => {
    const wrapped = leased(store, { clock });
    const [first, second] = [DAY, { ...DAY }].map((policy) =>
      createLimiter(policy, { store: wrapped, name: 'leases' }),
    );
    await first.take('alice');
    clock.advance(20_000);
    await settled();
    await warm(second);
    expect(first.take('alice')).toMatchObject({ source: 'lease' });
    await first.reset('alice');
    expect((await second.take('alice')).source).toBe('store');
  });

  test('do not share a lease if the policies have different names', async () => {
    const wrapped = leased(store, { clock });
    let policies: Policies = { daily: DAY };
    const limiter = createLimiter(() => policies, { store: wrapped, name: 'leases' });
    await warm(limiter);
    policies = { other: DAY };
    expect((await limiter.take('alice')).policy).toBe('other');
    policies = { daily: DAY };
    expect((await limiter.take('alice')).policy).toBe('daily');
  });
});

describe('verbs other than take', () => {
  test('peek answers from the lease, and from the store if the lease has too few units', async () => {
    const limiter = limiterOf(BUCKET);
    await warm(limiter);
    expect(limiter.peek('alice')).toMatchObject({ allowed: true, taken: 0, source: 'lease' });
    expect(await limiter.peek('alice', 500)).toMatchObject({ allowed: true, source: 'store' });
  });

  test('a refund is applied to the lease from which the units came, or to the store if the refund is larger than that lease', async () => {
    const limiter = limiterOf(DAY);
    await warm(limiter);
    const { remaining } = limiter.take('alice') as Decision;
    asked.length = 0;
    expect(limiter.refund('alice')).toMatchObject({ remaining: remaining + 1, source: 'lease' });
    expect(asked).toEqual([]);
    expect(await limiter.refund('alice', 40)).toMatchObject({ source: 'store' });
    expect(asked).toEqual(['refund 40']);
  });

  test('a refund is applied to the store once the lease from which the units came has ended', async () => {
    // No timer fires, so only the clock shows that the lease has ended.
    const limiter = limiterOf(DAY, { clock: { now: () => clock.now(), after: () => () => {} } });
    await warm(limiter);
    const end = clock.now() + 4995;
    clock.set(end - 0.01);
    expect(limiter.refund('alice')).toMatchObject({ source: 'lease' });
    asked.length = 0;
    clock.set(end);
    const { remaining } = await createLimiter(DAY, { store, name: 'leases' }).peek('alice');
    expect(await limiter.refund('alice', 5)).toMatchObject({ remaining: remaining + 5, source: 'store' });
    expect(asked).toEqual(['peek 1', 'refund 5']);
  });

  test('after a refund to a key whose lease was used up, the next hit is sent to the store again', async () => {
    const limiter = limiterOf(DAY);
    await limiter.take('alice', 990);
    for (let i = 0; i < 60; i++) await limiter.take('alice');
    expect(limiter.take('alice')).toMatchObject({ allowed: false, source: 'lease' });
    // The refund is larger than the last lease, so it is sent to the store.
    expect(await limiter.refund('alice', 500)).toMatchObject({ source: 'store' });
    expect((await limiter.take('alice')).allowed).toBe(true);
  });

  test('takes in the modes partial and always, and reservations, are decided by the store, with the reduced policy', async () => {
    const limiter = limiterOf(BUCKET);
    expect(await limiter.take('alice', { cost: 5000, mode: 'partial' })).toMatchObject({ taken: 875 });
    await limiter.take('bob', { cost: 3, mode: 'always' });
    expect((await limiter.reserve('bob', 875)).delay).toBe(30);
    expect(asked).toEqual(['take partial 5000', 'take always 3', 'reserve 875']);
  });

  test('a reset ends the lease without returning units that were debited before the reset', async () => {
    const limiter = limiterOf(DAY);
    await warm(limiter);
    await limiter.reset('alice');
    expect(await limiter.peek('alice')).toMatchObject({ remaining: 1000, source: 'store' });
    clock.advance(20_000);
    await settled();
    expect(asked.filter((what) => what.startsWith('refund'))).toEqual([]);
  });

  test('a reset ends the leases of all tiers that read the same row', async () => {
    const pro = fixedWindow({ limit: 2000, per: '1d', align: 'first' });
    const wrapped = leased(store, { clock });
    const limiter = createLimiter(DAY, { store: wrapped, name: 'leases', tiers: { pro } });
    for (let i = 0; i < 40; i++) await limiter.take('alice', { tier: 'pro' });
    expect(limiter.peek('alice', { tier: 'pro' })).toMatchObject({ source: 'lease' });
    await limiter.reset('alice');
    expect(await limiter.peek('alice', { tier: 'pro' })).toMatchObject({ remaining: 2000, source: 'store' });
  });

  test('units that were in flight to this node during a reset are not returned afterwards', async () => {
    const limiter = limiterOf(DAY);
    await warm(limiter);
    clock.set(clock.now() + 1);
    const waves = Array.from({ length: 200 }, () => limiter.take('alice'));
    expect(asked.some((what) => what.startsWith('take partial'))).toBe(true);
    const reset = limiter.reset('alice');
    await Promise.all([...waves, reset]);
    await settled();
    clock.advance(60_000);
    await settled();
    expect(asked.filter((what) => what.startsWith('refund'))).toEqual([]);
  });

  test('hits that wait for a lease during a reset are charged afterwards', async () => {
    const limiter = limiterOf(DAY);
    await warm(limiter);
    // The lease answers as many hits synchronously as it has units. The other hits wait for the next lease.
    const waiting: Promise<Decision>[] = [];
    while (waiting.length < 50) {
      const answer = limiter.take('alice');
      if (answer instanceof Promise) waiting.push(answer);
    }
    expect(asked.at(-1)).toMatch(/^take partial/);
    const reset = limiter.reset('alice');
    const decisions = await Promise.all(waiting);
    await reset;
    await settled();
    const allowed = decisions.filter((decision) => decision.allowed).length;
    expect(allowed).toBe(50);
    expect((await createLimiter(DAY, { store, name: 'leases' }).peek('alice')).remaining).toBe(
      1000 - allowed,
    );
  });

  test('a manual block takes effect immediately on the node that made it', async () => {
    const limiter = limiterOf(DAY);
    await warm(limiter);
    await limiter.block('alice', '1m');
    expect(await limiter.take('alice')).toMatchObject({ allowed: false, policy: 'block' });
  });

  test('acquire waits for its turn', async () => {
    const limiter = limiterOf(BUCKET);
    await limiter.take('alice', 875);
    let passed = false;
    const turn = limiter.acquire('alice', 10).then(() => (passed = true));
    await settled();
    expect(passed).toBe(false);
    clock.advance(100);
    await turn;
    expect(passed).toBe(true);
  });
});

describe('a store that does not answer', () => {
  test('does not end a lease, but once the lease has expired, each hit rejects', async () => {
    const limiter = limiterOf(BUCKET);
    await warm(limiter);
    store.apply = () => Promise.reject(new Error('gone'));
    expect(limiter.take('alice')).toMatchObject({ allowed: true, source: 'lease' });
    clock.set(clock.now() + 2500);
    await expect(limiter.take('alice')).rejects.toThrow('gone');
  });

  test('does not grant a lease when the fallback answers instead', async () => {
    const limiter = limiterOf(BUCKET);
    const apply = store.apply.bind(store);
    store.apply = async (hit) => ({
      ...(await apply(hit)),
      allowed: true,
      taken: Number(hit.cost),
      source: 'fallback',
    });
    for (let i = 0; i < 50; i++) expect((await limiter.take('alice')).source).toBe('fallback');
  });
});

describe('leased() passes the conformance suite with limits that are too small for leases', () => {
  for (const { name, run } of conformance((now) => leased(memory({ clock: now }), { clock: now })))
    test(name, () => run());
});

test('leased rejects invalid options', () => {
  expect(() => leased(store, { lease: 0 })).toThrow('leased.lease');
  expect(() => leased(store, { nodes: 1.5 })).toThrow('leased.nodes');
  expect(() => leased(store, { maxKeys: -1 })).toThrow('leased.maxKeys');
  expect(() => leased(store, { leese: 1 } as LeasedOptions)).toThrow('ERR_UNKNOWN_OPTION');
});

describe('a store that takes longer than a lease', () => {
  /** Makes the store answer after 30 seconds, which is longer than a lease lasts. */
  function slow(): void {
    const quick = store;
    store = {
      ...quick,
      apply: (hit) =>
        new Promise((resolve, reject) => {
          clock.after(30_000, () => void quick.apply(hit).then(resolve, reject));
        }),
    };
  }

  async function wait(): Promise<void> {
    clock.advance(30_000);
    await settled();
  }

  /** A limiter that has measured how slow the store is. */
  async function experienced(): Promise<Limiter<MaybePromise<Decision>>> {
    slow();
    const limiter = limiterOf(BUCKET);
    const first = Array.from({ length: 50 }, async () => limiter.take('alice'));
    await wait();
    await wait();
    await Promise.all(first);
    asked.length = 0;
    return limiter;
  }

  test('receives one request at a time, and every waiting hit is answered', async () => {
    const limiter = await experienced();
    const crowd = Array.from({ length: 400 }, async () => limiter.take('alice'));
    await wait();
    await wait();
    const decisions = await Promise.all(crowd);
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(400);
    expect(asked.length).toBeLessThan(10);
  });

  test('admits hits in order of arrival, and never more units than were debited', async () => {
    const limiter = await experienced();
    const crowd = Array.from({ length: 2000 }, async () => limiter.take('alice'));
    await wait();
    await wait();
    await wait();
    const allowed = (await Promise.all(crowd)).map((decision) => decision.allowed);
    // The reduced burst of 875, and what was replenished during the second request.
    expect(allowed.filter(Boolean).length).toBeGreaterThan(850);
    expect(allowed.filter(Boolean).length).toBeLessThanOrEqual(1000);
    expect(allowed.indexOf(false)).toBeGreaterThan(0);
    expect(allowed.lastIndexOf(true)).toBeLessThan(allowed.indexOf(false));
  });
});
