/** The answers that `onFailure` selects while the store cannot be reached. */
import { describe, expect, test } from 'vitest';
import {
  concurrency,
  createLimiter,
  type Decision,
  fixedWindow,
  gcra,
  type Limiter,
  memory,
  pacer,
  penalty,
  type Policies,
  type Store,
  StoreUnavailable,
} from '../../../src/index.ts';
import { manualClock } from '../../../src/testing/index.ts';
import {
  resilient,
  type ResilientOptions,
  type Substitute,
} from '../../../src/wrappers/resilient/resilient.ts';

const REFUSED = new Error('connect ECONNREFUSED');

/** A limiter whose store cannot be reached. */
function limiterOver(
  policies: Policies,
  onFailure: ResilientOptions['onFailure'],
  store: Partial<Store<Promise<Decision>>> = {},
): Limiter<Promise<Decision>> {
  const gone = { clock: memory().clock, apply: () => Promise.reject(REFUSED), close() {}, ...store };
  return createLimiter(policies, { store: resilient(gone, { onFailure, onEvent() {} }), name: 'api' });
}

describe("onFailure: 'throw'", () => {
  test('rejects with the fault and its cause', async () => {
    const limiter = limiterOver('10/day', 'throw');
    await expect(limiter.take('k')).rejects.toMatchObject({ fault: 'connection', cause: REFUSED });
    const unavailable = new StoreUnavailable('loading');
    const loading = limiterOver('10/day', 'throw', { apply: () => Promise.reject(unavailable) });
    await expect(loading.take('k')).rejects.toBe(unavailable);
  });
});

describe('onFailure: { byName }', () => {
  const answers = { local: 'local', login: 'deny', api: 'allow', pay: 'throw' } as const;
  type Name = keyof typeof answers;

  function limiters(): Record<Name, Limiter<Promise<Decision>>> {
    const gone = { clock: memory().clock, apply: () => Promise.reject(REFUSED), close() {} };
    const onFailure = { byName: (name: string) => answers[name as Name] };
    const store = resilient(
      { ...gone, allTaker: () => () => Promise.reject(REFUSED) },
      { onFailure, onEvent() {} },
    );
    const open = (name: Name) => createLimiter('2/day', { store, name });
    return { local: open('local'), login: open('login'), api: open('api'), pay: open('pay') };
  }

  test('selects the answer for each limiter of the store by its name', async () => {
    const { local, login, api, pay } = limiters();
    const takes = async (limiter: Limiter<Promise<Decision>>) =>
      [await limiter.take('k'), await limiter.take('k'), await limiter.take('k')].map(
        ({ allowed }) => allowed,
      );
    expect(await takes(local)).toEqual([true, true, false]);
    expect(await takes(login)).toEqual([false, false, false]);
    expect(await takes(api)).toEqual([true, true, true]);
    await expect(pay.take('k')).rejects.toBeInstanceOf(StoreUnavailable);
  });

  test('allows a takeMany of several limiters completely or not at all', async () => {
    const { local, login, api, pay } = limiters();
    const take = (...several: Limiter<Promise<Decision>>[]) =>
      local.takeMany(several.map((limiter) => ({ limiter, key: 'k' })));
    expect(await take(local, api)).toMatchObject({ allowed: true });
    expect((await local.peek('k')).remaining).toBe(1);
    expect(await take(local, login)).toMatchObject({ allowed: false });
    expect((await local.peek('k')).remaining).toBe(1);
    await expect(take(local, pay)).rejects.toBeInstanceOf(StoreUnavailable);
    expect((await local.peek('k')).remaining).toBe(1);
  });

  test('rejects a check if the function returns an unknown answer', async () => {
    const onFailure = { byName: () => 'maybe' as 'allow' };
    await expect(limiterOver('2/day', onFailure).take('k')).rejects.toMatchObject({ code: 'ERR_CHOICE' });
  });
});

describe("onFailure: 'deny'", () => {
  test('denies until the next probe', async () => {
    expect(await limiterOver('10/day', 'deny').take('k')).toMatchObject({
      allowed: false,
      remaining: 0,
      retryAfter: 100,
    });
  });
});

describe("onFailure: 'allow'", () => {
  test('reports the numbers of an unused key', async () => {
    expect(await limiterOver('10/day', 'allow').take('k')).toMatchObject({
      allowed: true,
      remaining: 10,
      retryAfter: 0,
    });
  });

  test('answers a renewal and a release of a place that it granted', async () => {
    const limiter = limiterOver(concurrency({ limit: 5, lease: '1m' }), 'allow');
    const of = await limiter.take('k');
    expect(await limiter.renew('k', { of })).toMatchObject({ allowed: true, source: 'fallback' });
    expect(await limiter.release('k', { of })).toMatchObject({ allowed: true, source: 'fallback' });
  });
});

describe("onFailure: 'local'", () => {
  test('is the default, and applies the full limit in this process', async () => {
    for (const limiter of [limiterOver('3/day', undefined), limiterOver('3/day', { local: 1 })]) {
      for (let left = 2; left >= 0; left--)
        expect(await limiter.take('k')).toMatchObject({ remaining: left, source: 'fallback' });
      expect(await limiter.take('k')).toMatchObject({ allowed: false, source: 'fallback' });
      await limiter.refund('k', 2);
      expect((await limiter.peek('k')).remaining).toBe(2);
    }
  });

  test('uses the clock that was passed to the store', async () => {
    const clock = manualClock();
    const limiter = limiterOver('3/min', 'local', { clock });
    await limiter.take('k', 3);
    clock.advance(60_000);
    expect((await limiter.take('k', 3)).allowed).toBe(true);
  });

  test('renews and releases a place that the fallback granted', async () => {
    const clock = manualClock();
    const limiter = limiterOver(concurrency({ limit: 2, lease: '1m' }), 'local', { clock });
    const of = await limiter.take('k');
    clock.advance(40_000);
    const renewed = await limiter.renew('k', { of });
    clock.advance(40_000);
    expect((await limiter.peek('k')).remaining).toBe(1);
    await limiter.release('k', { of: renewed });
    expect((await limiter.peek('k')).remaining).toBe(2);
  });
});

describe('onFailure: { local: 1 / processes }', () => {
  test('allows that fraction of each limit, and reports it as the limit', async () => {
    const limiter = limiterOver(fixedWindow({ limit: 100, per: '1d' }), { local: 0.25 });
    expect(await limiter.take('k', 20)).toMatchObject({ allowed: true, limit: 25, remaining: 5 });
    expect(await limiter.take('k', 6)).toMatchObject({ allowed: false, remaining: 5 });
    expect(await limiter.take('k', 5)).toMatchObject({ allowed: true, remaining: 0 });
    await limiter.refund('k', 3);
    expect((await limiter.peek('k')).remaining).toBe(3);
  });

  test('replenishes that fraction of the limit per window', async () => {
    const clock = manualClock();
    const limiter = limiterOver(gcra({ limit: 60, per: '1m' }), { local: 0.5 }, { clock });
    await limiter.take('k', 30);
    expect(await limiter.take('k')).toMatchObject({ allowed: false, retryAfter: 2000 });
    clock.advance(20_000);
    expect((await limiter.peek('k')).remaining).toBe(10);
  });

  test('delays reservations according to the reduced rate', async () => {
    const clock = manualClock();
    const limiter = limiterOver(gcra({ limit: 60, per: '1m' }), { local: 0.5 }, { clock });
    await limiter.take('k', 30);
    const reservation = await limiter.reserve('k', 5);
    expect(reservation.decision).toMatchObject({ allowed: true, taken: 5 });
    expect(reservation.delay).toBe(10_000);
  });

  test('rounds the fraction of a limit down', async () => {
    const limiter = limiterOver('100/day fixed-window', { local: 0.3 });
    expect((await limiter.take('k')).limit).toBe(30);
  });

  test('books turns of a pacer at the reduced rate', async () => {
    const clock = manualClock();
    const limiter = limiterOver(pacer({ limit: 60, per: '1m' }), { local: 0.5 }, { clock });
    const delays: number[] = [];
    for (let i = 0; i < 3; i++) delays.push((await limiter.reserve('k')).delay);
    expect(delays).toEqual([0, 2000, 4000]);
  });

  test("denies a key for about one window, however many units are requested in mode 'always'", async () => {
    const clock = manualClock();
    const limiter = limiterOver(gcra({ limit: 60, per: '1m' }), { local: 0.5 }, { clock });
    expect((await limiter.take('k', { cost: 1000, mode: 'always' })).taken).toBe(59.5);
    expect((await limiter.take('k')).retryAfter).toBe(61_000);
  });

  test('allows exactly 1/49 of the limit, but at least one unit', async () => {
    const limiter = limiterOver('98/day fixed-window', { local: 1 / 49 });
    expect((await limiter.take('k', 2)).allowed).toBe(true);
    expect((await limiter.take('k')).allowed).toBe(false);
    const small = limiterOver('3/day fixed-window', { local: 0.01 });
    expect((await small.take('k')).allowed).toBe(true);
    expect((await small.take('k')).allowed).toBe(false);
  });

  test('advises a retry at the next probe for a cost that only the full limit would admit', async () => {
    const limiter = limiterOver('100/day fixed-window', { local: 0.25 });
    expect(await limiter.take('k', 26)).toMatchObject({ allowed: false, retryAfter: 100 });
    expect(await limiter.take('k', 100)).toMatchObject({ allowed: false, retryAfter: 100 });
    expect(await limiter.take('k', 101)).toMatchObject({ allowed: false, retryAfter: Infinity });
    const both = limiterOver('100/day fixed-window & 20/h fixed-window', { local: 0.25 });
    expect(await both.take('k', 26)).toMatchObject({ allowed: false, retryAfter: Infinity });
  });

  test('does not reduce the number of denials after which a penalty blocks', async () => {
    const limiter = limiterOver(
      { rate: fixedWindow({ limit: 4, per: '1d' }), ban: penalty({ after: 4, within: '1d', block: '1d' }) },
      { local: 0.5 },
    );
    for (let i = 0; i < 2; i++) expect((await limiter.take('k')).allowed).toBe(true);
    for (let i = 0; i < 3; i++) expect((await limiter.take('k')).policy).toBe('rate');
    expect((await limiter.take('k')).allowed).toBe(false);
    expect((await limiter.take('k')).policy).toBe('ban');
  });

  test('still closes the wrapped store when the resilient store is closed', async () => {
    let closed = 0;
    const store = resilient(
      { clock: memory().clock, apply: () => Promise.reject(REFUSED), close: () => void closed++ },
      { onFailure: { local: 0.5 }, onEvent() {} },
    );
    await store.close();
    expect(closed).toBe(1);
  });

  test.each([0, -1, 1.5, Number.NaN, Infinity, '0.5', undefined])(
    'must be above 0 and at most 1, not %s',
    (local) => {
      expect(() => limiterOver('1/s', { local } as never)).toThrow(/onFailure\.local/);
    },
  );

  test('accepts no option other than local', () => {
    expect(() => limiterOver('1/s', { local: 0.5, share: 1 } as never)).toThrow(/share/);
  });
});

test.each(['open', '', null, 5, {}, { take: 1 }, { byName: 'deny' }, () => {}])(
  'onFailure cannot be %j',
  (onFailure) => {
    expect(() => limiterOver('1/s', onFailure as never)).toThrow(
      expect.objectContaining({ code: 'ERR_CHOICE' }),
    );
  },
);

describe('a limiter as onFailure', () => {
  test('is called with the same verb, key, cost and duration', async () => {
    const own = createLimiter(fixedWindow({ limit: 10, per: '1d' }));
    const limiter = limiterOver(fixedWindow({ limit: 100, per: '1d' }), own);
    expect(await limiter.take('k', 3)).toMatchObject({ limit: 10, remaining: 7, source: 'fallback' });
    expect(await limiter.peek('k', 8)).toMatchObject({ allowed: false, remaining: 7, source: 'fallback' });
    expect((await limiter.reserve('k', 2)).decision).toMatchObject({ remaining: 5 });
    await limiter.refund('k', 4);
    expect(own.peek('k').remaining).toBe(9);
    await limiter.block('k', '1h');
    expect(own.peek('k')).toMatchObject({ allowed: false, policy: 'block' });
    await limiter.unblock('k');
    expect(own.peek('k').allowed).toBe(true);
    await limiter.reset('k');
    expect(own.peek('k').remaining).toBe(10);
  });

  test('refunds what it charged for a decision', async () => {
    const own = createLimiter(fixedWindow({ limit: 10, per: '1d' }));
    const limiter = limiterOver(fixedWindow({ limit: 100, per: '1d' }), own);
    const of = await limiter.take('k', 3);
    expect(await limiter.refund('k', { cost: 3, of })).toMatchObject({ remaining: 10, source: 'fallback' });
  });

  test('releases the place that it charged for a decision, not the oldest place', async () => {
    const clock = manualClock();
    const policy = concurrency({ limit: 2, lease: '10s' });
    const own = createLimiter(policy, { store: memory({ clock }) });
    const limiter = limiterOver(policy, own);
    await limiter.take('k');
    clock.advance(5000);
    const of = await limiter.take('k');
    await limiter.release('k', { of });
    clock.advance(5001);
    expect(own.peek('k').remaining).toBe(2);
  });

  test('releases a place without refunding a rate', async () => {
    const policies = {
      rate: fixedWindow({ limit: 9, per: '1d' }),
      slots: concurrency({ limit: 9, lease: '1m' }),
    };
    const own = createLimiter(policies);
    const limiter = limiterOver(policies, own);
    const of = await limiter.take('k');
    await limiter.release('k', { of });
    expect(own.peek('k').policies.map(({ remaining }) => remaining)).toEqual([8, 9]);
  });

  test('may be an object without renew', async () => {
    const own: Substitute = { ...createLimiter(concurrency({ limit: 5, lease: '1m' })) };
    delete own.renew;
    const limiter = limiterOver(concurrency({ limit: 5, lease: '1m' }), own);
    const of = await limiter.take('k');
    expect(await limiter.renew('k', { of })).toMatchObject({ allowed: true, source: 'fallback' });
  });
});

test('the backend of a wrapped store is the innermost store', () => {
  const inner: Store<Promise<Decision>> = {
    clock: memory().clock,
    apply: () => Promise.reject(REFUSED),
    close() {},
  };
  const wrapped = resilient(inner);
  expect(wrapped.backend).toBe(inner);
  expect(resilient(wrapped).backend).toBe(inner);
});
