/** The circuit breakers of `resilient`, in fake time. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { SluiceError } from '../../../src/index.ts';
import { breakersBy } from '../../../src/wrappers/resilient/breaker.ts';
import type { Hit } from '../../../src/store.ts';
import { after, overNetwork, type Setup } from './slow-store.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const LOST = new Error('read ECONNRESET');

/** Lets the next hits fail until the breaker opens. */
async function open({ network, limiter }: Setup): Promise<void> {
  network.error = LOST;
  for (let i = 0; i < 4; i++) await limiter.take('k').catch(() => {});
  network.error = undefined;
  network.sent.length = 0;
  network.names.length = 0;
}

describe('a circuit breaker', () => {
  test('opens at the fourth consecutive failure, and no further hit is sent', async () => {
    const { network, limiter, events } = await overNetwork('10/day', { onFailure: 'allow' });
    network.error = LOST;
    for (let i = 0; i < 3; i++) await limiter.take('k');
    expect(events).toEqual([]);
    await limiter.take('k');
    expect(events).toEqual([{ type: 'open', fault: 'connection', error: LOST, node: undefined }]);
    network.sent.length = 0;
    for (let i = 0; i < 5; i++) expect((await limiter.take('k')).source).toBe('fallback');
    expect(network.sent).toEqual([]);
    expect(events).toHaveLength(1);
  });

  test('opens only if no hit succeeds between the failures', async () => {
    const { network, limiter, events } = await overNetwork('10/day', { onFailure: 'allow' });
    for (const error of [LOST, LOST, LOST, undefined, LOST, LOST, LOST]) {
      network.error = error;
      await limiter.take('k');
    }
    expect(events).toEqual([]);
  });

  test('is not opened by hits that were in flight together and fail within 10 ms', async () => {
    const { network, limiter, events } = await overNetwork('10/day', { onFailure: 'allow' });
    network.error = LOST;
    const failAfter = async (...delays: number[]): Promise<void> => {
      const takes = delays.map((delay) => {
        network.delay = delay;
        return limiter.take('k');
      });
      await vi.advanceTimersByTimeAsync(100);
      await Promise.all(takes);
    };
    await failAfter(1, 2, 5, 10, 10);
    await failAfter(1, 2, 5, 10, 10);
    await failAfter(1, 2, 5, 10, 10);
    expect(events).toEqual([]);
    network.error = undefined;
    await failAfter(1);
    network.error = LOST;
    await failAfter(1, 11, 21);
    expect(events).toEqual([]);
    await failAfter(1);
    expect(events).toMatchObject([{ type: 'open' }]);
  });

  test('is not opened by errors about one key, one hit or an invalid policy', async () => {
    const { network, limiter, events } = await overNetwork('10/day', { onFailure: 'allow' });
    for (const message of ['WRONGTYPE Operation against a key', 'ERR user_script:1: failed']) {
      network.error = new Error(message);
      for (let i = 0; i < 5; i++) await limiter.take('k');
    }
    network.error = new SluiceError('ERR_NUMBER', 'limit', -1);
    for (let i = 0; i < 5; i++) await expect(limiter.take('k')).rejects.toBe(network.error);
    expect(events).toEqual([]);
  });

  test('is not opened by a server that rejects hits because of a missing permission, since the server does answer', async () => {
    const { network, limiter, events } = await overNetwork('10/day', { onFailure: 'allow' });
    const refusal = new SluiceError('ERR_PERMISSION', 'redis.client', 'NOPERM');
    for (const error of [LOST, LOST, LOST, refusal, LOST, LOST, LOST]) {
      network.error = error;
      await limiter.take('k').catch((caught: unknown) => expect(caught).toBe(refusal));
    }
    expect(events).toEqual([]);
  });

  test('opens even if a hit with an invalid policy failed between the failures', async () => {
    const { network, limiter, events } = await overNetwork('10/day', { onFailure: 'allow' });
    for (const error of [LOST, LOST, LOST, new SluiceError('ERR_NUMBER', 'limit', -1), LOST]) {
      network.error = error;
      await limiter.take('k').catch(() => {});
    }
    expect(events).toMatchObject([{ type: 'open' }]);
  });

  test('calls onEvent when it opens, and an error in onEvent does not reject a check', async () => {
    const { network, limiter } = await overNetwork('10/day', {
      onFailure: 'allow',
      onEvent() {
        throw new Error('from the listener');
      },
    });
    network.error = LOST;
    for (let i = 0; i < 5; i++) expect((await limiter.take('k')).source).toBe('fallback');
  });
});

describe('an open circuit breaker', () => {
  test('sends a probe every 100 ms, which writes to a separate row, and closes when a probe succeeds', async () => {
    const setup = await overNetwork('10/day', { onFailure: 'allow' });
    const { network, limiter, witness, events } = setup;
    await open(setup);
    await vi.advanceTimersByTimeAsync(99);
    await limiter.take('k');
    expect(network.sent).toEqual([]);
    network.error = LOST;
    await vi.advanceTimersByTimeAsync(1);
    for (let i = 0; i < 3; i++) await limiter.take('k');
    expect(network.sent).toEqual(['block 0']);
    expect(network.names).toEqual(['api:~probe']);
    network.error = undefined;
    await vi.advanceTimersByTimeAsync(100);
    expect((await limiter.take('k')).source).toBe('fallback');
    expect(network.sent).toEqual(['block 0', 'block 0']);
    await vi.advanceTimersByTimeAsync(50);
    expect(events).toMatchObject([{ type: 'open' }, { type: 'close', openFor: 200, node: undefined }]);
    expect((await limiter.take('k')).source).toBe('store');
    expect(witness.peek('k').remaining).toBe(9);
  });

  test('can open again after it has closed', async () => {
    const setup = await overNetwork('10/day', { onFailure: 'allow' });
    await open(setup);
    await vi.advanceTimersByTimeAsync(100);
    await setup.limiter.take('k');
    await vi.advanceTimersByTimeAsync(10);
    await open(setup);
    expect(setup.events.map(({ type }) => type)).toEqual(['open', 'close', 'open']);
  });

  test('lets hits wait for the next probe if the last probe is a second old', async () => {
    const setup = await overNetwork('10/day', { onFailure: 'allow' });
    const { network, limiter } = setup;
    network.delay = 0;
    await open(setup);
    network.delay = 30;
    await vi.advanceTimersByTimeAsync(1000);
    const takes = [limiter.take('k'), limiter.take('k')];
    expect(network.sent).toEqual(['block 0']);
    await vi.advanceTimersByTimeAsync(60);
    expect(await Promise.all(takes)).toMatchObject([{ source: 'store' }, { source: 'store' }]);
    expect(network.sent).toEqual(['block 0', 'take 1', 'take 1']);
  });

  test('does not let hits wait before the last probe is a second old', async () => {
    const setup = await overNetwork('10/day', { onFailure: 'throw' });
    await open(setup);
    setup.network.delay = 30;
    await vi.advanceTimersByTimeAsync(999);
    expect(await after(0, setup.limiter.take('k'))).toBe('circuit-open');
  });

  test('stops letting hits wait once a probe has failed', async () => {
    const setup = await overNetwork('10/day', { onFailure: 'throw' });
    const { network, limiter } = setup;
    await open(setup);
    network.delay = 30;
    network.error = LOST;
    await vi.advanceTimersByTimeAsync(1000);
    expect(await after(30, limiter.take('k'))).toBe('circuit-open');
    expect(network.sent).toEqual(['block 0']);
    expect(await after(0, limiter.take('k'))).toBe('circuit-open');
  });

  test('does not let hits wait while an earlier probe is unanswered', async () => {
    const setup = await overNetwork('10/day', { onFailure: 'throw', deadline: '1m' });
    const { network, limiter } = setup;
    await open(setup);
    network.delay = 50_000;
    await vi.advanceTimersByTimeAsync(100);
    expect(await after(0, limiter.take('k'))).toBe('circuit-open');
    await vi.advanceTimersByTimeAsync(1000);
    expect(await after(0, limiter.take('k'))).toBe('circuit-open');
    expect(network.sent).toEqual(['block 0', 'block 0']);
  });

  test('lets hits wait again whenever the last probe is a second old, even if earlier probes have failed', async () => {
    const setup = await overNetwork('10/day', { onFailure: 'throw' });
    const { network, limiter } = setup;
    await open(setup);
    network.delay = 30;
    network.error = LOST;
    for (let i = 0; i < 2; i++) {
      await vi.advanceTimersByTimeAsync(1000);
      expect(await after(30, limiter.take('k'))).toBe('circuit-open');
    }
    network.error = undefined;
    await vi.advanceTimersByTimeAsync(1000);
    expect(await after(60, limiter.take('k'))).toMatchObject({ source: 'store' });
  });

  test('lets hits wait for a slow probe even if a later probe has failed', async () => {
    const setup = await overNetwork('10/day', { onFailure: 'throw', deadline: '1m' });
    const { network, limiter } = setup;
    await open(setup);
    await vi.advanceTimersByTimeAsync(1000);
    network.delay = 500;
    const first = limiter.take('k');
    network.delay = 0;
    network.error = LOST;
    await vi.advanceTimersByTimeAsync(100);
    const second = limiter.take('k');
    await vi.advanceTimersByTimeAsync(10);
    const third = limiter.take('k');
    network.error = undefined;
    await vi.advanceTimersByTimeAsync(400);
    expect(await Promise.all([first, second, third])).toMatchObject(
      Array.from({ length: 3 }, () => ({ source: 'store' })),
    );
  });

  test('counts the wait for a probe as part of the deadline', async () => {
    const setup = await overNetwork('10/day', { onFailure: 'throw', deadline: 200 });
    const { network, limiter } = setup;
    await open(setup);
    await vi.advanceTimersByTimeAsync(1000);
    network.delay = 150;
    let result: unknown;
    void after(0, limiter.take('k')).then((outcome) => {
      result = outcome;
    });
    await vi.advanceTimersByTimeAsync(199);
    expect(network.sent).toEqual(['block 0', 'take 1']);
    expect(result).toBeUndefined();
    await vi.advanceTimersByTimeAsync(2);
    expect(result).toBe('deadline');
  });

  test('counts hits that wait for a probe as in flight', async () => {
    const setup = await overNetwork('10/day', { onFailure: 'throw', maxInFlight: 3 });
    const { network, limiter } = setup;
    await open(setup);
    await vi.advanceTimersByTimeAsync(1000);
    network.delay = 30;
    const waiting = [limiter.take('k'), limiter.take('k')];
    expect(await after(0, limiter.take('k'))).toBe('overloaded');
    await vi.advanceTimersByTimeAsync(60);
    await Promise.all(waiting);
    // The previous hits are no longer in flight.
    const later = [limiter.take('k'), limiter.take('k'), limiter.take('k')];
    await vi.advanceTimersByTimeAsync(30);
    expect(await Promise.all(later)).toMatchObject([
      { source: 'store' },
      { source: 'store' },
      { source: 'store' },
    ]);
  });
});

describe('on a cluster', () => {
  const nodeOf = ({ key }: Hit): string | undefined => (key.startsWith('node ') ? key : undefined);

  test('each node has its own breaker, and events name the node', async () => {
    const { network, limiter, events } = await overNetwork('10/day', { onFailure: 'allow' }, { nodeOf });
    network.error = LOST;
    for (let i = 0; i < 4; i++) await limiter.take('node 1');
    network.error = undefined;
    expect(events).toMatchObject([{ type: 'open', node: 'node 1' }]);
    expect((await limiter.take('node 1')).source).toBe('fallback');
    expect((await limiter.take('node 2')).source).toBe('store');
    expect((await limiter.take('somewhere')).source).toBe('store');
    await vi.advanceTimersByTimeAsync(100);
    await limiter.take('node 1');
    await vi.advanceTimersByTimeAsync(10);
    expect(events).toMatchObject([{ type: 'open' }, { type: 'close', node: 'node 1' }]);
  });

  test('the breakers of at most a thousand nodes are kept', () => {
    const breakerOf = breakersBy(({ key }) => key);
    const at = (node: number) => breakerOf({ key: `node ${node}` } as Hit);
    const [first, second] = [at(0), at(1)];
    for (let node = 0; node < 1000; node++) at(node);
    expect(at(0)).toBe(first);
    at(1000);
    expect(at(1)).toBe(second);
    expect(at(0)).not.toBe(first);
  });
});
