/** Tests the default clock under fake timers, as vitest, Jest and Sinon install them. */
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createLimiter, type Decision, leased, memory, type Store, synced } from '../../src/index.ts';
import { redis } from '../../src/stores/redis/index.ts';
import { sharedMemory } from '../../src/stores/shared-memory/index.ts';
import { denyCache } from '../../src/wrappers/deny-cache.ts';

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

describe('under fake timers', () => {
  test('a limiter replenishes when the fake time advances, and not before', () => {
    vi.useFakeTimers();
    const limiter = createLimiter('1/min');
    expect(limiter.take('alice').allowed).toBe(true);
    expect(limiter.take('alice')).toMatchObject({ allowed: false, retryAfter: 60_000 });
    vi.advanceTimersByTime(59_999);
    expect(limiter.take('alice')).toMatchObject({ allowed: false, retryAfter: 1 });
    vi.advanceTimersByTime(1);
    expect(limiter.take('alice').allowed).toBe(true);
  });

  test('callers of acquire are served, or time out, when the fake time advances', async () => {
    vi.useFakeTimers();
    const limiter = createLimiter('1/min');
    limiter.take('alice');
    const first = limiter.acquire('alice');
    const second = limiter.acquire('alice', { timeout: '90s' });
    await vi.advanceTimersByTimeAsync(60_000);
    expect((await first).allowed).toBe(true);
    await vi.advanceTimersByTimeAsync(30_000);
    expect((await second).allowed).toBe(false);
  });

  test('a calendar window follows the fake date', () => {
    vi.useFakeTimers({ now: Date.UTC(2026, 0, 31, 23) });
    const limiter = createLimiter('1/month fixed-window');
    limiter.take('alice');
    expect(limiter.take('alice')).toMatchObject({ allowed: false, retryAfter: 3_600_000 });
    vi.advanceTimersByTime(3_600_000);
    expect(limiter.take('alice').allowed).toBe(true);
  });

  test('a store in shared memory follows the fake time', () => {
    const before = createLimiter('1/min', { store: sharedMemory({ maxKeys: 100 }), name: 'before' });
    before.take('alice');
    vi.useFakeTimers();
    const during = createLimiter('1/min', { store: sharedMemory({ maxKeys: 100 }), name: 'during' });
    during.take('alice');
    for (const limiter of [before, during]) {
      expect(limiter.take('alice').retryAfter).toBeGreaterThan(59_000);
      expect(limiter.take('alice').retryAfter).toBeLessThan(60_100);
    }
    vi.advanceTimersByTime(60_100);
    for (const limiter of [before, during]) expect(limiter.take('alice').allowed).toBe(true);
  });

  test('synced pushes its counts, and leases expire, when the fake time advances', async () => {
    vi.useFakeTimers();
    const asked: string[] = [];
    const rows = memory();
    const store: Store = {
      ...rows,
      apply(hit) {
        asked.push(`${hit.verb} ${String(hit.cost)}`);
        return rows.apply(hit);
      },
    };
    const counted = createLimiter('100/min', { store: synced(store, { every: '10s' }), name: 'synced' });
    await counted.take('alice');
    await counted.take('alice', 4);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(asked).toEqual(['take 1', 'take 4']);

    const lending = leased(rows, { lease: '10s', nodes: 2 });
    const lent = createLimiter('100/min', { store: lending, name: 'leased' });
    for (let i = 0; i < 10; i++) await lent.take('alice');
    expect((await lent.take('alice')).source).toBe('lease');
    await vi.advanceTimersByTimeAsync(60_000);
    expect((await lent.take('alice')).source).toBe('store');
    await lending.close();
  });

  test('a cached denial expires according to the fake clock, and is checked again after two fake seconds', async () => {
    vi.useFakeTimers();
    const rows = memory();
    const store: Store<Promise<Decision>> = { ...rows, apply: async (hit) => rows.apply(hit) };
    const remembering = denyCache(store);
    const short = createLimiter('1/s', { store: remembering, name: 'short' });
    await short.take('alice');
    expect(await short.take('alice')).toMatchObject({ allowed: false, source: 'store', retryAfter: 1000 });
    await vi.advanceTimersByTimeAsync(0);
    await vi.advanceTimersByTimeAsync(400);
    expect(await short.take('alice')).toMatchObject({ source: 'deny-cache', retryAfter: 600 });
    await vi.advanceTimersByTimeAsync(600);
    expect((await short.take('alice')).allowed).toBe(true);

    const long = createLimiter('1/h', { store: remembering, name: 'long' });
    await long.take('alice');
    await long.take('alice');
    await vi.advanceTimersByTimeAsync(0);
    await vi.advanceTimersByTimeAsync(1999);
    expect((await long.take('alice')).source).toBe('deny-cache');
    await vi.advanceTimersByTimeAsync(1);
    expect(await long.take('alice')).toMatchObject({ allowed: false, source: 'store' });
  });

  test('the deadline and the circuit breaker of a store follow the fake clock, and the breaker opens once', async () => {
    vi.useFakeTimers();
    const events: string[] = [];
    const client = { send: () => new Promise<never>(() => {}) };
    const store = redis(client, {
      deadline: '1s',
      onFailure: 'deny',
      onEvent: ({ type }) => events.push(type),
    });
    const limiter = createLimiter('1/min', { store, name: 'api' });
    const take = async (): Promise<boolean> =>
      (await Promise.all([limiter.take('alice'), limiter.take('bob')])).every(
        ({ source }) => source === 'fallback',
      );
    // The deadline for the first answer of a store is two seconds.
    for (const span of [2000, 1000, 1000, 1000]) {
      expect(events).toEqual([]);
      let settled = false;
      const answers = take().finally(() => {
        settled = true;
      });
      await vi.advanceTimersByTimeAsync(span - 1);
      expect(settled).toBe(false);
      await vi.advanceTimersByTimeAsync(2);
      expect(await answers).toBe(true);
    }
    expect(events).toEqual(['open']);
  });

  test('a circuit breaker can open at the first instant of fake time', async () => {
    vi.useFakeTimers();
    const events: string[] = [];
    const client = { send: () => Promise.reject(new Error('connect ECONNREFUSED')) };
    const store = redis(client, { onFailure: 'allow', onEvent: ({ type }) => events.push(type) });
    const limiter = createLimiter('1/min', { store, name: 'api' });
    for (let i = 0; i < 20; i++) await limiter.take('alice');
    expect(events).toEqual(['open']);
  });
});

describe('switching between real and fake time', () => {
  test('a key that was denied in real time is denied for the same duration in fake time', () => {
    const limiter = createLimiter('1/min');
    limiter.take('alice');
    const real = limiter.take('alice').retryAfter;
    vi.useFakeTimers();
    const fake = limiter.take('alice').retryAfter;
    // Date has whole milliseconds, so fake time can start up to two milliseconds off.
    expect(Math.abs(fake - real)).toBeLessThan(100);
    vi.advanceTimersByTime(60_100);
    expect(limiter.take('alice').allowed).toBe(true);
  });

  test('if real time is behind fake time by less than a window, a denial is extended by at most the difference, and no units are added', () => {
    vi.useFakeTimers();
    const limiter = createLimiter('2/min');
    vi.advanceTimersByTime(30_000);
    limiter.take('alice', 2);
    vi.useRealTimers();
    const { allowed, retryAfter } = limiter.take('alice');
    expect(allowed).toBe(false);
    expect(retryAfter).toBeGreaterThan(0);
    expect(retryAfter).toBeLessThanOrEqual(30_000 + 30_000 + 100);
    expect(limiter.take('bob').remaining).toBe(1);
  });

  test('if real time is an hour behind fake time, a key with a window of a minute is not denied', () => {
    vi.useFakeTimers();
    const limiter = createLimiter('2/min');
    vi.advanceTimersByTime(3_600_000);
    limiter.take('alice', 2);
    vi.useRealTimers();
    expect(limiter.take('alice')).toMatchObject({ allowed: true, remaining: 1 });
  });

  test('a store that was called under fake timers still enforces its deadlines in real time', async () => {
    const client = { send: () => new Promise<never>(() => {}) };
    const store = redis(client, { deadline: 20, onFailure: 'deny' });
    const limiter = createLimiter('1/min', { store, name: 'api' });
    vi.useFakeTimers();
    void limiter.take('alice'); // Its timer is lost when real timers are restored.
    vi.useRealTimers();
    expect((await limiter.take('alice')).source).toBe('fallback');
  });
});

describe('partial fakes', () => {
  test('a fake Date alone moves neither the timers nor the limiter', () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const limiter = createLimiter('1/min');
    limiter.take('alice');
    vi.setSystemTime(Date.now() + 3_600_000);
    expect(limiter.take('alice').allowed).toBe(false);
  });

  test('the limiter follows a spy on performance.now', () => {
    const limiter = createLimiter('1/min');
    limiter.take('alice');
    const later = performance.now() + 60_000;
    vi.spyOn(performance, 'now').mockReturnValue(later);
    expect(limiter.take('alice').allowed).toBe(true);
  });

  test('with a fake performance object that has no timeOrigin, time is measured from the fake date', () => {
    vi.useFakeTimers({ now: Date.UTC(2026, 0, 31, 23) });
    const fake = performance;
    // In @sinonjs/fake-timers before version 14, which Jest 29 and 30 use, timeOrigin is a function.
    vi.stubGlobal('performance', { now: () => fake.now(), timeOrigin: () => {} });
    const limiter = createLimiter('1/month fixed-window');
    limiter.take('alice');
    expect(limiter.take('alice')).toMatchObject({ allowed: false, retryAfter: 3_600_000 });
    vi.advanceTimersByTime(3_600_000);
    expect(limiter.take('alice').allowed).toBe(true);
  });

  test('a module that is loaded under fake timers follows fake time, and real time afterwards', async () => {
    vi.useFakeTimers();
    const fake = performance;
    vi.stubGlobal('performance', { now: () => fake.now(), timeOrigin: () => {} });
    vi.resetModules();
    const { createLimiter: loadedLate } = await import('../../src/index.ts');
    const limiter = loadedLate('1/min');
    limiter.take('alice');
    expect(limiter.take('alice').retryAfter).toBe(60_000);
    vi.advanceTimersByTime(60_000);
    expect(limiter.take('alice').allowed).toBe(true);
    vi.unstubAllGlobals();
    vi.useRealTimers();
    limiter.take('bob');
    const { retryAfter } = limiter.take('bob');
    expect(retryAfter).toBeGreaterThan(59_000);
    expect(retryAfter).toBeLessThanOrEqual(60_000);
  });

  test('if timers and Date are faked but performance is not, callers that wait on a clock based on Date are woken', async () => {
    // The mock timers of node:test fake timers and Date, but not performance.
    vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
    const limiter = createLimiter('1/min', { store: memory({ clock: { now: () => Date.now() } }) });
    limiter.take('alice');
    let decision: Decision | undefined;
    void limiter.acquire('alice').then((made) => {
      decision = made;
    });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(decision?.allowed).toBe(true);
  });
});
