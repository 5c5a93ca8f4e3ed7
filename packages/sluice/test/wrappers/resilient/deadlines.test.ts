/** The deadlines of `resilient`, in fake time. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../../src/internal/clock.ts';
import { deadlines } from '../../../src/wrappers/resilient/deadlines.ts';
import { after, overNetwork, overNewNetwork } from './slow-store.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe('a hit', () => {
  test('has a deadline of 200 ms by default, and gets the store’s answer if the answer arrives in that time', async () => {
    const { network, limiter } = await overNetwork('10/day', { onFailure: 'throw' });
    network.delay = 199;
    expect(await after(199, limiter.take('k'))).toMatchObject({ source: 'store', remaining: 9 });
    network.delay = 300;
    let result: unknown;
    void after(0, limiter.take('k')).then((outcome) => {
      result = outcome;
    });
    await vi.advanceTimersByTimeAsync(199);
    expect(result).toBeUndefined();
    await vi.advanceTimersByTimeAsync(2);
    expect(result).toBe('deadline');
  });

  test('fails at its deadline, or two seconds after the first hit if that is later and the store has never answered', async () => {
    const { network, limiter } = overNewNetwork('10/day', { onFailure: 'throw', deadline: 200 });
    network.delay = 10_000;
    const results: [number, unknown][] = [];
    const start = systemClock.now();
    const take = (): void => {
      void after(0, limiter.take('k')).then((outcome) => results.push([systemClock.now() - start, outcome]));
    };
    take();
    await vi.advanceTimersByTimeAsync(1500);
    take();
    await vi.advanceTimersByTimeAsync(400);
    take();
    await vi.advanceTimersByTimeAsync(98);
    expect(results).toEqual([]);
    await vi.advanceTimersByTimeAsync(3);
    expect(results.map(([, fault]) => fault)).toEqual(['deadline', 'deadline']);
    await vi.advanceTimersByTimeAsync(98);
    expect(results).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(3);
    expect(results).toHaveLength(3);
    take();
    await vi.advanceTimersByTimeAsync(201);
    expect(results).toHaveLength(4);
  });

  test('is retried every 20 ms while the client is not connected, but only until the store has answered for the first time', async () => {
    const { network, limiter, events } = overNewNetwork('10/day', { onFailure: 'throw' });
    network.error = new Error('The client is offline');
    const first = after(0, limiter.take('k'));
    await vi.advanceTimersByTimeAsync(100);
    expect(network.sent).toEqual(Array.from({ length: 6 }, () => 'take 1'));
    network.error = undefined;
    await vi.advanceTimersByTimeAsync(20);
    expect(await first).toMatchObject({ source: 'store', remaining: 9 });
    expect(events).toEqual([]);
    network.sent.length = 0;
    network.error = new Error('The client is offline');
    expect(await after(0, limiter.take('k'))).toBe('connection');
    expect(network.sent).toEqual(['take 1']);
  });

  test('is not sent again once two seconds have passed since the first hit, nor if the client may already have sent it', async () => {
    const { network, limiter } = overNewNetwork('10/day', { onFailure: 'throw' });
    network.error = new Error('The client is offline');
    const first = after(0, limiter.take('k'));
    await vi.advanceTimersByTimeAsync(1981);
    expect(await first).toBe('connection');
    expect(network.sent).toHaveLength(100);
    const other = overNewNetwork('10/day', { onFailure: 'throw' });
    other.network.error = new Error('read ECONNRESET');
    expect(await after(0, other.limiter.take('k'))).toBe('connection');
    expect(other.network.sent).toHaveLength(1);
  });

  test('fails immediately if maxInFlight other hits are in flight', async () => {
    const { network, limiter } = await overNetwork('10/day', { onFailure: 'throw', maxInFlight: 2 });
    network.delay = 50;
    const taken = [limiter.take('a'), limiter.take('b')];
    expect(await after(0, limiter.take('c'))).toBe('overloaded');
    expect(network.sent).toEqual(['take 1', 'take 1']);
    await vi.advanceTimersByTimeAsync(50);
    await Promise.all(taken);
    expect(await after(50, limiter.take('c'))).toMatchObject({ source: 'store' });
    // Hits that reached the deadline are no longer in flight either.
    network.delay = 1000;
    const late = [limiter.take('a').catch(() => {}), limiter.take('b').catch(() => {})];
    await vi.advanceTimersByTimeAsync(201);
    await Promise.all(late);
    network.delay = 0;
    expect(await after(0, limiter.take('c'))).toMatchObject({ source: 'store' });
  });

  test('that fails after its deadline is not subtracted twice from the number of hits in flight', async () => {
    const { network, limiter } = await overNetwork('10/day', { onFailure: 'throw', maxInFlight: 1 });
    network.delay = 300;
    network.error = new Error('read ECONNRESET');
    expect(await after(400, limiter.take('a'))).toBe('deadline');
    network.error = undefined;
    const pending = limiter.take('a');
    expect(await after(0, limiter.take('b'))).toBe('overloaded');
    await after(300, pending);
  });
});

describe('a queue of deadlines', () => {
  /**
   * Expired deadlines: the name, and the time since the test began. Times are rounded, because fake timers run setImmediate a
   * millisecond later.
   */
  let expired: [string, number][];
  let start: number;
  beforeEach(() => {
    expired = [];
    start = systemClock.now();
  });
  const named = (name: string) => () =>
    expired.push([name, 10 * Math.round((systemClock.now() - start) / 10)]);

  test('expires each deadline on time with a single timer', async () => {
    const queue = deadlines(100);
    for (const name of ['a', 'b', 'c']) {
      queue.set(named(name));
      expect(vi.getTimerCount()).toBe(1);
      await vi.advanceTimersByTimeAsync(10);
    }
    await vi.advanceTimersByTimeAsync(200);
    expect(expired).toEqual([
      ['a', 100],
      ['b', 110],
      ['c', 120],
    ]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('passes to the callback the time at which the caller started to wait', async () => {
    const queue = deadlines(100);
    const seen: number[] = [];
    await vi.advanceTimersByTimeAsync(50);
    queue.set((since) => seen.push(since - start));
    queue.set((since) => seen.push(since - start), start);
    await vi.advanceTimersByTimeAsync(49);
    expect(seen).toEqual([]);
    await vi.advanceTimersByTimeAsync(3);
    expect(seen).toEqual([0]);
    await vi.advanceTimersByTimeAsync(50);
    expect(seen).toEqual([0, 50]);
  });

  test('skips deadlines that were canceled', async () => {
    const queue = deadlines(100);
    const cancelA = queue.set(named('a'));
    await vi.advanceTimersByTimeAsync(10);
    queue.set(named('b'));
    await vi.advanceTimersByTimeAsync(10);
    const cancelC = queue.set(named('c'));
    cancelA();
    cancelC();
    await vi.advanceTimersByTimeAsync(200);
    expect(expired).toEqual([['b', 110]]);
  });

  test('expires deadlines in the order of their ends if each was given its own end', async () => {
    const queue = deadlines(100);
    queue.set(named('d'), start, start + 400);
    queue.set(named('b'), start, start + 200);
    queue.set(named('c'), start, start + 300);
    queue.set(named('a'), start, start + 50);
    await vi.advanceTimersByTimeAsync(1000);
    expect(expired).toEqual([
      ['a', 50],
      ['b', 200],
      ['c', 300],
      ['d', 400],
    ]);
  });

  test('keeps thousands of deadlines in order while earlier deadlines are canceled', async () => {
    const queue = deadlines(10_000);
    const cancels = Array.from({ length: 3000 }, (_, i) => {
      vi.advanceTimersByTime(1);
      return queue.set(named(`${i}`));
    });
    for (const [i, cancel] of cancels.entries()) if (i !== 2990 && i !== 2999) cancel();
    await vi.advanceTimersByTimeAsync(20_000);
    expect(expired).toEqual([
      ['2990', 12_990],
      ['2999', 13_000],
    ]);
  });

  test('waits for a deadline that is longer than the longest timer', async () => {
    const month = 31 * 86_400_000;
    deadlines(month).set(named('a'));
    await vi.advanceTimersByTimeAsync(month - 1);
    expect(expired).toEqual([]);
    await vi.advanceTimersByTimeAsync(2);
    expect(expired).toEqual([['a', month]]);
  });

  describe('after the process was stalled', () => {
    /** Time that has passed without any timer firing. */
    let stall = 0;
    beforeEach(() => {
      stall = 0;
      const now = performance.now.bind(performance);
      vi.spyOn(performance, 'now').mockImplementation(() => now() + stall);
    });

    test('extends overdue deadlines by the duration of the stall', async () => {
      const queue = deadlines(100);
      queue.set(named('a'));
      stall = 50;
      await vi.advanceTimersByTimeAsync(145);
      expect(expired).toEqual([]);
      await vi.advanceTimersByTimeAsync(10);
      expect(expired).toEqual([['a', 200]]);
    });

    test('extends a deadline by at most its original duration, and only once', async () => {
      const queue = deadlines(100);
      queue.set(named('a'));
      stall = 1000;
      await vi.advanceTimersByTimeAsync(102);
      stall += 1000;
      await vi.advanceTimersByTimeAsync(97);
      expect(expired).toEqual([]);
      await vi.advanceTimersByTimeAsync(5);
      expect(expired.map(([name]) => name)).toEqual(['a']);
    });

    test('does not extend a deadline after a delay of a few milliseconds', async () => {
      const queue = deadlines(100);
      queue.set(named('a'));
      stall = 3;
      await vi.advanceTimersByTimeAsync(102);
      expect(expired).toEqual([['a', 100]]);
    });
  });
});

test('a timer keeps the process alive only while a hit is waiting', () => {
  vi.useRealTimers();
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  const queue = deadlines(60_000);
  const cancel = queue.set(() => {});
  expect(timers()).toBe(before + 1);
  cancel();
  expect(timers()).toBe(before);
  const cancelAgain = queue.set(() => {});
  expect(timers()).toBe(before + 1);
  cancelAgain();
  expect(timers()).toBe(before);
});
