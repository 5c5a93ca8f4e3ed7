/** What every middleware must do, over a real socket. Each framework brings an app; the claims are the same for all. */
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

/** What the guard of a framework is given. Each has its own request; these claims never look into it. */
export type AnyOptions = GuardOptions<unknown>;

/**
 * An app answers GET / with 'ok', GET /login?status=401 with that status, GET /slow when `slow` is done, GET /fault by
 * throwing. All routes stand behind `everywhere`, /login behind `login` too. It calls `handled` in each handler.
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

    /** Two a minute; the clock stands still. */
    const two = () =>
      createLimiter(fixedWindow({ limit: 2, per: '1m' }), { store: memory({ clock: manualClock(0) }) });

    it('the first request passes and hears of the policy', async () => {
      const get = await serve({ limiter: two() });
      const response = await get();
      expect(await response.text()).toBe('ok');
      expect(response.status).toBe(200);
      expect(response.headers.get('ratelimit-policy')).toBe('"default";q=2;w=60');
      expect(response.headers.get('ratelimit')).toBe('"default";r=1;t=60');
      expect(response.headers.get('retry-after')).toBeNull();
    });

    it('one too many is answered with problem details and does not reach the handler', async () => {
      const get = await serve({ limiter: two() });
      await get();
      await get();
      expect(handled).toHaveBeenCalledTimes(2);
      const response = await get();
      expect(response.status).toBe(429);
      expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/);
      // Spread by key over at most five seconds.
      expect(response.headers.get('retry-after')).toMatch(/^6[0-5]$/);
      expect(response.headers.get('ratelimit')).toBe('"default";r=0;t=60');
      expect(await response.json()).toMatchObject({
        type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
        status: 429,
        'violated-policies': ['default'],
      });
      expect(handled).toHaveBeenCalledTimes(2);
    });

    it('all policies are announced, and the violated ones named', async () => {
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

    it('the address of the client is the key, unless another is given', async () => {
      const limiter = two();
      const get = await serve({ limiter });
      await get();
      expect(limiter.peek('127.0.0.1').remaining).toBe(1);
      const byName = await serve({ limiter, key: () => 'alice' });
      await byName();
      expect(limiter.peek('alice').remaining).toBe(1);
      expect(limiter.peek('127.0.0.1').remaining).toBe(1);
    });

    it('a skipped request is not counted and hears nothing', async () => {
      const limiter = two();
      const get = await serve({ limiter, key: () => 'k', skip: () => true });
      const response = await get();
      expect(response.status).toBe(200);
      expect(response.headers.get('ratelimit')).toBeNull();
      expect(limiter.peek('k').remaining).toBe(2);
    });

    it('in shadow, a denial is reported and the request passes without a word', async () => {
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

    it('status, body and headers are the ones that were asked for', async () => {
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

    it('a limit of the route adds to the one for all: both are announced, and what one denies the other gives back', async () => {
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

    it('only failed logins are charged, once the response says so', async () => {
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

    it('what a request holds is released when its response is out', async () => {
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

    it('a client that leaves frees what it held, and the server lives on', async () => {
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

    it('HEAD is limited like GET: it holds nothing for longer, and its refusal has all but the body', async () => {
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

    it('a fault in a key function is the framework’s to report, and the server lives on', async () => {
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

    it('a handler that throws is charged like any other', async () => {
      const limiter = two();
      const get = await serve({ limiter, key: () => 'k' });
      expect((await get('/fault')).status).toBe(500);
      expect(limiter.peek('k').remaining).toBe(1);
    });

    describe('on Redis', () => {
      const client = new Redis(inject('redisPort'), '127.0.0.1');
      afterAll(() => client.disconnect());

      it('20 requests at once: exactly the limit passes', async () => {
        const store = redis(client, { onFailure: 'throw', deadline: '10s' });
        const limiter = createLimiter('7/h fixed-window', { store, name: `${framework} ${process.pid}` });
        const get = await serve({ limiter, key: () => 'k' });
        const statuses = await Promise.all(Array.from({ length: 20 }, async () => (await get()).status));
        expect(statuses.filter((status) => status === 200)).toHaveLength(7);
        expect(statuses.filter((status) => status === 429)).toHaveLength(13);
      });
    });

    describe('with the store down:', () => {
      async function down(onFailure: NonNullable<Parameters<typeof redis>[1]>['onFailure']) {
        const client = new Redis(await freePort(), '127.0.0.1', {
          retryStrategy: () => null,
          maxRetriesPerRequest: 0,
        });
        client.on('error', () => {});
        cleanups.push(() => client.disconnect());
        return createLimiter('2/h', { store: redis(client, { onFailure, deadline: 50 }), name: 'api' });
      }

      it("'throw' is 503 with problem details, told to onUnavailable", async () => {
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

      it("'allow' lets all pass", async () => {
        const get = await serve({ limiter: await down('allow') });
        for (let i = 0; i < 3; i++) expect((await get()).status).toBe(200);
      });

      it("'deny' refuses all", async () => {
        const get = await serve({ limiter: await down('deny') });
        expect((await get()).status).toBe(429);
      });

      it('another limiter decides meanwhile', async () => {
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
