/**
 * What `resilient` gives back when the store answers after the deadline, and when a release fails, in fake time. The tests in
 * ../../stores/redis/late-answers.test.ts check the same with a Redis that stalls.
 */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  concurrency,
  createLimiter,
  type Decision,
  fixedWindow,
  type Limiter,
  minInterval,
  type Policies,
} from '../../../src/index.ts';
import { after, overNetwork, type Setup } from './slow-store.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const SLOTS = concurrency({ limit: 20, lease: '60s' });
const WINDOW = fixedWindow({ limit: 100, per: '1d', align: 'first' });
const LOST = new Error('read ECONNRESET');
const READ_ONLY = new Error("READONLY You can't write against a read only replica.");
const DEADLINE = 100;

/** Makes a call whose hit reaches the store after `age` milliseconds, and whose caller is answered at the deadline. */
async function late(setup: Setup, age: number, call: () => Promise<unknown>): Promise<unknown> {
  setup.network.delay = age;
  const outcome = call().catch((error: unknown) => error);
  setup.network.delay = 0;
  await vi.advanceTimersByTimeAsync(DEADLINE + 2);
  setup.network.sent.length = 0;
  return outcome;
}

async function open({ network, limiter }: Setup): Promise<void> {
  network.error = LOST;
  for (let i = 0; i < 4; i++) await limiter.peek('other').catch(() => {});
  network.error = undefined;
  network.sent.length = 0;
}

describe('a charge that the store makes after the deadline', () => {
  const fallbacks = (policies: Policies) => ['throw', 'deny', 'local', createLimiter(policies)] as const;

  test("is refunded, unless onFailure 'allow' admitted the caller", async () => {
    for (const onFailure of fallbacks(WINDOW)) {
      const setup = await overNetwork(WINDOW, { onFailure, deadline: DEADLINE });
      await late(setup, 500, () => setup.limiter.take('a', 3));
      expect(setup.witness.peek('a').remaining).toBe(100);
      await vi.advanceTimersByTimeAsync(500);
      expect(setup.network.sent).toEqual(['refund 3']);
      expect(setup.witness.peek('a').remaining).toBe(100);
    }
    const setup = await overNetwork(WINDOW, { onFailure: 'allow', deadline: DEADLINE });
    await late(setup, 500, () => setup.limiter.take('a', 3));
    await vi.advanceTimersByTimeAsync(1000);
    expect(setup.witness.peek('a').remaining).toBe(97);
  });

  test("is not refunded in mode 'always', in which every attempt counts", async () => {
    const setup = await overNetwork(WINDOW, { onFailure: 'throw', deadline: DEADLINE });
    await late(setup, 500, () => setup.limiter.take('a', { cost: 3, mode: 'always' }));
    await vi.advanceTimersByTimeAsync(1000);
    expect(setup.witness.peek('a').remaining).toBe(97);
  });

  test('is released if it holds a place, whatever onFailure is', async () => {
    for (const onFailure of [...fallbacks(SLOTS), 'allow'] as const) {
      const setup = await overNetwork(SLOTS, { onFailure, deadline: DEADLINE });
      await late(setup, 500, () => setup.limiter.take('a', 2));
      await vi.advanceTimersByTimeAsync(1000);
      expect(setup.network.sent).toEqual(['release 2']);
      expect(setup.witness.peek('a').remaining).toBe(20);
    }
  });

  test('is reported, when it is undone, to the hook that forgets cached denials', async () => {
    const returned: string[] = [];
    const givenBack = ({ verb, key }: { verb: string; key: string }) => void returned.push(`${verb} ${key}`);
    const setup = await overNetwork(SLOTS, { onFailure: 'throw', deadline: DEADLINE }, { givenBack });
    await late(setup, 500, () => setup.limiter.take('a'));
    await vi.advanceTimersByTimeAsync(1000);
    expect(returned).toEqual(['release a']);
  });

  test('is kept if its policy does not tell when the units are replenished, and a late denial causes no refund', async () => {
    const setup = await overNetwork(minInterval({ every: '1h' }), { onFailure: 'throw', deadline: DEADLINE });
    await late(setup, 500, () => setup.limiter.take('a'));
    await vi.advanceTimersByTimeAsync(1000);
    await late(setup, 500, () => setup.limiter.take('a'));
    await vi.advanceTimersByTimeAsync(1000);
    expect(setup.network.sent).toEqual([]);
    expect(setup.witness.peek('a').allowed).toBe(false);
  });

  test('is not undone if the key was reset after the hit was sent', async () => {
    const setup = await overNetwork(SLOTS, { onFailure: 'throw', deadline: DEADLINE });
    await late(setup, 500, () => setup.limiter.take('a'));
    await setup.limiter.reset('b');
    await vi.advanceTimersByTimeAsync(1);
    await late(setup, 300, () => setup.limiter.take('b'));
    await setup.limiter.reset('a');
    setup.network.sent.length = 0;
    await vi.advanceTimersByTimeAsync(1000);
    expect(setup.network.sent).toEqual(['release 1']);
    expect(setup.witness.peek('a').remaining).toBe(19);
    expect(setup.witness.peek('b').remaining).toBe(20);
  });

  test('is not released if the lease could end before the release arrives', async () => {
    const setup = await overNetwork(concurrency({ limit: 20, lease: '1s' }), {
      onFailure: 'throw',
      deadline: DEADLINE,
    });
    // The lease counts as held for at most 999 ms, and a release may take 100 ms.
    for (const [age, sent] of [
      [890, ['release 1']],
      [905, []],
    ] as const) {
      await late(setup, age, () => setup.limiter.take('a'));
      await vi.advanceTimersByTimeAsync(900);
      expect(setup.network.sent).toEqual(sent);
    }
  });

  test('gets only one attempt at a refund, even if the store certainly did not apply the refund', async () => {
    const setup = await overNetwork(WINDOW, { onFailure: 'throw', deadline: DEADLINE });
    await late(setup, 500, () => setup.limiter.take('a', 3));
    setup.network.error = READ_ONLY;
    await vi.advanceTimersByTimeAsync(500);
    setup.network.error = undefined;
    await vi.advanceTimersByTimeAsync(1000);
    expect(setup.network.sent).toEqual(['refund 3']);
  });

  test('is not undone after the store was closed', async () => {
    const setup = await overNetwork(SLOTS, { onFailure: 'throw', deadline: DEADLINE });
    await late(setup, 500, () => setup.limiter.take('a'));
    await setup.store.close();
    await vi.advanceTimersByTimeAsync(1000);
    expect(setup.network.sent).toEqual([]);
  });

  test('is undone when an open circuit breaker closes', async () => {
    const setup = await overNetwork(SLOTS, { onFailure: 'throw', deadline: DEADLINE });
    await late(setup, 500, () => setup.limiter.take('a'));
    await open(setup);
    setup.network.error = LOST;
    await vi.advanceTimersByTimeAsync(450);
    expect(new Set(setup.network.sent)).toEqual(new Set(['block 0']));
    expect(setup.witness.peek('a').remaining).toBe(19);
    setup.network.error = undefined;
    // The pending release itself causes the probe.
    await vi.advanceTimersByTimeAsync(200);
    expect(setup.witness.peek('a').remaining).toBe(20);
    expect(setup.network.sent.at(-1)).toBe('release 1');
  });

  test('is undone once another hit is answered if maxInFlight hits were in flight', async () => {
    const setup = await overNetwork(SLOTS, { onFailure: 'throw', deadline: DEADLINE, maxInFlight: 1 });
    await late(setup, 150, () => setup.limiter.take('a'));
    setup.network.delay = 90;
    const other = setup.limiter.peek('b');
    await vi.advanceTimersByTimeAsync(80);
    expect(setup.network.sent).toEqual(['peek 1']);
    setup.network.delay = 0;
    await vi.advanceTimersByTimeAsync(200);
    await other;
    expect(setup.network.sent).toEqual(['peek 1', 'release 1']);
  });

  test('for a renewal is undone by releasing the place, because the renewal was reported as failed', async () => {
    const both = { rate: WINDOW, slots: SLOTS };
    const setup = await overNetwork(both, { onFailure: 'throw', deadline: DEADLINE });
    const of = await setup.limiter.take('a');
    await late(setup, 500, () => setup.limiter.renew('a', { of }));
    await vi.advanceTimersByTimeAsync(1000);
    expect(setup.network.sent).toEqual(['release 1']);
    const { policies } = setup.witness.peek('a');
    expect(policies.map(({ remaining }) => remaining)).toEqual([99, 20]);
  });
});

describe('a release that fails', () => {
  const held = async (setup: Setup, count: number): Promise<void> => {
    for (let i = 0; i < count; i++) await setup.limiter.take('a');
    setup.network.sent.length = 0;
  };

  test('is repeated every 100 ms if the store certainly did not apply it', async () => {
    const setup = await overNetwork(SLOTS, { onFailure: 'throw', deadline: DEADLINE });
    const { network, limiter, witness } = setup;
    await held(setup, 2);
    network.error = READ_ONLY;
    expect(await after(0, limiter.release('a'))).toBe('read-only');
    await vi.advanceTimersByTimeAsync(99);
    expect(network.sent).toEqual(['release 1']);
    await vi.advanceTimersByTimeAsync(1);
    expect(network.sent).toEqual(['release 1', 'release 1']);
    network.error = undefined;
    expect(witness.peek('a').remaining).toBe(18);
    await vi.advanceTimersByTimeAsync(100);
    expect(witness.peek('a').remaining).toBe(19);
    await vi.advanceTimersByTimeAsync(1000);
    expect(network.sent).toHaveLength(3);
  });

  test('is not repeated if the store may have applied it', async () => {
    const setup = await overNetwork(SLOTS, { onFailure: 'throw', deadline: DEADLINE });
    await held(setup, 2);
    setup.network.lostWith = LOST;
    expect(await after(0, setup.limiter.release('a'))).toBe('connection');
    setup.network.lostWith = undefined;
    await vi.advanceTimersByTimeAsync(1000);
    expect(setup.network.sent).toEqual(['release 1']);
    expect(setup.witness.peek('a').remaining).toBe(19);
  });

  test('is not repeated if this process does not hold that many places', async () => {
    const setup = await overNetwork(SLOTS, { onFailure: 'throw', deadline: DEADLINE });
    setup.witness.take('a', 5);
    await held(setup, 1);
    setup.network.error = READ_ONLY;
    await after(0, setup.limiter.release('a', 2));
    setup.network.error = undefined;
    await vi.advanceTimersByTimeAsync(1000);
    expect(setup.network.sent).toEqual(['release 2']);
  });

  test('is sent later if an open circuit breaker did not let it through', async () => {
    const setup = await overNetwork(SLOTS, { onFailure: 'throw', deadline: DEADLINE });
    await held(setup, 2);
    await open(setup);
    expect(await after(0, setup.limiter.release('a'))).toBe('circuit-open');
    expect(setup.network.sent).toEqual([]);
    await vi.advanceTimersByTimeAsync(200);
    expect(setup.network.sent).toEqual(['block 0', 'release 1']);
    expect(setup.witness.peek('a').remaining).toBe(19);
  });

  test('frees only the places that were held, even if the caller repeats the release', async () => {
    for (const places of [1, 2]) {
      const setup = await overNetwork(SLOTS, { onFailure: 'throw', deadline: DEADLINE });
      setup.witness.take('a', 10);
      await held(setup, places);
      await open(setup);
      for (let i = 0; i < 2; i++) expect(await after(0, setup.limiter.release('a'))).toBe('circuit-open');
      await vi.advanceTimersByTimeAsync(500);
      expect(setup.witness.peek('a').remaining).toBe(10);
    }
  });

  test('is dropped when the caller repeats the release successfully', async () => {
    const setup = await overNetwork(SLOTS, { onFailure: 'throw', deadline: DEADLINE });
    setup.witness.take('a', 10);
    await held(setup, 1);
    setup.network.error = READ_ONLY;
    await after(10, setup.limiter.release('a'));
    setup.network.error = undefined;
    await setup.limiter.release('a');
    await vi.advanceTimersByTimeAsync(1000);
    expect(setup.network.sent).toEqual(['release 1', 'release 1']);
    expect(setup.witness.peek('a').remaining).toBe(10);
  });

  test('is repeated only once for a place that was renewed', async () => {
    const setup = await overNetwork(SLOTS, { onFailure: 'throw', deadline: DEADLINE });
    setup.witness.take('a', 10);
    const of = await setup.limiter.take('a');
    await setup.limiter.renew('a', { of });
    setup.network.error = READ_ONLY;
    for (let i = 0; i < 2; i++) await after(0, setup.limiter.release('a'));
    setup.network.error = undefined;
    await vi.advanceTimersByTimeAsync(1000);
    expect(setup.witness.peek('a').remaining).toBe(10);
  });

  test('is not repeated if the place was taken before the key was reset', async () => {
    const setup = await overNetwork(SLOTS, { onFailure: 'throw', deadline: DEADLINE });
    await held(setup, 1);
    await setup.limiter.reset('a');
    setup.witness.take('a', 10);
    await vi.advanceTimersByTimeAsync(1);
    setup.network.error = READ_ONLY;
    await after(0, setup.limiter.release('a'));
    setup.network.error = undefined;
    await vi.advanceTimersByTimeAsync(1000);
    expect(setup.witness.peek('a').remaining).toBe(10);
  });

  test('is not repeated after the lease has ended, nor after the key was reset', async () => {
    const setup = await overNetwork(concurrency({ limit: 20, lease: '1s' }), {
      onFailure: 'throw',
      deadline: DEADLINE,
    });
    await held(setup, 1);
    setup.network.error = READ_ONLY;
    await after(0, setup.limiter.release('a'));
    await vi.advanceTimersByTimeAsync(850);
    const { length } = setup.network.sent;
    expect(length).toBeGreaterThan(1);
    await vi.advanceTimersByTimeAsync(1000);
    // While the breaker is open, only probes are sent.
    expect(setup.network.sent.slice(length)).not.toContain('release 1');

    const other = await overNetwork(SLOTS, { onFailure: 'throw', deadline: DEADLINE });
    await held(other, 1);
    other.network.error = READ_ONLY;
    await after(0, other.limiter.release('a'));
    other.network.error = undefined;
    await other.limiter.reset('a');
    other.network.sent.length = 0;
    await vi.advanceTimersByTimeAsync(1000);
    expect(other.network.sent).toEqual([]);
  });

  test('is repeated until the end of the renewed lease if the place was renewed', async () => {
    const setup = await overNetwork(concurrency({ limit: 20, lease: '1s' }), {
      onFailure: 'throw',
      deadline: DEADLINE,
    });
    const of = await setup.limiter.take('a');
    await vi.advanceTimersByTimeAsync(800);
    const renewed = await setup.limiter.renew('a', { of });
    await vi.advanceTimersByTimeAsync(400);
    setup.network.error = READ_ONLY;
    await after(0, setup.limiter.release('a', { of: renewed }));
    setup.network.error = undefined;
    expect(setup.witness.peek('a').remaining).toBe(19);
    await vi.advanceTimersByTimeAsync(100);
    expect(setup.witness.peek('a').remaining).toBe(20);
  });

  test('is not repeated after the store was closed', async () => {
    const setup = await overNetwork(SLOTS, { onFailure: 'throw', deadline: DEADLINE });
    await held(setup, 1);
    setup.network.error = READ_ONLY;
    await after(0, setup.limiter.release('a'));
    await setup.store.close();
    setup.network.sent.length = 0;
    await vi.advanceTimersByTimeAsync(1000);
    expect(setup.network.sent).toEqual([]);
  });
});

test('a failed refund is not retried if the policy limits a rate', async () => {
  const setup = await overNetwork(WINDOW, { onFailure: 'throw', deadline: DEADLINE });
  const of = await setup.limiter.take('a', 5);
  setup.network.error = READ_ONLY;
  await after(0, setup.limiter.refund('a', { cost: 5, of }));
  setup.network.error = undefined;
  await vi.advanceTimersByTimeAsync(1000);
  expect(setup.witness.peek('a').remaining).toBe(95);
});

test('a failed refund of a rate and a concurrency place is retried only for the place', async () => {
  const setup = await overNetwork({ rate: WINDOW, slots: SLOTS }, { onFailure: 'throw', deadline: DEADLINE });
  const of = await setup.limiter.take('a');
  setup.network.error = READ_ONLY;
  await after(0, setup.limiter.refund('a', { of }));
  setup.network.error = undefined;
  await vi.advanceTimersByTimeAsync(1000);
  expect(setup.witness.peek('a').policies.map(({ remaining }) => remaining)).toEqual([99, 20]);
});

describe('a charge of the fallback', () => {
  /** A limiter whose store is down during `take`, and the fallback limiter that decides instead. */
  async function takenFromFallback(
    policies: Policies,
    cost = 1,
  ): Promise<{ setup: Setup; own: Limiter<Decision>; of: Decision }> {
    const own = createLimiter(policies);
    const setup = await overNetwork(policies, { onFailure: own, deadline: DEADLINE });
    setup.network.error = LOST;
    const of = await setup.limiter.take('a', cost);
    expect(of.source).toBe('fallback');
    setup.network.error = undefined;
    setup.network.sent.length = 0;
    return { setup, own, of };
  }

  test('is refunded or released in the fallback when the store is back', async () => {
    const rate = await takenFromFallback(WINDOW, 5);
    expect(rate.own.peek('a').remaining).toBe(95);
    await rate.setup.limiter.refund('a', { cost: 5, of: rate.of });
    expect(rate.own.peek('a').remaining).toBe(100);
    const slots = await takenFromFallback(SLOTS);
    await slots.setup.limiter.release('a', { of: slots.of });
    expect(slots.own.peek('a').remaining).toBe(20);
    expect([...rate.setup.network.sent, ...slots.setup.network.sent]).toEqual([]);
  });

  test('is released even without its decision if it holds a place', async () => {
    const { setup, own } = await takenFromFallback(SLOTS, 2);
    await setup.limiter.take('a', 3);
    setup.network.sent.length = 0;
    await setup.limiter.release('a', 2);
    expect(own.peek('a').remaining).toBe(20);
    expect(setup.network.sent).toEqual([]);
    await setup.limiter.release('a', 3);
    expect(setup.network.sent).toEqual(['release 3']);
    expect(setup.witness.peek('a').remaining).toBe(20);
  });

  test('is released in the fallback only once', async () => {
    const { setup, own, of } = await takenFromFallback(SLOTS);
    own.take('a');
    await setup.limiter.release('a', { of });
    await setup.limiter.take('a');
    await setup.limiter.release('a');
    expect(own.peek('a').remaining).toBe(19);
    expect(setup.witness.peek('a').remaining).toBe(20);
  });

  test('is not undone when a place of the store is released without a decision', async () => {
    const own = createLimiter(SLOTS);
    own.take('a');
    const setup = await overNetwork(SLOTS, { onFailure: own, deadline: DEADLINE });
    await setup.limiter.take('a');
    setup.network.error = LOST;
    await setup.limiter.release('a');
    expect(own.peek('a').remaining).toBe(19);
  });

  test('is renewed in the fallback', async () => {
    const { setup, own, of } = await takenFromFallback(SLOTS);
    await vi.advanceTimersByTimeAsync(40_000);
    const renewed = await setup.limiter.renew('a', { of });
    expect(renewed.source).toBe('fallback');
    await vi.advanceTimersByTimeAsync(40_000);
    expect(own.peek('a').remaining).toBe(19);
    await setup.limiter.release('a', { of: renewed });
    expect(own.peek('a').remaining).toBe(20);
    expect(setup.network.sent).toEqual([]);
  });

  test('is not undone by a refund of what the store charged', async () => {
    for (const policies of [WINDOW, SLOTS]) {
      const own = createLimiter(policies);
      const setup = await overNetwork(policies, { onFailure: own, deadline: DEADLINE });
      const of = await setup.limiter.take('a', 2);
      own.take('a', 2);
      const before = own.peek('a').remaining;
      setup.network.error = LOST;
      await setup.limiter.refund('a', { cost: 2, of });
      expect(own.peek('a').remaining).toBe(before);
    }
  });

  test('is not made when the renewal of a place in the store fails; the place counts until its lease ends', async () => {
    for (const onFailure of ['allow', 'deny', 'local', createLimiter(SLOTS)] as const) {
      const setup = await overNetwork(SLOTS, { onFailure, deadline: DEADLINE });
      const of = await setup.limiter.take('a');
      setup.network.error = LOST;
      const renewed = await setup.limiter.renew('a', { of });
      expect(renewed).toMatchObject({ allowed: true, source: 'store', at: of.at });
      setup.network.error = undefined;
      await setup.limiter.release('a', { of: renewed });
      expect(setup.witness.peek('a').remaining).toBe(20);
    }
  });
});
