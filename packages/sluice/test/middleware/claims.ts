/**
 * Tests that every middleware must pass over a real socket. Each framework provides an app; the tests are the same for
 * all.
 */
import { Redis } from 'ioredis';
import { afterAll, afterEach, describe, expect, inject, it, vi } from 'vitest';
import type { GuardOptions } from '../../src/http/index.ts';
import {
  concurrency,
  createLimiter,
  type Decision,
  fixedWindow,
  gcra,
  memory,
  type StoreUnavailable,
} from '../../src/index.ts';
import { redis } from '../../src/stores/redis/index.ts';
import { manualClock } from '../../src/testing/index.ts';
import { freePort } from 'sluice-test-support/redis/server.ts';

/** The options of a framework's guard. Each framework has its own request type; these tests never read it. */
export type AnyOptions = GuardOptions<unknown>;

/**
 * An app answers GET / with 'ok', GET /login?status=401 with that status, GET /slow when `slow` resolves, and throws for
 * GET /fault. All routes are behind `everywhere`, and /login is also behind `login`. Each handler calls `handled`.
 */
export interface App {
  readonly everywhere: AnyOptions;
  readonly login?: AnyOptions;
  slow(): Promise<void>;
  handled(): void;
}

export interface Running {
  readonly url: string;
  close(): Promise<void>;
}

export type Start = (app: App) => Promise<Running>;

export function middlewareClaims(framework: string, start: Start): void {
  describe(`${framework}:`, () => {
    const cleanups: (() => unknown)[] = [];
    let handled = vi.fn();
    afterEach(async () => {
      handled = vi.fn();
      for (const clean of cleanups.splice(0).reverse()) await clean();
    });

    async function serve(everywhere: AnyOptions, rest: Partial<App> = {}) {
      const running = await start({ everywhere, slow: async () => {}, handled, ...rest });
      cleanups.push(() => running.close());
      return (path = '/', init?: RequestInit) =>
        fetch(running.url + path, {
          ...init,
          headers: { connection: 'close', ...(init?.headers as Record<string, string> | undefined) },
        });
    }

    /** A limiter that allows two requests per minute, on a clock that does not move. */
    const two = () =>
      createLimiter(fixedWindow({ limit: 2, per: '1m' }), { store: memory({ clock: manualClock(0) }) });

    it('lets the first request pass and announces the policy', async () => {
      const get = await serve({ limiter: two() });
      const response = await get();
      expect(await response.text()).toBe('ok');
      expect(response.status).toBe(200);
      expect(response.headers.get('ratelimit-policy')).toBe('"default";q=2;w=60');
      expect(response.headers.get('ratelimit')).toBe('"default";r=1;t=60');
      expect(response.headers.get('retry-after')).toBeNull();
    });

    it('answers a request over the limit with problem details, without calling the handler', async () => {
      const get = await serve({ limiter: two() });
      await get();
      await get();
      expect(handled).toHaveBeenCalledTimes(2);
      const response = await get();
      expect(response.status).toBe(429);
      expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/);
      // Retry-After is spread by key over at most five seconds.
      expect(response.headers.get('retry-after')).toMatch(/^6[0-5]$/);
      expect(response.headers.get('ratelimit')).toBe('"default";r=0;t=60');
      expect(await response.json()).toMatchObject({
        type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
        status: 429,
        'violated-policies': ['default'],
      });
      expect(handled).toHaveBeenCalledTimes(2);
    });

    it('announces all policies, and names the violated ones', async () => {
      const clock = manualClock(0);
      const limiter = createLimiter(
        { burst: gcra({ limit: 1, per: '10s' }), daily: fixedWindow({ limit: 100, per: '1d' }) },
        { store: memory({ clock }) },
      );
      const get = await serve({ limiter });
      const first = await get();
      expect(first.headers.get('ratelimit-policy')).toBe('"burst";q=1;w=10,"daily";q=100;w=86400');
      expect(first.headers.get('ratelimit')).toBe('"burst";r=0;t=10,"daily";r=99;t=86400');
      const second = await get();
      expect(second.headers.get('retry-after')).toBe('10');
      expect(await second.json()).toMatchObject({ 'violated-policies': ['burst'] });
    });

    it("uses the client's address as the key by default", async () => {
      const limiter = two();
      const get = await serve({ limiter });
      await get();
      expect(limiter.peek('127.0.0.1').remaining).toBe(1);
      const byName = await serve({ limiter, key: () => 'alice' });
      await byName();
      expect(limiter.peek('alice').remaining).toBe(1);
      expect(limiter.peek('127.0.0.1').remaining).toBe(1);
    });

    it('neither counts a skipped request nor sets headers on it', async () => {
      const limiter = two();
      const get = await serve({ limiter, key: () => 'k', skip: () => true });
      const response = await get();
      expect(response.status).toBe(200);
      expect(response.headers.get('ratelimit')).toBeNull();
      expect(limiter.peek('k').remaining).toBe(2);
    });

    it('in shadow mode, reports a denial and lets the request pass without headers', async () => {
      const denied: Decision[] = [];
      const get = await serve({
        limiter: two(),
        shadow: true,
        onDenied: (_, decision) => denied.push(decision),
      });
      for (let i = 0; i < 3; i++) {
        const response = await get();
        expect(response.status).toBe(200);
        expect(response.headers.get('ratelimit')).toBeNull();
        expect(response.headers.get('retry-after')).toBeNull();
      }
      expect(denied).toMatchObject([{ allowed: false, remaining: 0 }]);
    });

    it('uses the configured status, body and headers', async () => {
      const get = await serve({
        limiter: two(),
        cost: 2,
        status: 420,
        body: (_, { policy }) => ({ calm: policy }),
        headers: ['legacy', 'sharkey'],
      });
      await get();
      const response = await get();
      expect(response.status).toBe(420);
      expect(response.headers.get('content-type')).toMatch(/^application\/json/);
      expect(await response.json()).toEqual({ calm: 'default' });
      expect(response.headers.get('x-ratelimit-limit')).toBe('2');
      expect(response.headers.get('x-ratelimit-reset')).toBe('60');
      expect(response.headers.get('x-ratelimit-clear')).toBe('60.000');
      expect(response.headers.get('ratelimit')).toBeNull();
    });

    it("checks a route's limit in addition to the global limit, announces both limits, and refunds one if the other denies", async () => {
      const [forAll, forLogin] = [
        two(),
        createLimiter({ login: fixedWindow({ limit: 1, per: '1h', align: 'first' }) }),
      ];
      const key = () => 'k';
      const get = await serve({ limiter: forAll, key }, { login: { limiter: forLogin, key } });
      const first = await get('/login?status=200');
      expect(first.status).toBe(200);
      expect(first.headers.get('ratelimit-policy')).toBe('"default";q=2;w=60,"login";q=1;w=3600');
      const second = await get('/login?status=200');
      expect(second.status).toBe(429);
      expect(await second.json()).toMatchObject({ 'violated-policies': ['login'] });
      expect(second.headers.get('ratelimit')).toMatch(/^"default";r=\d;t=60,"login";r=0;t=\d+$/);
      await expect.poll(() => forAll.peek('k').remaining).toBe(1);
      expect((await get()).status).toBe(200);
      expect((await get('/login?status=200')).status).toBe(429);
    });

    it('charges only failed logins, once the response is known', async () => {
      const limiter = two();
      const login: AnyOptions = {
        limiter,
        key: () => 'k',
        settle: (_, { status }) => (status === 401 ? 1 : 0),
      };
      const get = await serve({ limiter: two(), key: () => false }, { login });
      for (let i = 0; i < 4; i++) {
        expect((await get('/login?status=200')).status).toBe(200);
        await expect.poll(() => limiter.peek('k').remaining).toBe(2);
      }
      expect((await get('/login?status=401')).status).toBe(401);
      expect((await get('/login?status=401')).status).toBe(401);
      expect((await get('/login?status=200')).status).toBe(429);
    });

    it('charges one cost by policy to several limiters, corrects it to what was used, and lets a class use only its share', async () => {
      const user = createLimiter({ requests: fixedWindow({ limit: 4, per: '1h' }) });
      const team = createLimiter(
        { tokens: fixedWindow({ limit: 1000, per: '1h' }) },
        { classes: { batch: { keep: 0.5 } } },
      );
      const key = () => 'k';
      const get = await serve({
        cost: () => ({ requests: 1, tokens: 400 }),
        settle: (_, { status }) => (status === 401 ? 0 : { tokens: 250 }),
        limits: [
          { limiter: user, key },
          { limiter: team, key, class: 'batch' },
        ],
      });
      const left = () => [user.peek('k').remaining, team.peek('k').remaining];
      expect((await get('/login?status=200')).status).toBe(200);
      await expect.poll(left).toEqual([3, 750]);
      expect((await get('/login?status=200')).status).toBe(429);
      expect(left()).toEqual([3, 750]);
    });

    it('releases a held place when the response has been sent', async () => {
      const limiter = createLimiter(concurrency({ limit: 1, lease: '1m' }));
      const gate = aGate();
      const get = await serve({ limiter, key: () => 'k' }, { slow: () => gate.opened });
      const slow = get('/slow');
      await expect.poll(() => limiter.peek('k').remaining).toBe(0);
      expect((await get()).status).toBe(429);
      gate.open();
      expect((await slow).status).toBe(200);
      await expect.poll(() => limiter.peek('k').remaining).toBe(1);
      expect((await get()).status).toBe(200);
    });

    it('releases a held place when the client disconnects, and keeps serving', async () => {
      const limiter = createLimiter(concurrency({ limit: 1, lease: '1m' }));
      const gate = aGate();
      cleanups.push(() => gate.open());
      const get = await serve({ limiter, key: () => 'k' }, { slow: () => gate.opened });
      const leaving = new AbortController();
      const slow = get('/slow', { signal: leaving.signal });
      await expect.poll(() => limiter.peek('k').remaining).toBe(0);
      leaving.abort();
      await expect(slow).rejects.toThrow(/abort/i);
      await expect.poll(() => limiter.peek('k').remaining).toBe(1);
      expect((await get()).status).toBe(200);
    });

    it('limits HEAD requests like GET requests, releases their places just as early, and denies them with the same response without a body', async () => {
      const limiter = createLimiter({
        atOnce: concurrency({ limit: 1, lease: '1m' }),
        hour: fixedWindow({ limit: 2, per: '1h' }),
      });
      const get = await serve({ limiter, key: () => 'k' });
      for (let i = 0; i < 2; i++) {
        expect((await get('/', { method: 'HEAD' })).status).toBe(200);
        await expect.poll(() => limiter.peek('k').policies[0]?.remaining).toBe(1);
      }
      const response = await get('/', { method: 'HEAD' });
      expect(response.status).toBe(429);
      expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/);
      expect(response.headers.get('retry-after')).toMatch(/^\d+$/);
      expect(await response.text()).toBe('');
    });

    it('passes an error of the key function to the framework, and keeps serving', async () => {
      let faulty = true;
      const get = await serve({
        limiter: two(),
        key: () => {
          if (faulty) throw new Error('no key');
          return 'k';
        },
      });
      expect((await get()).status).toBe(500);
      expect(handled).not.toHaveBeenCalled();
      faulty = false;
      expect((await get()).status).toBe(200);
    });

    it('charges a request whose handler throws', async () => {
      const limiter = two();
      const get = await serve({ limiter, key: () => 'k' });
      expect((await get('/fault')).status).toBe(500);
      expect(limiter.peek('k').remaining).toBe(1);
    });

    describe('on Redis', () => {
      const client = new Redis(inject('redisPort'), '127.0.0.1');
      afterAll(() => client.disconnect());

      it('lets exactly as many of 20 concurrent requests pass as the limit allows', async () => {
        const store = redis(client, { onFailure: 'throw', deadline: '10s' });
        const limiter = createLimiter('7/h fixed-window', { store, name: `${framework} ${process.pid}` });
        const get = await serve({ limiter, key: () => 'k' });
        const statuses = await Promise.all(Array.from({ length: 20 }, async () => (await get()).status));
        expect(statuses.filter((status) => status === 200)).toHaveLength(7);
        expect(statuses.filter((status) => status === 429)).toHaveLength(13);
      });
    });

    describe('while the store is down', () => {
      async function down(onFailure: NonNullable<Parameters<typeof redis>[1]>['onFailure']) {
        const client = new Redis(await freePort(), '127.0.0.1', {
          retryStrategy: () => null,
          maxRetriesPerRequest: 0,
        });
        client.on('error', () => {});
        cleanups.push(() => client.disconnect());
        return createLimiter('2/h', { store: redis(client, { onFailure, deadline: 50 }), name: 'api' });
      }

      it("answers 503 with problem details if onFailure is 'throw', and calls onUnavailable", async () => {
        const told: unknown[] = [];
        const get = await serve({
          limiter: await down('throw'),
          onUnavailable: (_, error) => told.push((error as StoreUnavailable).code),
        });
        const response = await get();
        expect(response.status).toBe(503);
        expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/);
        expect(await response.text()).not.toContain('ECONNREFUSED');
        expect(told).toEqual(['ERR_STORE_UNAVAILABLE']);
        expect(handled).not.toHaveBeenCalled();
      });

      it("lets every request pass if onFailure is 'allow'", async () => {
        const get = await serve({ limiter: await down('allow') });
        for (let i = 0; i < 3; i++) expect((await get()).status).toBe(200);
      });

      it("denies every request if onFailure is 'deny'", async () => {
        const get = await serve({ limiter: await down('deny') });
        expect((await get()).status).toBe(429);
      });

      it('lets a fallback limiter decide', async () => {
        const get = await serve({ limiter: await down(createLimiter('1/h')) });
        expect((await get()).status).toBe(200);
        expect((await get()).status).toBe(429);
      });
    });
  });
}

function aGate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
