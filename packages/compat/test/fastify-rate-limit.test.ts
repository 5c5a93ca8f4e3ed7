import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import rateLimit, { type FastifyRateLimitStoreCtor, type RateLimitPluginOptions } from '@fastify/rate-limit';
import fastify, { type FastifyInstance } from 'fastify';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { type RouteHits, type RouteStore, sluiceStore } from '../src/fastify-rate-limit.ts';
import { memory } from 'sluice';
import { type ManualClock, manualClock } from 'sluice/testing';
import { redisServer } from 'sluice-test-support/redis/server.ts';
import { punctually } from 'sluice-test-support/redis/watch.ts';
import { admitted, counted, drained, freshPrefix, ownRedis, statuses, unreachable } from './apps.ts';

/** Checks that the class has the type that the plugin requires. */
const asTheirs = (options?: Parameters<typeof sluiceStore>[0]): FastifyRateLimitStoreCtor =>
  sluiceStore(options);

const hits = (
  store: RouteStore,
  key: string | number,
  window: number,
  max: number,
  verb: 'incr' | 'read' = 'incr',
) =>
  new Promise<RouteHits | undefined>((resolve, reject) =>
    store[verb](key, (error, result) => (error ? reject(error) : resolve(result)), window, max),
  );

const places = {
  'in memory': (clock: ManualClock) => sluiceStore({ clock }),
  'on Redis': (clock: ManualClock) => sluiceStore({ store: ownRedis(clock), prefix: freshPrefix() }),
};

describe.each(Object.entries(places))('sluiceStore() %s:', (_, open) => {
  function opened(params: object = {}) {
    const clock = manualClock(1_700_000_000_000);
    const store = new (open(clock))(params);
    return {
      clock,
      store,
      incr: (max = 2, window = 1000) => hits(store, 'key', window, max),
      read: (max = 2, window = 1000) => hits(store, 'key', window, max, 'read'),
    };
  }

  test('each incr adds one to the count until the window ends', async () => {
    const { clock, incr } = opened();
    expect(await incr()).toEqual({ current: 1, ttl: 1000 });
    clock.advance(400);
    expect(await incr()).toEqual({ current: 2, ttl: 600 });
    clock.advance(599);
    expect(await incr()).toEqual({ current: 3, ttl: 1 });
    clock.advance(1);
    expect(await incr()).toEqual({ current: 1, ttl: 1000 });
  });

  test('read does not count a hit', async () => {
    const { clock, incr, read } = opened();
    expect(await read()).toEqual({ current: 0, ttl: 0 });
    await incr();
    clock.advance(100);
    for (let i = 0; i < 2; i++) expect(await read()).toEqual({ current: 1, ttl: 900 });
    clock.advance(900);
    expect(await read()).toEqual({ current: 0, ttl: 0 });
  });

  test('calls with different windows share the count of a key', async () => {
    const { clock, incr } = opened();
    await incr(2, 1000);
    clock.advance(100);
    expect(await incr(2, 5000)).toEqual({ current: 2, ttl: 4900 });
  });

  test('with a window of length 0, every hit counts as the first', async () => {
    const { incr, read } = opened();
    for (let i = 0; i < 3; i++) expect(await incr(2, 0)).toEqual({ current: 1, ttl: 0 });
    expect(await read(2, 0)).toEqual({ current: 0, ttl: 0 });
  });

  test('rejects a call whose window is not a number', async () => {
    await expect(opened().incr(2, Number.NaN)).rejects.toMatchObject({ code: 'ERR_DURATION' });
  });

  test('with continueExceeding, each request that exceeds the limit restarts the whole window', async () => {
    const { clock, incr, read } = opened({ continueExceeding: true });
    for (let i = 0; i < 2; i++) await incr();
    for (let current = 3; current < 8; current++) {
      clock.advance(700);
      expect(await incr()).toEqual({ current, ttl: 1000 });
      expect(await read()).toEqual({ current, ttl: 1000 });
    }
    clock.advance(999);
    expect(await read()).toEqual({ current: 7, ttl: 1 });
    clock.advance(1);
    expect(await read()).toEqual({ current: 0, ttl: 0 });
    expect(await incr()).toEqual({ current: 1, ttl: 1000 });
  });

  test('with exponentialBackoff, each request that exceeds the limit doubles the wait, and a reported wait is never shortened', async () => {
    const { clock, incr, read } = opened({ exponentialBackoff: true });
    for (let i = 0; i < 2; i++) await incr();
    expect(await incr()).toEqual({ current: 3, ttl: 1000 });
    expect(await incr()).toEqual({ current: 4, ttl: 2000 });
    clock.advance(1500);
    expect(await incr()).toEqual({ current: 5, ttl: 4000 });
    clock.advance(3999);
    expect(await read()).toEqual({ current: 5, ttl: 1 });
    clock.advance(1);
    expect(await incr()).toEqual({ current: 1, ttl: 1000 });
    for (let i = 0; i < 2; i++) await incr();
    expect(await incr(), 'the backoff starts again after the wait').toEqual({ current: 4, ttl: 2000 });
  });

  test('a backoff never exceeds the largest safe integer', async () => {
    const { incr } = opened({ exponentialBackoff: true });
    for (let i = 0; i < 2; i++) await incr();
    for (let i = 0; i < 50; i++) await incr();
    expect(await incr()).toEqual({ current: 53, ttl: Number.MAX_SAFE_INTEGER });
  });

  test('a wait is not shortened when the count of requests that exceeded the limit expires', async () => {
    const { clock, incr } = opened({ exponentialBackoff: true });
    for (let i = 0; i < 40; i++) await incr();
    const wait = 1000 * 2 ** 37;
    const month = 31 * 24 * 60 * 60 * 1000;
    clock.advance(month);
    expect(await incr()).toEqual({ current: 3, ttl: wait - month });
  });

  test('concurrent hits all get different counts', async () => {
    const { incr } = opened();
    const all = await Promise.all(Array.from({ length: 200 }, () => incr()));
    expect(all.map((hit) => hit?.current ?? 0).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 200 }, (_, i) => i + 1),
    );
  });

  test.each(['continueExceeding', 'exponentialBackoff'])(
    'with %s, 20 of 100 concurrent hits are admitted if max is 20',
    async (option) => {
      const { incr } = opened({ [option]: true });
      const all = await Promise.all(Array.from({ length: 100 }, () => incr(20)));
      expect(all.filter((hit) => hit !== undefined && hit.current <= 20)).toHaveLength(20);
    },
  );
});

test('each route has its own counts, routes of a group share counts, and each limiter without a route has its own counts', async () => {
  const store = new (sluiceStore({ clock: manualClock() }))();
  const count = async (routeOptions: object) =>
    (await hits(store.child(routeOptions), 'key', 1000, 9))?.current;
  const route = (method: string, url: string, constraints?: object) => ({
    routeInfo: { method, url, constraints },
  });
  expect(await count(route('GET', '/a'))).toBe(1);
  expect(await count(route('GET', '/b'))).toBe(1);
  expect(await count(route('POST', '/a'))).toBe(1);
  expect(await count(route('GET', '/a', { version: '2.0.0' }))).toBe(1);
  expect(await count(route('GET', '/a'))).toBe(2);
  expect(await count({ ...route('GET', '/a'), groupId: 'one' })).toBe(1);
  expect(await count({ ...route('GET', '/b'), groupId: 'one' })).toBe(2);
  expect(await count({ ...route('GET', '/b'), groupId: 'two' })).toBe(1);
  expect(await count({ routeInfo: {} })).toBe(1);
  expect(await count({ routeInfo: {} })).toBe(1);
});

test('each registration has its own memory store, unless a store is given', async () => {
  const counts = async (Store: ReturnType<typeof sluiceStore>) => [
    (await hits(new Store(), 7, 1000, 9))?.current,
    (await hits(new Store(), '7', 1000, 9))?.current,
  ];
  expect(await counts(sluiceStore())).toEqual([1, 1]);
  expect(await counts(sluiceStore({ store: memory() }))).toEqual([1, 2]);
});

test('a hit needs one store call, or a few more with continueExceeding while the key is limited', async () => {
  const asked = async (params: object) => {
    const store = counted(memory());
    const route = new (sluiceStore({ store }))(params);
    const seen: number[] = [];
    for (let i = 0; i < 4; i++) {
      const before = store.asked();
      await hits(route, 'key', 60_000, 2);
      seen.push(store.asked() - before);
    }
    return seen;
  };
  expect(await asked({})).toEqual([1, 1, 1, 1]);
  // The first limited hit needs three more calls, all concurrent. Later limited hits need two more calls, one after the other.
  expect(await asked({ continueExceeding: true })).toEqual([1, 1, 4, 3]);
});

test("if Redis is unavailable, sluiceStore() calls its store only once and answers according to the store's onFailure option", async () => {
  const answer = async (onFailure: 'throw' | 'allow' | 'deny') => {
    const store = counted(unreachable(onFailure));
    const seen = await hits(new (sluiceStore({ store }))({ continueExceeding: true }), 'key', 60_000, 2);
    return { ...seen, asked: store.asked() };
  };
  expect(await answer('allow')).toEqual({ current: 1, ttl: 0, asked: 1 });
  expect(await answer('deny')).toEqual({ current: Number.MAX_SAFE_INTEGER, ttl: 100, asked: 1 });
  await expect(answer('throw')).rejects.toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' });
});

test('sluiceStore() rejects a misspelled option when it creates the class', () => {
  expect(() => sluiceStore({ perfix: 'a' } as object)).toThrow(
    expect.objectContaining({ code: 'ERR_UNKNOWN_OPTION' }),
  );
});

describe('@fastify/rate-limit with sluiceStore(), over a socket:', () => {
  const running: FastifyInstance[] = [];
  afterEach(async () => {
    for (const app of running.splice(0)) await app.close();
  });

  async function start(options: RateLimitPluginOptions): Promise<string> {
    const app = fastify();
    running.push(app);
    await app.register(rateLimit, options);
    app.get('/', async () => 'hello');
    for (const url of ['/otp/send', '/otp/resend'])
      app.get(url, { config: { rateLimit: { max: 3, groupId: 'OTP' } } }, async () => 'sent');
    app.get('/strict', { config: { rateLimit: { max: 1, timeWindow: 500 } } }, async () => 'strict');
    const check = app.createRateLimit();
    app.get('/peek', { config: { rateLimit: false } }, (request) => check(request, { increment: false }));
    return `${await app.listen({ port: 0, host: '127.0.0.1' })}/`;
  }

  test('allows requests up to the limit, denies the next one, and reports the wait in headers', async () => {
    const clock = manualClock();
    const url = await start({ max: 2, timeWindow: '1 minute', store: asTheirs({ clock }) });
    const first = await drained(fetch(url));
    expect(first.headers.get('x-ratelimit-remaining')).toBe('1');
    expect(first.headers.get('x-ratelimit-reset')).toBe('60');
    expect(await statuses(url, 2)).toEqual([200, 429]);
    clock.advance(30_000);
    expect((await drained(fetch(url))).headers.get('retry-after')).toBe('30');
    expect(await (await fetch(`${url}peek`)).json()).toMatchObject({
      remaining: 0,
      ttl: 30_000,
      isExceeded: true,
    });
    clock.advance(30_000);
    expect(await statuses(url, 3)).toEqual([200, 200, 429]);
  });

  test('a route can have its own limit, and the routes of a group share one limit', async () => {
    const url = await start({ max: 100, timeWindow: 60_000, store: asTheirs() });
    expect(await statuses(`${url}strict`, 2)).toEqual([200, 429]);
    expect(await statuses(`${url}otp/send`, 2)).toEqual([200, 200]);
    expect(await statuses(`${url}otp/resend`, 2)).toEqual([200, 429]);
    expect(await statuses(url, 1)).toEqual([200]);
  });

  test('bans a client after the configured number of denials', async () => {
    const url = await start({
      max: 1,
      ban: 2,
      continueExceeding: true,
      timeWindow: 60_000,
      store: asTheirs(),
    });
    expect(await statuses(url, 5)).toEqual([200, 429, 429, 403, 403]);
  });

  test('two instances on one Redis together admit exactly as many concurrent requests as the limit allows', async () => {
    const prefix = freshPrefix();
    const urls = await Promise.all(
      [0, 1].map(() =>
        start({ max: 25, timeWindow: 60_000, store: asTheirs({ store: ownRedis(), prefix }) }),
      ),
    );
    expect(await admitted(urls, 100)).toBe(25);
  });
});

/** Tests of the plugin that do not pass with a Sluice store, and why. */
const DIFFERENT = {
  'With { increment: false } and exponentialBackoff the peek reports the base window without escalating it':
    'the plugin forgets a reported wait in memory but keeps it on Redis; Sluice always keeps it',
  'Throw on redis error':
    'the test expects the message of ioredis; Sluice puts the name of the failed store before it',
  'With { increment: false } it throws on redis error': 'same reason',
};

test('all tests of @fastify/rate-limit except three pass with Sluice in memory and on Redis', {
  timeout: 240_000,
}, async () => {
  const theirs = join(dirname(createRequire(import.meta.url).resolve('@fastify/rate-limit')), 'test');
  const files = readdirSync(theirs, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.test.js'),
  );
  const found = { tests: 0, passed: 0, skippedByThem: 0 };
  for (const file of files) {
    // These tests wait in real time for windows of half a second, so one may fail if the machine pauses.
    const report = await punctually(20, () => reportOf(join(theirs, file)));
    const count = (what: string) => Number(new RegExp(`^# ${what} (\\d+)$`, 'm').exec(report)?.[1]);
    found.tests += count('tests');
    found.passed += count('pass');
    found.skippedByThem += count('skipped');
  }
  expect(found).toEqual({ tests: 114, passed: 109, skippedByThem: 1 });
});

/** Runs one of the plugin's test files and returns its report. Fails if a test fails that is not listed above. */
async function reportOf(file: string): Promise<string> {
  const server = await redisServer();
  const hook = fileURLToPath(new URL('./fastify-own-suite.cjs', import.meta.url));
  // A failed test leaves its connections open, so without `force-exit` its process would never end.
  const args = ['--require', hook, '--test', '--test-force-exit', '--test-reporter=tap', file];
  const run = spawn(process.execPath, args, {
    env: { ...process.env, REDIS_PORT: String(server.port) },
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  });
  // The test runner starts another process for the file, so a timeout must kill the whole process group.
  onTestFinished(() => {
    if (run.exitCode === null) process.kill(-(run.pid as number));
  });
  const [report] = await Promise.all([text(run.stdout), once(run, 'close')]);
  await server.stop();
  const failed = [...report.matchAll(/^ *not ok \d+ - (.*)$/gm)].map(([, name = '']) => name);
  const suites = ['Global rate limit', 'Route rate limit'];
  expect(failed.filter((name) => !(name in DIFFERENT) && !suites.includes(name))).toEqual([]);
  return report;
}
