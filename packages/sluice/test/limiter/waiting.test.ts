import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import {
  concurrency,
  createLimiter,
  type Decision,
  DeniedError,
  fixedWindow,
  gcra,
  memory,
  penalty,
  slidingLog,
  SluiceError,
  type Store,
} from '../../src/index.ts';
import { manualClock } from '../../src/testing/index.ts';
import { CASES } from '../support/policies.ts';

const START = 1_700_000_000_000;
const settled = () => new Promise((resolve) => setImmediate(resolve));

function abortable(): { signal: AbortSignal; abort: () => void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort(new Error('left')) };
}

function open(policies: Parameters<typeof createLimiter>[0], options: { maxWaiting?: number } = {}) {
  const clock = manualClock(START);
  const limiter = createLimiter(policies, { store: memory({ clock }), ...options });
  const woken: [who: string, at: number, allowed: boolean][] = [];
  const enter = (
    who: string,
    ...rest: Parameters<typeof limiter.acquire> extends [string, ...infer R] ? R : never
  ) =>
    limiter
      .acquire('k', ...rest)
      .then((decision) => void woken.push([who, clock.now() - START, decision.allowed]));
  /** Advances the clock in steps and lets callers run after each step, so that they are recorded in order. */
  async function pass(ms: number, stride = ms) {
    await settled();
    for (let done = 0; done < ms; done += stride) {
      clock.advance(stride);
      await settled();
    }
  }
  return { clock, limiter, woken, enter, pass };
}

describe('acquire', () => {
  test('passes immediately if units are available', async () => {
    const { enter, woken } = open('2/s');
    await enter('a');
    await enter('b');
    expect(woken).toEqual([
      ['a', 0, true],
      ['b', 0, true],
    ]);
  });

  for (const [name, { policies }] of Object.entries(CASES)) {
    test(`serves callers in order of arrival: ${name}`, async () => {
      const { enter, woken, pass } = open(policies);
      for (let i = 0; i < 12; i++) void enter(String(i));
      await pass(
        name === 'fixed window of days' ? 4 * 86_400_000 : 20_000,
        name === 'fixed window of days' ? 86_400_000 : 50,
      );
      expect(woken.map(([who]) => who)).toEqual(Array.from({ length: 12 }, (_, i) => String(i)));
      expect(woken.every(([, , allowed]) => allowed)).toBe(true);
    });
  }

  test('wakes all waiters at the reported instant and not later', async () => {
    const { enter, woken, pass } = open(gcra({ limit: 10, per: '1s', burst: 1 }));
    for (const who of ['a', 'b', 'c']) void enter(who);
    await pass(250, 1);
    expect(woken).toEqual([
      ['a', 0, true],
      ['b', 100, true],
      ['c', 200, true],
    ]);
  });

  test('does not let callers with small costs overtake a caller with a big cost', async () => {
    const { enter, woken, pass } = open(gcra({ limit: 10, per: '1s', burst: 5 }));
    await enter('first', 5);
    void enter('big', 5);
    void enter('small');
    await pass(1000, 100);
    expect(woken.slice(1)).toEqual([
      ['big', 500, true],
      ['small', 600, true],
    ]);
  });

  test('serves a caller with a higher priority first, even if it arrives later', async () => {
    const { enter, woken, pass } = open(gcra({ limit: 10, per: '1s', burst: 1 }));
    await enter('now');
    void enter('low');
    void enter('also low');
    void enter('high', { priority: 5 });
    void enter('also high', { priority: 5 });
    await pass(500, 100);
    expect(woken.map(([who]) => who)).toEqual(['now', 'high', 'also high', 'low', 'also low']);
  });

  test('resolves with a denial that charged nothing when the timeout expires', async () => {
    const { enter, woken, pass, limiter } = open(gcra({ limit: 1, per: '1s' }));
    await enter('a');
    void enter('b', { timeout: 300 });
    void enter('c', { timeout: '2s' });
    await pass(1000, 100);
    expect(woken).toEqual([
      ['a', 0, true],
      ['b', 300, false],
      ['c', 1000, true],
    ]);
    expect(limiter.peek('k').retryAfter).toBe(1000);
  });

  test('passes immediately or not at all with a timeout of 0', async () => {
    const { enter, woken } = open('1/s');
    await enter('a', { timeout: 0 });
    await enter('b', { timeout: 0 });
    expect(woken.map(([, , allowed]) => allowed)).toEqual([true, false]);
  });

  test('with a timeout of 0, waits for the answer of an asynchronous store before it denies', async () => {
    const own = memory({ clock: manualClock(START) });
    const later = { ...own, apply: async (hit: Parameters<typeof own.apply>[0]) => own.apply(hit) };
    const limiter = createLimiter('2/s', { store: later });
    const asked = await Promise.all([1, 2, 3].map(() => limiter.acquire('k', { timeout: 0 })));
    expect(asked.map(({ allowed }) => allowed)).toEqual([true, true, false]);
  });

  test('with a timeout of 0, an abort during the store call charges nothing', async () => {
    const own = memory({ clock: manualClock(START) });
    const later = { ...own, apply: async (hit: Parameters<typeof own.apply>[0]) => own.apply(hit) };
    const limiter = createLimiter('2/s', { store: later });
    const abort = new AbortController();
    const asked = limiter.acquire('k', { timeout: 0, signal: abort.signal });
    abort.abort(new Error('changed my mind'));
    await expect(asked).rejects.toThrow('changed my mind');
    expect((await limiter.peek('k')).remaining).toBe(2);
  });

  test('an abort rejects with its reason, charges nothing, and lets the next waiter move up', async () => {
    const { enter, woken, pass, limiter } = open(gcra({ limit: 10, per: '1s', burst: 5 }));
    await enter('first', 5);
    const abort = new AbortController();
    const big = limiter.acquire('k', { cost: 5, signal: abort.signal });
    void enter('small');
    await pass(100);
    expect(woken).toHaveLength(1);
    const reason = new Error('enough');
    abort.abort(reason);
    await expect(big).rejects.toBe(reason);
    await settled();
    expect(woken[1]).toEqual(['small', 100, true]);
    await expect(limiter.acquire('k', { signal: abort.signal })).rejects.toBe(reason);
  });

  test('immediately denies a cost that can never pass', async () => {
    const { enter, woken } = open('2/s');
    await enter('a', 3);
    expect(woken).toEqual([['a', 0, false]]);
  });

  test('immediately denies waiters beyond maxWaiting', async () => {
    const { enter, woken, pass } = open('1/s', { maxWaiting: 2 });
    await enter('a');
    void enter('b');
    void enter('c');
    await enter('d');
    expect(woken.at(-1)).toEqual(['d', 0, false]);
    await pass(2000, 1000);
    expect(woken.map(([who]) => who)).toEqual(['a', 'd', 'b', 'c']);
  });

  test('a denial because of a full queue reports the correct wait, and a fresh key is neither denied nor delayed', async () => {
    const { clock, limiter } = open('1/s', { maxWaiting: 3 });
    const waiting = Array.from({ length: 4 }, () => limiter.acquire('busy'));
    await settled();
    clock.advance(400);
    expect(await limiter.acquire('busy')).toMatchObject({ allowed: false, taken: 0, retryAfter: 600 });
    expect(await limiter.acquire('fresh')).toMatchObject({ allowed: true, taken: 1 });
    clock.advance(3000);
    expect((await Promise.all(waiting)).map(({ allowed }) => allowed)).toEqual([true, true, true, true]);
  });

  test('lets at most twice maxWaiting callers wait for all keys together, and answers every further caller immediately', async () => {
    const { limiter } = open('1/s', { maxWaiting: 5 });
    const keys = Array.from({ length: 11 }, (_, i) => `key ${i}`);
    for (const key of keys) await limiter.acquire(key);
    const waiting = keys.slice(0, 10).map((key) => limiter.acquire(key));
    expect(await limiter.acquire('key 10')).toMatchObject({ allowed: false, retryAfter: 1000 });
    expect(await limiter.acquire('fresh')).toMatchObject({ allowed: true, taken: 1 });
    const ends = Promise.allSettled(waiting);
    void limiter.close();
    expect((await ends).map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 'rejected'));
  });

  test('a denial never reports a wait of 0', async () => {
    const { limiter } = open(gcra({ limit: 10, per: '1s', burst: 5 }), { maxWaiting: 1 });
    await limiter.acquire('k', 3);
    const large = limiter.acquire('k', 5);
    await settled();
    expect(limiter.peek('k').allowed).toBe(true);
    expect(await limiter.acquire('k')).toMatchObject({ allowed: false, retryAfter: 100 });
    void limiter.close();
    await expect(large).rejects.toThrow();
  });

  test('does not call the store when waiters behind the head of the queue leave', async () => {
    const inner = memory({ clock: manualClock(START) });
    let asked = 0;
    const store: Store<Decision> = {
      clock: inner.clock,
      apply(hit) {
        asked++;
        return inner.apply(hit);
      },
      close() {},
    };
    const limiter = createLimiter('1/min', { store, name: 'api' });
    limiter.take('k');
    const patient = limiter.acquire('k');
    const { signal, abort } = abortable();
    const others = Array.from({ length: 9 }, () => limiter.acquire('k', { signal }));
    await settled();
    const before = asked;
    abort();
    expect(await Promise.allSettled(others)).toHaveLength(9);
    expect(asked).toBe(before);
    limiter.reset('k');
    await expect(patient).resolves.toMatchObject({ allowed: true });
  });

  test('removes waiters that have left from the queue, even while its head keeps waiting', async () => {
    const { limiter } = open('1/min');
    limiter.take('k');
    const patient = limiter.acquire('k');
    const signals: WeakRef<AbortSignal>[] = [];
    for (let i = 0; i < 5000; i++) {
      const { signal, abort } = abortable();
      signals.push(new WeakRef(signal));
      const waiting = limiter.acquire('k', { signal });
      await Promise.resolve();
      abort();
      await waiting.catch(() => {});
    }
    await settled();
    setFlagsFromString('--expose-gc');
    (runInNewContext('gc') as () => void)();
    expect(signals.filter((signal) => signal.deref() !== undefined).length).toBeLessThan(2100);
    limiter.reset('k');
    await expect(patient).resolves.toMatchObject({ allowed: true });
  });

  test("a caller with a higher priority than the head of the queue goes first, even if it arrives during the head's store call", async () => {
    const clock = manualClock(START);
    const inner = memory({ clock });
    const store: Store<Promise<Decision>> = {
      clock,
      apply: async (hit) => {
        await settled();
        return inner.apply(hit);
      },
      close() {},
    };
    const limiter = createLimiter(fixedWindow({ limit: 10, per: '1h' }), { store, name: 'api' });
    await limiter.take('k', 5);
    const large = limiter.acquire('k', 8);
    await Promise.resolve();
    const urgent = limiter.acquire('k', { priority: 1 });
    for (let i = 0; i < 20; i++) await settled();
    await expect(Promise.race([urgent, large, settled()])).resolves.toMatchObject({ taken: 1 });
    await limiter.close();
    await expect(large).rejects.toThrow();
  });

  test('a refund or a reset lets the head of the queue pass immediately', async () => {
    const { enter, woken, limiter } = open('1/s');
    await enter('a');
    void enter('b');
    await settled();
    limiter.refund('k');
    await settled();
    expect(woken.at(-1)).toEqual(['b', 0, true]);
    void enter('c');
    await settled();
    limiter.reset('k');
    await settled();
    expect(woken.at(-1)).toEqual(['c', 0, true]);
  });

  test('10,000 waiters on one key wake in order, and share one timer', async () => {
    let timers = 0;
    const real = globalThis.setTimeout;
    globalThis.setTimeout = ((...args: Parameters<typeof real>) => {
      timers++;
      return real(...args);
    }) as typeof real;
    try {
      const limiter = createLimiter(gcra({ limit: 1_000_000, per: '1s', burst: 1 }));
      const order: number[] = [];
      await Promise.all(
        Array.from({ length: 10_000 }, (_, i) =>
          limiter.acquire('k', { timeout: '1m' }).then(() => order.push(i)),
        ),
      );
      expect(order).toEqual(Array.from({ length: 10_000 }, (_, i) => i));
      // Each wake-up serves all waiters that can pass.
      expect(timers).toBeLessThan(200);
    } finally {
      globalThis.setTimeout = real;
    }
  });

  test('waits in real time by default', async () => {
    const limiter = createLimiter(gcra({ limit: 20, per: '1s', burst: 1 }));
    const began = performance.now();
    for (let i = 0; i < 4; i++) await limiter.acquire('k');
    expect(performance.now() - began).toBeGreaterThanOrEqual(149);
  });

  test('waiting does not count as a denial for a penalty', async () => {
    const { enter, pass, limiter } = open({
      rate: '1/s',
      lockout: penalty({ after: 2, within: '1h', block: '1h' }),
    });
    for (let i = 0; i < 10; i++) void enter(String(i));
    await pass(9000, 500);
    expect(limiter.take('k')).toMatchObject({ allowed: false, policy: 'rate' });
  });

  test('close rejects all waiters', async () => {
    const { limiter } = open('1/s');
    await limiter.acquire('k');
    const waiting = limiter.acquire('k');
    await limiter.close();
    await expect(waiting).rejects.toMatchObject({ code: 'ERR_CLOSED' });
    await expect(limiter.acquire('k', { priority: Number.NaN })).rejects.toThrow(SluiceError);
  });
});

describe('reserve', () => {
  test('gives successive reservations successive turns', () => {
    const { limiter } = open(gcra({ limit: 10, per: '1s', burst: 2 }));
    expect([1, 2, 3, 4].map(() => limiter.reserve('k').delay)).toEqual([0, 0, 100, 200]);
  });

  test('a policy that does not support reservations does not prevent another policy from being booked', () => {
    const { limiter } = open({
      rate: gcra({ limit: 10, per: '1s', burst: 1 }),
      day: fixedWindow({ limit: 3, per: '1d' }),
    });
    expect([1, 2, 3, 4].map(() => limiter.reserve('k').delay)).toEqual([0, 100, 200, Infinity]);
  });

  test('a canceled turn can be booked again', () => {
    const { limiter } = open(gcra({ limit: 10, per: '1s', burst: 1 }));
    limiter.reserve('k');
    const turn = limiter.reserve('k');
    turn.cancel();
    turn.cancel();
    expect(limiter.reserve('k').delay).toBe(100);
  });

  test('a cost of 0 books nothing and reports whether the key is blocked', () => {
    const { limiter } = open('10/s');
    expect(limiter.reserve('k', 0)).toMatchObject({ delay: 0, decision: { allowed: true, taken: 0 } });
    limiter.block('k', '1m');
    expect(limiter.reserve('k', 0)).toMatchObject({ delay: Infinity, decision: { allowed: false } });
  });

  test('does not book a turn for a blocked key', () => {
    const { limiter } = open('10/s');
    limiter.block('k', '1m');
    expect(limiter.reserve('k')).toMatchObject({ delay: Infinity, decision: { allowed: false, taken: 0 } });
  });
});

describe('run', () => {
  test('never has more calls in flight than allowed, and frees the place when a call fails', async () => {
    const limiter = createLimiter(concurrency({ limit: 3, lease: '1m' }));
    let [inFlight, most] = [0, 0];
    const jobs = Array.from({ length: 20 }, (_, i) =>
      limiter.run('k', async () => {
        most = Math.max(most, ++inFlight);
        await settled();
        inFlight--;
        if (i % 3 === 0) throw new Error('job');
        return i;
      }),
    );
    const results = await Promise.allSettled(jobs);
    expect(most).toBe(3);
    expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(7);
    expect(limiter.peek('k').remaining).toBe(3);
  });

  test('releases only held places, and does not refund the units of a rate limit', async () => {
    const { limiter } = open({
      rate: slidingLog({ limit: 5, per: '1m' }),
      slots: concurrency({ limit: 1, lease: '1m' }),
    });
    await limiter.run('k', () => 'done');
    expect(limiter.peek('k').policies.map(({ remaining }) => remaining)).toEqual([4, 1]);
  });

  test('rejects with the decision if the turn does not come in time', async () => {
    const { limiter } = open('1/s');
    await limiter.acquire('k');
    const refused = limiter.run('k', () => 'never', { timeout: 0 });
    await expect(refused).rejects.toThrow(DeniedError);
    await expect(refused).rejects.toMatchObject({
      code: 'ERR_DENIED',
      decision: { allowed: false, retryAfter: 1000 },
    });
    const never = limiter.run('k', () => 'never', { cost: 2 });
    await expect(never).rejects.toThrow(/; it can never pass \[ERR_DENIED\]$/);
  });
});
