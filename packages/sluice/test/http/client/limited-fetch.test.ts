import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { describe, expect, inject, onTestFinished, test, vi } from 'vitest';
import { limitedFetch, type LimitedFetchOptions } from '../../../src/http/index.ts';
import {
  ClosedError,
  concurrency,
  createLimiter,
  DeniedError,
  fixedWindow,
  gcra,
  memory,
  SluiceError,
} from '../../../src/index.ts';
import { redis } from '../../../src/stores/redis/index.ts';
import { manualClock } from '../../../src/testing/index.ts';
import { inTurn, serve, settled, START, swiftClock } from '../server.ts';

// Some tests make a thousand calls over real sockets.
vi.setConfig({ testTimeout: 60_000 });

/** Advances a clock step by step, waiting for sockets in between, until the promise is settled. */
async function passing<T>(
  promise: Promise<T>,
  clock: { advance(by: number): void },
  stride: number,
): Promise<T> {
  let done = false;
  void promise
    .catch(() => {})
    .finally(() => {
      done = true;
    });
  for (await settled(); !done; await settled()) clock.advance(stride);
  return promise;
}

/** The timeout is longer than the default, for busy machines. */
const SOON = { timeout: 10_000 };

/** A fetch that records when it was called. */
function stamps(clock: { now(): number }) {
  const sent: number[] = [];
  const stamped: typeof fetch = (...call) => {
    sent.push(clock.now() - START);
    return fetch(...call);
  };
  return { sent, stamped };
}

describe('limitedFetch', () => {
  test('never retries before Retry-After, whatever the jitter', async () => {
    const clock = swiftClock();
    let wait = 0;
    const { url, visits } = await serve(({ url }) => {
      const first = visits.filter((visit) => visit.url === url).length === 1;
      return first ? [429, { 'Retry-After': wait }] : [200];
    }, clock);
    const polite = limitedFetch(fetch, { clock, retryRatio: 1 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 28 }), fc.uuid(), async (seconds, id) => {
        wait = seconds;
        visits.length = 0;
        expect((await polite(`${url}/${id}`)).status).toBe(200);
        const [first, second] = visits;
        expect(second.at - first.at).toBeGreaterThanOrEqual(seconds * 1000);
        expect(second.at - first.at).toBeLessThanOrEqual(seconds * 1000 + 500);
      }),
      { numRuns: 50 },
    );
  });

  test('waits for Retry-After in real time', async () => {
    const { url, visits } = await serve(inTurn([429, { 'Retry-After': 1 }], [200]), performance);
    expect((await limitedFetch(fetch, { random: () => 0 })(url)).status).toBe(200);
    // Timers and sockets round milliseconds differently.
    expect(visits[1].at - visits[0].at).toBeGreaterThan(995);
  });

  test('returns the response immediately if the announced wait exceeds maxWait, and denies later calls without sending them', async () => {
    const clock = manualClock(START);
    const { url, visits } = await serve(inTurn([429, { 'Retry-After': 3600 }, 'slow down'], [200]), clock);
    const polite = limitedFetch(fetch, { clock });
    const response = await polite(url);
    expect([response.status, await response.text()]).toEqual([429, 'slow down']);
    clock.advance(1000);
    const denied = await polite(url).catch((error: unknown) => error);
    expect(denied).toBeInstanceOf(DeniedError);
    expect((denied as DeniedError).decision).toMatchObject({ policy: 'announced', retryAfter: 3_599_000 });
    expect(visits.length).toBe(1);
    clock.advance(3_599_000);
    expect((await polite(url)).status).toBe(200);
  });

  test('makes a later call wait only for the remainder of the announced time', async () => {
    const clock = swiftClock();
    const { url, visits } = await serve(inTurn([200, { RateLimit: '"a";r=0;t=20' }], [200]), clock);
    const polite = limitedFetch(fetch, { clock });
    await polite(url);
    clock.advance(15_000);
    await polite(url);
    expect(visits[1].at - START).toBe(20_000);
  });

  test('does not shorten a wait when another response announces a shorter one', async () => {
    const clock = swiftClock();
    const { url, visits } = await serve(
      ({ url }) => [200, { RateLimit: `"a";r=0;t=${url === '/long' ? 25 : 5}` }],
      clock,
    );
    const polite = limitedFetch(fetch, { clock });
    await Promise.all([polite(`${url}/long`), polite(`${url}/short`)]);
    await polite(url);
    expect(visits[2].at - START).toBe(25_000);
  });

  test('does not delay a key for which no wait was announced', async () => {
    const clock = manualClock(START);
    const { url } = await serve(() => [429, { 'Retry-After': 20 }], clock);
    const other = await serve(() => [200], clock);
    const polite = limitedFetch(fetch, { clock, retries: 0 });
    await polite(url);
    expect((await polite(other.url)).status).toBe(200);
    const byPath = limitedFetch(fetch, { clock, retries: 0, key: ({ url }) => new URL(url).pathname });
    await byPath(`${url}/a`);
    expect((await byPath(`${url}/b`)).status).toBe(429);
  });

  test('with `respect: false`, makes retries wait, but not later calls', async () => {
    const clock = swiftClock();
    const { url, visits } = await serve(inTurn([429, { 'Retry-After': 9 }], [200]), clock);
    const hasty = limitedFetch(fetch, { clock, respect: false, random: () => 0 });
    await hasty(url);
    expect(visits[1].at - START).toBe(9000);
    const again = await serve(() => [200, { RateLimit: '"a";r=0;t=20' }], clock);
    await hasty(again.url);
    await hasty(again.url);
    expect(again.visits[1].at).toBe(again.visits[0].at);
  });

  test('remembers the waits of at most 10,000 keys and evicts the oldest', async () => {
    const clock = manualClock(START);
    const full = async (_url: string) => ({
      status: 200,
      headers: new Headers({ RateLimit: '"a";r=0;t=60' }),
    });
    const polite = limitedFetch(full, { clock, key: ({ url }) => url });
    for (let i = 0; i < 9_999; i++) await polite(`${i}`);
    await Promise.all([polite('9999'), polite('9999')]);
    await expect(polite('0')).rejects.toThrow(DeniedError);
    await polite('10000');
    await expect(polite('1')).rejects.toThrow(DeniedError);
    await expect(polite('0')).resolves.toMatchObject({ status: 200 });
    await expect(polite('1')).resolves.toMatchObject({ status: 200 });
  });
});

describe('a retry', () => {
  test('is made at most twice after a 429 or 503, and then the last response is returned', async () => {
    const clock = swiftClock();
    for (const status of [429, 503]) {
      let count = 0;
      const { url, visits } = await serve(() => [status, {}, `try ${++count}`], clock);
      const response = await limitedFetch(fetch, { clock })(url);
      expect([response.status, await response.text(), visits.length]).toEqual([status, 'try 3', 3]);
    }
    const { url, visits } = await serve(() => [500], clock);
    expect((await limitedFetch(fetch, { clock })(url)).status).toBe(500);
    expect(visits.length).toBe(1);
    const retried = limitedFetch(fetch, { clock, retryOn: [500], retries: 4 });
    expect((await retried(url)).status).toBe(500);
    expect(visits.length).toBe(6);
  });

  test('is not made after a network error', async () => {
    const { url, visits } = await serve((_visit, response) => void response.destroy());
    await expect(limitedFetch(fetch)(url)).rejects.toThrow('fetch failed');
    expect(visits.length).toBe(1);
  });

  test('waits for a random part of a backoff that doubles each time', async () => {
    for (const part of [0, 0.5, 0.999]) {
      const clock = swiftClock();
      const { url, visits } = await serve(() => [503], clock);
      await limitedFetch(fetch, { clock, retries: 4, backoff: '1s', random: () => part })(url);
      const pauses = visits.slice(1).map(({ at }, i) => Math.round(at - visits[i].at));
      expect(pauses).toEqual([1000, 2000, 4000, 8000].map((most) => Math.round(most * part)));
    }
  });

  test('keeps the total wait of a call within maxWait', async () => {
    const clock = swiftClock();
    const { url, visits } = await serve(() => [503, { 'Retry-After': 4 }], clock);
    const response = await limitedFetch(fetch, { clock, retries: 100, maxWait: '10s', random: () => 0 })(url);
    expect(response.status).toBe(503);
    expect(visits.map(({ at }) => at - START)).toEqual([0, 4000, 8000]);
  });

  test('stays within the budget while a server answers 503 to everything', async () => {
    const clock = swiftClock();
    let isDown = true;
    const { url, visits } = await serve(() => [isDown ? 503 : 200], clock);
    const polite = limitedFetch(fetch, { clock, random: () => 0 });
    for (let i = 0; i < 50; i++) await Promise.all(Array.from({ length: 10 }, () => polite(url)));
    const retries = visits.length - 500;
    expect(retries).toBeGreaterThanOrEqual(100);
    expect(retries).toBeLessThanOrEqual(10 + 0.2 * 500);
    isDown = false;
    for (let i = 0; i < 50; i++) await polite(url);
    expect(visits.length).toBe(500 + retries + 50);
    const strict = limitedFetch(fetch, { clock, retryRatio: 0 });
    isDown = true;
    visits.length = 0;
    for (let i = 0; i < 20; i++) await strict(url);
    expect(visits.length).toBe(20 + 10);
  });

  test('that would exceed maxWait is not made, and uses none of the retry budget', async () => {
    const clock = swiftClock();
    let headers: Record<string, string> = { 'Retry-After': '3600' };
    const { url, visits } = await serve(() => [503, headers], clock);
    const polite = limitedFetch(fetch, {
      clock,
      respect: false,
      retries: 10,
      retryRatio: 0,
      random: () => 0,
    });
    for (let i = 0; i < 20; i++) await polite(url);
    expect(visits.length).toBe(20);
    headers = {};
    await polite(url);
    expect(visits.length).toBe(20 + 1 + 10);
  });

  test('is not made for a non-idempotent method unless the method is listed', async () => {
    const clock = swiftClock();
    const { url, visits } = await serve(() => [503], clock);
    await limitedFetch(fetch, { clock })(url, { method: 'POST', body: 'order' });
    await limitedFetch(fetch, { clock })(new Request(url, { method: 'PATCH' }));
    expect(visits.length).toBe(2);
    await limitedFetch(fetch, { clock, retryMethods: ['post'] })(url, { method: 'post', body: 'order' });
    expect(visits.slice(2).map(({ method, body }) => `${method} ${body}`)).toEqual(
      Array(3).fill('POST order'),
    );
  });

  type Body = NonNullable<RequestInit['body']> | null;
  const form = new FormData();
  form.append('a', '1');
  const WHOLE: Record<string, [body: Body, text: RegExp]> = {
    'no body': [null, /^$/],
    'a string': ['text', /^text$/],
    'an ArrayBuffer': [new TextEncoder().encode('text').buffer, /^text$/],
    'a Uint8Array': [new TextEncoder().encode('text'), /^text$/],
    URLSearchParams: [new URLSearchParams({ a: '1' }), /^a=1$/],
    FormData: [form, /name="a"\r\n\r\n1\r\n/],
    'a Blob': [new Blob(['text']), /^text$/],
  };
  test.each(Object.entries(WHOLE))('sends the body again unchanged: %s', async (_, [body, text]) => {
    const clock = swiftClock();
    const { url, visits } = await serve(inTurn([503], [503], [200]), clock);
    expect((await limitedFetch(fetch, { clock })(url, { method: 'PUT', body })).status).toBe(200);
    expect(visits.length).toBe(3);
    for (const visit of visits) expect(visit.body).toMatch(text);
  });

  async function* pieces() {
    yield new TextEncoder().encode('piece');
  }
  const STREAMS: Record<string, () => Body> = {
    'a ReadableStream': () => new Blob(['piece']).stream(),
    'an async iterable': () => pieces(),
  };
  test.each(Object.entries(STREAMS))('never sends a stream twice: %s', async (_, stream) => {
    const clock = swiftClock();
    const { url, visits } = await serve(() => [503, {}, 'busy'], clock);
    const response = await limitedFetch(fetch, { clock })(url, {
      method: 'PUT',
      body: stream(),
      duplex: 'half',
    });
    expect([response.status, await response.text()]).toEqual([503, 'busy']);
    expect(visits.map(({ body }) => body)).toEqual(['piece']);
  });

  test('sends a Request again only if it has no body', async () => {
    const clock = swiftClock();
    const { url, visits } = await serve(() => [503], clock);
    await limitedFetch(fetch, { clock })(new Request(url, { headers: { a: 'b' } }));
    expect(visits.length).toBe(3);
    visits.length = 0;
    expect(
      (await limitedFetch(fetch, { clock })(new Request(url, { method: 'PUT', body: 'x' }))).status,
    ).toBe(503);
    expect(visits.length).toBe(1);
  });

  test('frees the socket of the response that it replaces, even if the body of that response never ends', async () => {
    const clock = swiftClock();
    let open = 0;
    const { url, visits } = await serve((_visit, response) => {
      if (visits.length % 2 === 0) return [200, {}, 'done'];
      open++;
      response.on('close', () => open--);
      response.writeHead(503).write('x'.repeat(1000));
      return undefined;
    }, clock);
    const polite = limitedFetch(fetch, { clock, retryRatio: 1 });
    for (let i = 0; i < 20; i++) expect(await (await polite(url)).text()).toBe('done');
    await vi.waitUntil(() => open === 0, SOON);
    expect(visits.length).toBe(40);
  });
});

describe('limitedFetch with a limiter', () => {
  test('needs at least 19.98 s for 1,000 calls at 50/s', async () => {
    const clock = manualClock(START);
    const { url, visits } = await serve(() => [200], clock);
    const limiter = createLimiter('50/s burst 1', { store: memory({ clock }) });
    const { sent, stamped } = stamps(clock);
    const polite = limitedFetch(stamped, { limiter, clock });
    const calls = Array.from({ length: 1000 }, async () => (await polite(url)).text());
    await passing(Promise.all(calls), clock, 20);
    expect([sent.length, visits.length]).toEqual([1000, 1000]);
    expect(sent[999] - sent[0]).toBeGreaterThanOrEqual(19_980);
    for (let i = 50; i < 1000; i++) expect(sent[i] - sent[i - 50]).toBeGreaterThanOrEqual(1000);
  });

  test('needs at least 580 ms of real time for 30 calls at 50/s', async () => {
    const { url } = await serve(() => [200]);
    const polite = limitedFetch(fetch, { limiter: createLimiter('50/s burst 1') });
    const start = performance.now();
    await Promise.all(Array.from({ length: 30 }, async () => (await polite(url)).text()));
    expect(performance.now() - start).toBeGreaterThanOrEqual(580);
  });

  test('charges each attempt with the key and cost of the request', async () => {
    const clock = swiftClock();
    const { url } = await serve(() => [503], clock);
    const limiter = createLimiter('100/day', { store: memory({ clock }) });
    const seen: string[] = [];
    const polite = limitedFetch(fetch, {
      limiter,
      clock,
      maxWait: '25s',
      random: () => 0,
      key: ({ url, method, headers }) => {
        seen.push(`${new URL(url).pathname} ${method} ${headers.get('authorization')}`);
        return headers.get('authorization') ?? 'nobody';
      },
      cost: ({ method }) => (method === 'PUT' ? 10 : 1),
    });
    await polite(`${url}/a`, { method: 'put', headers: { Authorization: 'alice' } });
    await polite(new Request(`${url}/b`, { headers: { Authorization: 'bob' } }), {
      headers: { authorization: 'eve' },
    });
    await polite(new URL(`${url}/c`));
    expect(seen).toEqual(['/a PUT alice', '/b GET eve', '/c GET null']);
    expect(['alice', 'bob', 'eve', 'nobody'].map((who) => limiter.peek(who).remaining)).toEqual([
      70, 100, 97, 97,
    ]);
  });

  test('limits each origin separately by default', async () => {
    const clock = manualClock(START);
    const { url } = await serve(() => [200], clock);
    const limiter = createLimiter('100/day', { store: memory({ clock }) });
    const polite = limitedFetch(fetch, { limiter, clock });
    for (const path of ['', '/a?b#c', '/d']) await (await polite(url + path)).text();
    expect(limiter.peek(url).remaining).toBe(97);
  });

  test("rejects with a DeniedError, and neither sends nor charges anything, if a call's turn does not come in time", async () => {
    const clock = manualClock(START);
    const { url, visits } = await serve(() => [200], clock);
    const limiter = createLimiter(fixedWindow({ limit: 1, per: '1h' }), { store: memory({ clock }) });
    const polite = limitedFetch(fetch, { limiter, clock, maxWait: '5s' });
    await polite(url);
    const denied = await passing(
      polite(url).catch((error: unknown) => error),
      clock,
      1000,
    );
    expect(denied).toBeInstanceOf(DeniedError);
    expect((denied as DeniedError).decision.policy).toBe('default');
    expect(clock.now() - START).toBeGreaterThanOrEqual(5000);
    expect(visits.length).toBe(1);
  });

  test('returns the previous response, unread, if the limiter denies a retry', async () => {
    const clock = manualClock(START);
    const { url, visits } = await serve(() => [503, {}, 'busy'], clock);
    const limiter = createLimiter(fixedWindow({ limit: 1, per: '1h' }), { store: memory({ clock }) });
    const polite = limitedFetch(fetch, { limiter, clock, maxWait: '5s' });
    const response = await passing(polite(url), clock, 500);
    expect([response.status, await response.text(), visits.length]).toEqual([503, 'busy', 1]);
  });

  test('rejects and discards the response if the limiter is closed while a retry waits', async () => {
    let isOpen = false;
    const { url } = await serve((_visit, response) => {
      isOpen = true;
      response.on('close', () => {
        isOpen = false;
      });
      response.writeHead(503).write('x');
      return undefined;
    });
    const limiter = createLimiter('1/10s');
    let asked = 0;
    const counted: typeof limiter = {
      ...limiter,
      acquire(...call) {
        asked++;
        return limiter.acquire(...call);
      },
    };
    const call = limitedFetch(fetch, { limiter: counted, random: () => 0 })(url).catch(
      (error: unknown) => error,
    );
    await vi.waitUntil(() => isOpen && asked === 2, SOON);
    await limiter.close();
    expect(await call).toBeInstanceOf(ClosedError);
    await vi.waitUntil(() => !isOpen, SOON);
  });

  test('sends nothing during an announced wait, then spaces the waiting calls and loses no turn', async () => {
    const clock = manualClock(START);
    const { url, visits } = await serve(inTurn([429, { 'Retry-After': 5 }], [200]), clock);
    const { sent, stamped } = stamps(clock);
    const limiter = createLimiter(
      { rate: gcra({ limit: 10, per: '1s', burst: 1 }), day: fixedWindow({ limit: 100, per: '1d' }) },
      { store: memory({ clock }) },
    );
    const polite = limitedFetch(stamped, { limiter, clock, random: () => 0 });
    const calls = Array.from({ length: 20 }, () => polite(url));
    // The first response arrives before the second call's turn.
    await vi.waitUntil(() => visits.length === 1, SOON);
    for (let i = 0; i < 50; i++) await settled();
    const statuses = (await passing(Promise.all(calls), clock, 10)).map(({ status }) => status);
    expect(statuses).toEqual(Array(20).fill(200));
    expect(sent).toEqual([0, ...Array.from({ length: 20 }, (_, i) => 5000 + 100 * i)]);
    expect(limiter.peek(url).policies[1].remaining).toBe(100 - 21);
  });

  test('limits concurrent calls, and releases every place', async () => {
    let inFlight = 0;
    let most = 0;
    const { url } = await serve((_visit, response) => {
      most = Math.max(most, ++inFlight);
      // The server answers the first requests only once three of them have been in flight together.
      const answer = (): unknown => {
        if (most < 3) return setTimeout(answer, 5);
        inFlight--;
        return response.end('ok');
      };
      setTimeout(answer, 5);
      return undefined;
    });
    const limiter = createLimiter(concurrency({ limit: 3, lease: '1m' }));
    const polite = limitedFetch(fetch, { limiter });
    await Promise.all(Array.from({ length: 30 }, async () => (await polite(url)).text()));
    expect(most).toBe(3);
    await expect(polite('http://127.0.0.1:1/')).rejects.toThrow();
    expect(limiter.peek(url).remaining).toBe(3);
    expect(limiter.peek('http://127.0.0.1:1').remaining).toBe(3);
  });

  test('spaces calls with a limiter on Redis, and with maxWait: 0 rejects calls that would have to wait', async () => {
    const client = new Redis(inject('redisPort'));
    onTestFinished(() => client.disconnect());
    const { url } = await serve(() => [200]);
    const store = redis(client, { onFailure: 'throw', deadline: '10s' });
    const name = `outbound-${Math.random()}`;
    const limiter = createLimiter('20/s burst 2', { store, name });
    const start = performance.now();
    const polite = limitedFetch(fetch, { limiter });
    await Promise.all([1, 2, 3, 4, 5].map(async () => (await polite(url)).text()));
    expect(performance.now() - start).toBeGreaterThanOrEqual(149);
    const slow = createLimiter('20/h burst 2', { store, name: `${name} slow` });
    const hasty = limitedFetch(fetch, { limiter: slow, maxWait: 0 });
    const answers = await Promise.allSettled([1, 2, 3].map(() => hasty(url)));
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
  });
});

describe('an abort', () => {
  const reason = new Error('changed my mind');

  /** A system clock that records each wait and counts the timers that have not ended. */
  function watchedClock() {
    const waits: number[] = [];
    const pending = new Set<object>();
    const clock = {
      now: () => performance.now(),
      after(delay: number, wake: () => void) {
        waits.push(delay);
        const timer = setTimeout(() => {
          pending.delete(timer);
          wake();
        }, delay);
        pending.add(timer);
        return () => {
          pending.delete(timer);
          clearTimeout(timer);
        };
      },
    };
    return { clock, waits, pending };
  }

  /** Aborts as soon as `waiting` returns true, and checks that no timer or listener remains. */
  async function aborted(options: LimitedFetchOptions, url: string, waiting: () => unknown) {
    const abort = new AbortController();
    const call = limitedFetch(fetch, options)(url, { signal: abort.signal }).catch((error: unknown) => error);
    await vi.waitUntil(waiting, SOON);
    await settled();
    abort.abort(reason);
    expect(await call).toBe(reason);
    expect(getEventListeners(abort.signal, 'abort').length).toBe(0);
  }

  test('before the call prevents it from being sent or charged', async () => {
    const { url, visits } = await serve(() => [200]);
    const limiter = createLimiter('5/day');
    for (const options of [{}, { limiter }])
      await expect(limitedFetch(fetch, options)(url, { signal: AbortSignal.abort(reason) })).rejects.toBe(
        reason,
      );
    expect([visits.length, limiter.peek(url).remaining]).toEqual([0, 5]);
  });

  test('while waiting for the limiter charges nothing and leaves no timer behind', async () => {
    const { url, visits } = await serve(() => [200]);
    const { clock, waits, pending } = watchedClock();
    const limiter = createLimiter('1/10s', { store: memory({ clock }) });
    limiter.take(url);
    await aborted({ limiter, key: () => url, clock }, url, () => pending.size > 0);
    expect(waits.length).toBeGreaterThan(0);
    expect(pending.size).toBe(0);
    expect(limiter.peek(url).retryAfter).toBeLessThanOrEqual(10_000);
    expect(visits.length).toBe(0);
  });

  test('between two attempts leaves no timer behind and discards the response', async () => {
    let closed = false;
    const { url, visits } = await serve((_visit, response) => {
      response.on('close', () => {
        closed = true;
      });
      response.writeHead(503, { 'Retry-After': 20 }).write('x');
      return undefined;
    });
    const { clock, waits, pending } = watchedClock();
    await aborted({ clock }, url, () => waits.length === 1);
    expect([visits.length, waits.length, pending.size]).toEqual([1, 1, 0]);
    await vi.waitUntil(() => closed, SOON);
  });

  test('while waiting for an announced reset leaves no timer behind', async () => {
    const clock = manualClock(START);
    const waits: (() => void)[] = [];
    let cancelled = 0;
    const counted = {
      now: () => clock.now(),
      after(delay: number, wake: () => void) {
        waits.push(wake);
        const cancel = clock.after(delay, wake);
        return () => {
          cancelled++;
          cancel();
        };
      },
    };
    const { url, visits } = await serve(() => [200, { RateLimit: '"a";r=0;t=20' }], clock);
    const polite = limitedFetch(fetch, { clock: counted });
    await polite(url);
    const abort = new AbortController();
    const call = polite(new Request(url, { signal: abort.signal }));
    await settled();
    expect([waits.length, cancelled]).toEqual([1, 0]);
    abort.abort(reason);
    await expect(call).rejects.toBe(reason);
    expect([waits.length, cancelled, visits.length]).toEqual([1, 1, 1]);
  });

  test('that never happens leaves no listener on the signal', async () => {
    const clock = swiftClock();
    const { signal } = new AbortController();
    const busy = async (_url: string, _init: { signal: AbortSignal }) => new Response('', { status: 503 });
    await limitedFetch(busy, { clock })('https://example.org/', { signal });
    expect(getEventListeners(signal, 'abort').length).toBe(0);
  });

  test('during the request is handled by fetch, and the request is not retried', async () => {
    const { url, visits } = await serve(() => undefined);
    await aborted({}, url, () => visits.length === 1);
    expect(visits.length).toBe(1);
  });
});

describe('the function that limitedFetch returns', () => {
  test('keeps the properties of the fetch it wraps', () => {
    const own = Object.assign(async (_url: string) => new Response(), { preconnect: () => 'connected' });
    expect(limitedFetch(own).preconnect()).toBe('connected');
  });

  test('accepts a relative URL, a null signal and null options', async () => {
    const seen: unknown[] = [];
    const own = async (...args: unknown[]) => {
      seen.push(args);
      return new Response();
    };
    const limiter = createLimiter('5/day');
    const polite = limitedFetch(own, { limiter });
    await polite('/api', { signal: null });
    await polite('/api', null);
    expect(seen).toEqual([
      ['/api', { signal: null }],
      ['/api', null],
    ]);
    expect(limiter.peek('same-origin').remaining).toBe(3);
  });
});

describe('limitedFetch throws', () => {
  const MISTAKES: [options: Record<string, unknown>, option: string, code: string][] = [
    [{ retrys: 1 }, 'limitedFetch.retrys', 'ERR_UNKNOWN_OPTION'],
    [{ limiter: {} }, 'limitedFetch.limiter', 'ERR_OPTIONS'],
    [{ cost: -1 }, 'limitedFetch.cost', 'ERR_COST'],
    [{ cost: null }, 'limitedFetch.cost', 'ERR_COST'],
    [{ cost: { tokens: -1 } }, 'limitedFetch.cost.tokens', 'ERR_COST'],
    [{ settle: 1 }, 'limitedFetch.settle', 'ERR_OPTIONS'],
    [{ settle: () => 1 }, 'limitedFetch.settle', 'ERR_OPTIONS'],
    [{ maxWait: 'long' }, 'limitedFetch.maxWait', 'ERR_DURATION'],
    [{ maxWait: -1 }, 'limitedFetch.maxWait', 'ERR_DURATION'],
    [{ retries: 1.5 }, 'limitedFetch.retries', 'ERR_INTEGER'],
    [{ retryRatio: -0.1 }, 'limitedFetch.retryRatio', 'ERR_NUMBER'],
    [{ backoff: 0 }, 'limitedFetch.backoff', 'ERR_DURATION'],
    [{ retryOn: 429 }, 'limitedFetch.retryOn', 'ERR_OPTIONS'],
    [{ retryMethods: 'GET' }, 'limitedFetch.retryMethods', 'ERR_OPTIONS'],
    [{ key: 'origin' }, 'limitedFetch.key', 'ERR_OPTIONS'],
    [{ random: 0.5 }, 'limitedFetch.random', 'ERR_OPTIONS'],
  ];
  test.each(MISTAKES)('for %o, and the error names the option', (options, option, code) => {
    const attempt = () => limitedFetch(fetch, options as LimitedFetchOptions);
    expect(attempt).toThrow(SluiceError);
    expect(attempt).toThrow(expect.objectContaining({ option, code }));
  });

  test('if fetch is missing', () => {
    expect(() => limitedFetch(undefined as unknown as typeof fetch)).toThrow(/limitedFetch\.fetch/);
  });
});
