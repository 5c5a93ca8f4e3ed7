/** Tests what `resilient` answers while its store does not, and how it probes the store. */
import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  createLimiter,
  type Decision,
  fixedWindow,
  type Limiter,
  memory,
  type Store,
} from '../../../src/index.ts';
import type { Hit } from '../../../src/store.ts';
import { resilient, type ResilientOptions } from '../../../src/wrappers/resilient/resilient.ts';

const POLICY = fixedWindow({ limit: 10, per: '1d' });

/** A store whose server cannot be reached; tests may replace `apply`. */
function gone(): Store<Promise<Decision>> {
  const { clock } = memory();
  return { clock, apply: () => Promise.reject(new Error('connect ECONNREFUSED')), close() {} };
}

function limiterOver(options: ResilientOptions, store = gone()): Limiter<Promise<Decision>> {
  return createLimiter(POLICY, { store: resilient(store, options), name: 'api' });
}

describe("onFailure: 'allow'", () => {
  const limiter = limiterOver({ onFailure: 'allow' });

  test('reports that takes and reservations were charged their cost', async () => {
    expect(await limiter.take('k', 3)).toMatchObject({ allowed: true, taken: 3, source: 'fallback' });
    for (const mode of ['partial', 'always'] as const)
      expect(await limiter.take('k', { cost: 4, mode })).toMatchObject({ allowed: true, taken: 4 });
    expect((await limiter.reserve('k', 2)).decision).toMatchObject({ allowed: true, taken: 2 });
  });

  test('reports that calls of other verbs were charged nothing', async () => {
    for (const answer of [
      limiter.peek('k', 3),
      limiter.refund('k', 3),
      limiter.release('k', 3),
      limiter.block('k', '1s'),
      limiter.reset('k'),
    ])
      expect(await answer).toMatchObject({ allowed: true, taken: 0, source: 'fallback' });
  });
});

test("onFailure: 'deny' reports that nothing was charged", async () => {
  const limiter = limiterOver({ onFailure: 'deny' });
  for (const mode of ['whole', 'partial', 'always'] as const)
    expect(await limiter.take('k', { cost: 3, mode })).toMatchObject({ allowed: false, taken: 0 });
  expect((await limiter.reserve('k', 3)).decision).toMatchObject({ allowed: false, taken: 0 });
  expect(await limiter.refund('k', 3)).toMatchObject({ allowed: false, taken: 0, source: 'fallback' });
});

describe('a limiter as onFailure', () => {
  test('takes as many units as are available in partial mode', async () => {
    const limiter = limiterOver({ onFailure: createLimiter(fixedWindow({ limit: 5, per: '1d' })) });
    const taken = await limiter.take('k', { cost: 8, mode: 'partial' });
    expect(taken).toMatchObject({ allowed: true, taken: 5, remaining: 0, source: 'fallback' });
  });

  test('counts denied attempts in always mode', async () => {
    const onFailure = createLimiter(fixedWindow({ limit: 5, per: '1d' }));
    const limiter = limiterOver({ onFailure });
    expect(await limiter.take('k', { cost: 8, mode: 'always' })).toMatchObject({ allowed: false, taken: 8 });
    expect(onFailure.peek('k').remaining).toBe(0);
  });

  test('charges the whole cost or nothing by default', async () => {
    const limiter = limiterOver({ onFailure: createLimiter(fixedWindow({ limit: 5, per: '1d' })) });
    expect(await limiter.take('k', 8)).toMatchObject({ allowed: false, taken: 0, remaining: 5 });
  });
});

afterEach(() => {
  vi.useRealTimers();
});

test('an open breaker sends at most maxInFlight probes while none of them is answered', async () => {
  vi.useFakeTimers();
  const store = gone();
  const limiter = limiterOver({ onFailure: 'allow', maxInFlight: 2, deadline: '1m' }, store);
  for (let i = 0; i < 5; i++) await limiter.take('k');
  const probes: Hit[] = [];
  store.apply = (hit) => {
    probes.push(hit);
    return new Promise(() => {});
  };
  // A probe is due every 100 ms.
  for (let i = 0; i < 60; i++) {
    await vi.advanceTimersByTimeAsync(10);
    expect((await limiter.take('k')).source).toBe('fallback');
  }
  expect(probes.map(({ verb }) => verb)).toEqual(['block', 'block']);
});
