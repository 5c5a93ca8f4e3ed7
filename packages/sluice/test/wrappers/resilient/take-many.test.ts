/** Tests takes from several keys that the store decides in one step, over a network that is slow or fails. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { concurrency, createLimiter, type Decision, fixedWindow } from '../../../src/index.ts';
import { overNetwork, type Setup } from './slow-store.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const POLICIES = fixedWindow({ limit: 3, per: '1d', align: 'first' });
const LOST = new Error('read ECONNRESET');
const DEADLINE = 100;
const ITEMS = [{ key: 'a' }, { key: 'b', cost: 2 }];

const remaining = ({ witness }: Setup): number[] => ['a', 'b'].map((key) => witness.peek(key).remaining);

test('takeMany is one call to the store', async () => {
  const setup = await overNetwork(POLICIES);
  expect(await setup.limiter.takeMany(ITEMS)).toMatchObject({ allowed: true, atomic: true, source: 'store' });
  expect(await setup.limiter.takeMany(ITEMS)).toMatchObject({ allowed: false, atomic: true });
  expect(setup.network.sent).toEqual(['all 1 2', 'all 1 2']);
  expect(remaining(setup)).toEqual([2, 1]);
});

describe('if the store does not answer takeMany,', () => {
  test("onFailure 'local' charges all keys in memory or none", async () => {
    const setup = await overNetwork(POLICIES, { onFailure: 'local' });
    setup.network.error = LOST;
    const answers = [await setup.limiter.takeMany(ITEMS), await setup.limiter.takeMany(ITEMS)];
    expect(answers).toMatchObject([
      { allowed: true, atomic: true, taken: 3 },
      { allowed: false, atomic: true, taken: 0 },
    ]);
    for (const { decisions } of answers)
      expect(decisions.map(({ source }) => source)).toEqual(['fallback', 'fallback']);
    expect((await setup.limiter.peek('a')).remaining).toBe(2);
    for (const [i, { key }] of ITEMS.entries())
      await setup.limiter.refund(key, { of: answers[0].decisions[i] });
    expect((await setup.limiter.peek('b')).remaining).toBe(3);
    expect(remaining(setup)).toEqual([3, 3]);
  });

  test.each([
    ['throw', 'connection'],
    ['allow', true],
    ['deny', false],
  ] as const)('onFailure %s applies to all keys', async (onFailure, expected) => {
    const setup = await overNetwork(POLICIES, { onFailure });
    setup.network.error = LOST;
    const answer = await setup.limiter.takeMany(ITEMS).catch((error: { fault: string }) => error.fault);
    expect(typeof answer === 'string' ? answer : answer.allowed).toBe(expected);
    expect(remaining(setup)).toEqual([3, 3]);
  });

  test('a limiter that decides instead is charged for all keys or for none', async () => {
    const limiter = createLimiter(fixedWindow({ limit: 2, per: '1d' }));
    const setup = await overNetwork(POLICIES, { onFailure: limiter });
    setup.network.error = LOST;
    const allowed: boolean[] = [];
    for (let i = 0; i < 2; i++) allowed.push((await setup.limiter.takeMany(ITEMS)).allowed);
    expect(allowed).toEqual([true, false]);
    expect(['a', 'b'].map((key) => limiter.peek(key).remaining)).toEqual([1, 0]);
  });

  test('the circuit breaker opens, and later calls are not sent', async () => {
    const setup = await overNetwork(POLICIES, { onFailure: 'deny' });
    setup.network.error = LOST;
    for (let i = 0; i < 10; i++) await setup.limiter.takeMany(ITEMS);
    expect(setup.events.map(({ type }) => type)).toEqual(['open']);
    expect(setup.network.sent.filter((sent) => sent.startsWith('all')).length).toBeLessThan(10);
  });

  test('charges that the store makes after the deadline are refunded', async () => {
    const setup = await overNetwork(POLICIES, { onFailure: 'deny', deadline: DEADLINE });
    setup.network.delay = 500;
    const answer = setup.limiter.takeMany(ITEMS);
    setup.network.delay = 0;
    await vi.advanceTimersByTimeAsync(DEADLINE + 2);
    expect((await answer).allowed).toBe(false);
    await vi.advanceTimersByTimeAsync(500);
    expect(setup.network.sent).toEqual(['all 1 2', 'refund 1', 'refund 2']);
    expect(remaining(setup)).toEqual([3, 3]);
  });

  test('places that the store takes after the deadline are released', async () => {
    const setup = await overNetwork(concurrency({ limit: 3, lease: '60s' }), {
      onFailure: 'allow',
      deadline: DEADLINE,
    });
    setup.network.delay = 500;
    const answer = setup.limiter.takeMany(ITEMS);
    setup.network.delay = 0;
    await vi.advanceTimersByTimeAsync(DEADLINE + 2);
    expect((await answer).allowed).toBe(true);
    await vi.advanceTimersByTimeAsync(500);
    expect(remaining(setup)).toEqual([3, 3]);
  });
});

test('a failed release of a place that takeMany took is repeated', async () => {
  const setup = await overNetwork(concurrency({ limit: 3, lease: '60s' }), { onFailure: 'throw' });
  const { decisions } = await setup.limiter.takeMany(ITEMS);
  setup.network.error = new Error('LOADING Redis is loading the dataset in memory');
  const release = (key: string, of: Decision) => setup.limiter.release(key, { of }).catch(() => {});
  for (const [i, { key }] of ITEMS.entries()) await release(key, decisions[i]);
  setup.network.error = undefined;
  expect(remaining(setup)).toEqual([2, 1]);
  await vi.advanceTimersByTimeAsync(5000);
  await setup.limiter.peek('other');
  await vi.advanceTimersByTimeAsync(5000);
  expect(remaining(setup)).toEqual([3, 3]);
});
