import { describe, expect, test, vi } from 'vitest';
import { limitedFetch, type LimitedFetchOptions } from '../../../src/http/index.ts';
import { concurrency, createLimiter, fixedWindow, memory, type Policy } from '../../../src/index.ts';
import { inTurn, serve, swiftClock } from '../server.ts';

const cost = { requests: 1, tokens: 400 };

function model(slots: { readonly slots?: Policy } = { slots: concurrency({ limit: 4, lease: '1m' }) }) {
  const clock = swiftClock();
  const limiter = createLimiter(
    {
      requests: fixedWindow({ limit: 10, per: '1h' }),
      tokens: fixedWindow({ limit: 1000, per: '1h' }),
      ...slots,
    },
    { store: memory({ clock }), name: 'model' },
  );
  const used = () => limiter.peek('k', 0).policies.map(({ limit, remaining }) => limit - remaining);
  const fetchWith = (options: LimitedFetchOptions<Response>) =>
    limitedFetch(fetch, { limiter, key: () => 'k', clock, random: () => 0, ...options });
  return { limiter, used, fetchWith };
}

const answers = (text: string) => inTurn([200, {}, text]);

describe('the cost of a call', () => {
  test.each([
    ['an object', cost],
    ['a function', () => cost],
  ])('given as %s is charged to each policy, and the place is released', async (_, given) => {
    const { url } = await serve(answers('ok'));
    const { used, fetchWith } = model();
    expect((await fetchWith({ cost: given })(url)).status).toBe(200);
    expect(used()).toEqual([1, 400, 0]);
  });

  test('must not name an unknown policy: the call rejects, and nothing is sent or charged', async () => {
    const { url, visits } = await serve(answers('ok'));
    const { used, fetchWith } = model();
    await expect(fetchWith({ cost: { tokns: 1 } })(url)).rejects.toMatchObject({ code: 'ERR_COST' });
    expect([used(), visits]).toEqual([[0, 0, 0], []]);
  });

  test('stays charged if the request fails and there is no `settle` function', async () => {
    const { used, fetchWith } = model();
    await expect(fetchWith({ cost })('http://127.0.0.1:1/')).rejects.toThrow();
    expect(used()).toEqual([1, 400, 0]);
  });
});

describe('settle', () => {
  test('corrects the charge to what the response says', async () => {
    const { url } = await serve(answers('{"tokens":150}'));
    const { used, fetchWith } = model();
    const settle = vi.fn(
      async (response: Response | undefined) => (await response?.clone().json()) as { tokens: number },
    );
    const response = await fetchWith({ cost, settle })(url);
    expect(await response.json()).toEqual({ tokens: 150 });
    await expect.poll(used).toEqual([1, 150, 0]);
    expect(settle).toHaveBeenCalledExactlyOnceWith(response, expect.objectContaining({ method: 'GET' }));
  });

  test('may charge more than the limit, so that the next call waits', async () => {
    const { url } = await serve(answers('ok'));
    const { limiter, used, fetchWith } = model();
    await fetchWith({ cost, settle: () => ({ tokens: 1700 }) })(url);
    expect(used()).toEqual([1, 1000, 0]);
    expect(limiter.peek('k').allowed).toBe(false);
  });

  test('is called for each attempt', async () => {
    const { url } = await serve(inTurn([503], [200]));
    const { used, fetchWith } = model();
    const settle = (response: Response | undefined) => ({ tokens: response?.status === 200 ? 120 : 0 });
    expect((await fetchWith({ cost, settle })(url)).status).toBe(200);
    expect(used()).toEqual([2, 120, 0]);
  });

  test.each([
    ['nothing if it returns undefined', undefined, [0, 0, 0]],
    ['what it returns', { tokens: 30 }, [1, 30, 0]],
  ])('for a failed request, charges %s', async (_, result, expected) => {
    const { used, fetchWith } = model();
    const settle = vi.fn(() => result);
    await expect(fetchWith({ cost, settle })('http://127.0.0.1:1/')).rejects.toThrow('fetch failed');
    expect(settle).toHaveBeenCalledExactlyOnceWith(undefined, expect.anything(), expect.any(TypeError));
    expect(used()).toEqual(expected);
  });

  test.each([
    ['returns undefined', () => undefined],
    ['throws', () => expect.unreachable()],
    ['rejects', () => Promise.reject(new Error('fault'))],
    ['returns an invalid cost', () => ({ tokens: -1 })],
  ])('leaves the charge unchanged if it %s', async (_, settle) => {
    const { url } = await serve(answers('ok'));
    const { used, fetchWith } = model();
    expect((await fetchWith({ cost, settle })(url)).status).toBe(200);
    expect(used()).toEqual([1, 400, 0]);
  });
});

test('before a call queues again, its charge is refunded to each policy', async () => {
  const { url } = await serve(inTurn([200, { 'Retry-After': 5, RateLimit: '"a";r=0;t=5' }], [200]));
  // The limiter has no concurrency policy, because this clock would jump to each of the timers that renew a place.
  const { limiter, used, fetchWith } = model({});
  const polite = fetchWith({ cost: { tokens: 400 } });
  // While the second call is queued, the server announces a wait to the first call.
  const acquire = limiter.acquire.bind(limiter);
  let calls = 0;
  vi.spyOn(limiter, 'acquire').mockImplementation(async (...call) => {
    const decision = await acquire(...call);
    if (++calls === 2) await first;
    return decision;
  });
  const first = polite(url);
  await Promise.all([first, polite(url)]);
  expect(calls).toBe(3);
  expect(used()).toEqual([2, 800]);
});
