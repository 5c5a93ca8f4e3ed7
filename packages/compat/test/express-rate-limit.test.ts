import express from 'express';
import { MemoryStore, type Options, rateLimit, type Store } from 'express-rate-limit';
// @ts-expect-error Express 4 is installed under an alias, which has no types.
import express4 from 'express4';
import { describe, expect, test, vi } from 'vitest';
import { sluiceStore } from '../src/express-rate-limit.ts';
import { memory } from 'sluice';
import { manualClock } from 'sluice/testing';
import { admitted, drained, freshPrefix, listen, ownRedis, statuses, unreachable } from './apps.ts';
import { hitStoreClaims } from './hit-store.ts';

hitStoreClaims(sluiceStore, () => new MemoryStore());

/** Checks that the store has the type that the middleware requires. */
const asTheirs = (options?: Parameters<typeof sluiceStore>[0]): Store => sluiceStore(options);

const frameworks = { 'Express 5': express, 'Express 4': express4 as unknown as typeof express };

describe.each(Object.entries(frameworks))('express-rate-limit on %s:', (_, framework) => {
  function app(options: Partial<Options>, status = 200) {
    const errors: unknown[] = [];
    const server = framework();
    const logger = {
      error: (error: unknown) => errors.push(error),
      warn: (error: unknown) => errors.push(error),
    };
    const limiter = rateLimit({
      windowMs: 60_000,
      limit: 2,
      keyGenerator: () => 'client',
      logger,
      ...options,
    });
    server.use(limiter);
    server.get('/', (_request, response) => void response.status(status).send('hello'));
    return { server, limiter, errors };
  }

  test('allows requests up to the limit, denies the next one, and reports the wait in headers', async () => {
    const { server, errors } = app({ store: asTheirs(), standardHeaders: 'draft-7' });
    const url = await listen(server);
    const first = await drained(fetch(url));
    expect(first.headers.get('ratelimit')).toBe('limit=2, remaining=1, reset=60');
    expect(await statuses(url, 2)).toEqual([200, 429]);
    const refused = await drained(fetch(url));
    expect(refused.headers.get('ratelimit')).toBe('limit=2, remaining=0, reset=60');
    expect(refused.headers.get('retry-after')).toBe('60');
    expect(errors).toEqual([]);
  });

  test('allows the full limit again after the window ends', async () => {
    const clock = manualClock();
    const { server } = app({ store: asTheirs({ clock }) });
    const url = await listen(server);
    expect(await statuses(url, 3)).toEqual([200, 200, 429]);
    clock.advance(59_999);
    expect(await statuses(url, 1)).toEqual([429]);
    clock.advance(1);
    expect(await statuses(url, 3)).toEqual([200, 200, 429]);
  });

  test('the resetKey and getKey methods of the middleware call the store', async () => {
    const { server, limiter } = app({ store: asTheirs() });
    const url = await listen(server);
    await statuses(url, 3);
    expect(await limiter.getKey('client')).toMatchObject({ totalHits: 3 });
    // resetKey is declared as void, but returns the store's promise.
    await Promise.resolve(limiter.resetKey('client') as unknown);
    expect(await limiter.getKey('client')).toBeUndefined();
    expect(await statuses(url, 3)).toEqual([200, 200, 429]);
  });

  test('does not count failed or successful requests if the options say to skip them', async () => {
    const failing = app({ store: asTheirs(), skipFailedRequests: true }, 500);
    expect(await statuses(await listen(failing.server), 5)).toEqual([500, 500, 500, 500, 500]);
    const fine = app({ store: asTheirs(), skipSuccessfulRequests: true });
    expect(await statuses(await listen(fine.server), 5)).toEqual([200, 200, 200, 200, 200]);
  });

  test('two instances on one Redis together admit exactly as many concurrent requests as the limit allows', async () => {
    const prefix = freshPrefix();
    const instances = [0, 1].map(() => app({ limit: 25, store: asTheirs({ store: ownRedis(), prefix }) }));
    const urls = await Promise.all(instances.map(({ server }) => listen(server)));
    expect(await admitted(urls, 100)).toBe(25);
    expect(await instances[0]?.limiter.getKey('client')).toMatchObject({ totalHits: 100 });
  });

  test('the middleware detects that two limiters with the same prefix count a request twice', async () => {
    const shared = memory();
    const twice = (second: string) => {
      const first = app({ store: asTheirs({ store: shared, prefix: 'first' }) });
      const { limiter, errors } = app({ store: asTheirs({ store: shared, prefix: second }) });
      const server = framework();
      server.use(first.limiter, limiter);
      server.get('/', (_request, response) => void response.send('hello'));
      return { server, errors };
    };
    const same = twice('first');
    await statuses(await listen(same.server), 1);
    expect(same.errors).toMatchObject([{ code: 'ERR_ERL_DOUBLE_COUNT' }]);
    const apart = twice('second');
    await statuses(await listen(apart.server), 1);
    expect(apart.errors).toEqual([]);
  });
});

describe('while Redis is unavailable,', () => {
  async function answers(onFailure: 'throw' | 'allow' | 'deny', passOnStoreError: boolean) {
    const server = express();
    const logger = { error: vi.fn(), warn: vi.fn() };
    server.use(
      rateLimit({ limit: 1, store: asTheirs({ store: unreachable(onFailure) }), passOnStoreError, logger }),
    );
    server.get('/', (_request, response) => void response.send('hello'));
    server.use((_error: unknown, _request: unknown, response: express.Response, _next: unknown) => {
      response.status(503).send('no store');
    });
    const seen = await statuses(await listen(server), 3);
    return { seen, complaints: logger.error.mock.calls.length };
  }

  test('requests are allowed or denied according to onFailure, and if onFailure is throw, passOnStoreError decides', async () => {
    expect(await answers('throw', false)).toEqual({ seen: [503, 503, 503], complaints: 0 });
    expect(await answers('throw', true)).toEqual({ seen: [200, 200, 200], complaints: 3 });
    expect(await answers('allow', false)).toEqual({ seen: [200, 200, 200], complaints: 0 });
    expect(await answers('deny', false)).toEqual({ seen: [429, 429, 429], complaints: 0 });
  });
});
