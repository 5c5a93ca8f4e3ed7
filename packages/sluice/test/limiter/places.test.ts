/** Tests the places of `concurrency`: which decision holds which place, and for how long. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { concurrency, createLimiter, type Decision, memory, type Store } from '../../src/index.ts';
import { manualClock } from '../../src/testing/index.ts';

const START = 1_700_000_000_000;
const LEASE = 300;
const settled = () => new Promise((resolve) => setImmediate(resolve));

function open(limit: number) {
  const clock = manualClock(START);
  const inner = memory({ clock });
  let renewals = 0;
  let failing = false;
  const store: Store<Decision> = {
    ...inner,
    apply(hit) {
      if (hit.verb === 'renew') renewals++;
      if (failing && hit.verb === 'renew') throw new Error('out of order');
      return inner.apply(hit);
    },
  };
  const limiter = createLimiter(concurrency({ limit, lease: `${LEASE}ms` }), { store, name: 'places' });
  return {
    clock,
    limiter,
    inner,
    renewals: () => renewals,
    fail: (now: boolean) => {
      failing = now;
    },
  };
}

describe('run', () => {
  test('never runs more jobs than there are places, however long the jobs take', async () => {
    const { clock, limiter } = open(2);
    let inside = 0;
    let most = 0;
    const jobs = Array.from({ length: 16 }, () =>
      limiter.run('k', async () => {
        most = Math.max(most, ++inside);
        await new Promise<void>((resolve) => void clock.after(2000, resolve));
        inside--;
      }),
    );
    for (let passed = 0; passed < 20_000; passed += 50) {
      clock.advance(50);
      await settled();
    }
    await Promise.all(jobs);
    expect(most).toBe(2);
  });

  test('stops renewing the lease when the job is done, even if it throws', async () => {
    const { clock, limiter, renewals } = open(2);
    await limiter.run('k', () => clock.advance(LEASE));
    await expect(limiter.run('k', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    const before = renewals();
    expect(before).toBe(3);
    clock.advance(10 * LEASE);
    expect(renewals()).toBe(before);
    expect(limiter.peek('k').remaining).toBe(2);
  });
});

describe('keep', () => {
  test('keeps a place until it is released with the decision that took it', () => {
    const { clock, limiter } = open(1);
    const decision = limiter.take('k');
    limiter.keep('k', { of: decision });
    clock.advance(10 * LEASE);
    expect(limiter.take('k').allowed).toBe(false);
    limiter.release('k', { of: decision });
    expect(limiter.take('k').allowed).toBe(true);
  });

  test('keeps the remaining places after some were refunded', () => {
    const { clock, limiter, renewals } = open(5);
    const decision = limiter.take('k', 3);
    limiter.keep('k', { cost: 3, of: decision });
    clock.advance(LEASE);
    limiter.refund('k', { cost: 2, of: decision });
    clock.advance(2 * LEASE);
    expect(limiter.peek('k').remaining).toBe(4);
    limiter.release('k', { of: decision });
    const before = renewals();
    clock.advance(2 * LEASE);
    expect([limiter.peek('k').remaining, renewals()]).toEqual([5, before]);
  });

  test('keeps all places if it is called twice with the same decision', () => {
    const { clock, limiter } = open(5);
    const [first, second] = limiter.takeMany([{ key: 'k' }, { key: 'k', cost: 2 }]).decisions;
    limiter.keep('k', { of: first });
    limiter.keep('k', { cost: 2, of: second });
    clock.advance(10 * LEASE);
    expect(limiter.peek('k').remaining).toBe(2);
    limiter.release('k', { of: first });
    limiter.release('k', { cost: 2, of: second });
    expect(limiter.peek('k').remaining).toBe(5);
  });

  test('survives two failed renewals, and takes a lost place back even if that exceeds the limit', () => {
    const { clock, limiter, inner, fail } = open(1);
    const decision = limiter.take('k');
    limiter.keep('k', { of: decision });
    fail(true);
    clock.advance(LEASE - 1);
    fail(false);
    expect(limiter.peek('k').allowed).toBe(false);
    clock.advance(LEASE);
    fail(true);
    clock.advance(2 * LEASE);
    const other = limiter.take('k');
    expect(other.allowed).toBe(true);
    fail(false);
    clock.advance(LEASE);
    limiter.release('k', { of: decision });
    // The lease of the other place was never renewed, so that lease has ended as well.
    expect([limiter.peek('k').remaining, inner.size]).toEqual([1, 1]);
  });

  test('does not keep a place that is released while its renewal is in flight', async () => {
    const clock = manualClock(START);
    const inner = memory({ clock });
    const answers: (() => void)[] = [];
    const store: Store<Promise<Decision>> = {
      ...inner,
      apply(hit) {
        const decision = inner.apply(hit);
        if (hit.verb !== 'renew') return Promise.resolve(decision);
        return new Promise((resolve) => answers.push(() => resolve(decision)));
      },
    };
    const limiter = createLimiter(concurrency({ limit: 1, lease: `${LEASE}ms` }), { store, name: 'places' });
    const decision = await limiter.take('k');
    limiter.keep('k', { of: decision });
    clock.advance(LEASE / 3);
    const released = limiter.release('k', { of: decision });
    answers.shift()?.();
    await released;
    expect((await limiter.peek('k')).remaining).toBe(1);
  });

  test('stops renewing a place when its decision was garbage-collected', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const { clock, limiter, renewals } = open(1);
    (() => limiter.keep('k', { of: limiter.take('k') }))();
    for (let i = 0; i < 20 && limiter.peek('k').remaining === 0; i++) {
      await settled();
      collect();
      clock.advance(LEASE);
    }
    expect(limiter.peek('k').remaining).toBe(1);
    const before = renewals();
    clock.advance(LEASE);
    expect(renewals()).toBe(before);
  });

  test('does nothing on a limiter without places, and requires a decision', () => {
    const limiter = createLimiter('5/s');
    const decision = limiter.take('k');
    limiter.keep('k', { of: decision });
    expect(limiter.renew('k', { of: decision })).toMatchObject({ allowed: true, taken: 0, remaining: 4 });
    // @ts-expect-error: JavaScript code can make this call.
    expect(() => limiter.keep('k', {})).toThrow(
      'options.of must be the decision that was returned when the place was taken',
    );
    // @ts-expect-error: JavaScript code can make this call.
    expect(() => limiter.renew('k')).toThrow(
      'options.of must be the decision that was returned when the place was taken',
    );
  });

  test('does not keep the process alive', async () => {
    let isQuiet: boolean | undefined;
    const limiter = createLimiter(concurrency({ limit: 1, lease: '1h' }), {
      store: memory({
        clock: {
          now: () => START,
          after(_delay: number, _wake: () => void, quiet?: boolean) {
            isQuiet = quiet;
            return () => {};
          },
        },
      }),
    });
    await limiter.run('k', () => {});
    expect(isQuiet).toBe(true);
  });
});

describe('release', () => {
  test('of a place whose lease has ended does not free the place of another holder', () => {
    const { clock, limiter } = open(2);
    const lost = limiter.take('k');
    clock.advance(LEASE);
    limiter.take('k');
    limiter.take('k');
    expect(limiter.release('k', { of: lost })).toMatchObject({ allowed: false, remaining: 0 });
    expect(limiter.take('k').allowed).toBe(false);
  });

  test('distinguishes all holders even if several hold a fraction of one place', () => {
    const { clock, limiter } = open(1);
    const decisions = Array.from({ length: 10 }, () => {
      clock.advance(1);
      return limiter.take('k', 0.1);
    });
    for (const [i, of] of decisions.reverse().entries()) {
      expect(limiter.peek('k', 0.1 * i + 0.05).allowed).toBe(false);
      limiter.release('k', { cost: 0.1, of });
    }
    expect(limiter.peek('k').resetAfter).toBe(0);
  });
});
