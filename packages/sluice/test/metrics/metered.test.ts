import { Redis } from 'ioredis';
import { afterAll, describe, expect, inject, test } from 'vitest';
import {
  createLimiter,
  type Decision,
  leased,
  memory,
  metered,
  type Observer,
  type Store,
  StoreUnavailable,
} from '../../src/index.ts';
import { redis } from '../../src/stores/redis/index.ts';
import type { Outcome } from '../../src/wrappers/metered.ts';
import { conformance, manualClock } from '../../src/testing/index.ts';
import { rejections } from 'sluice-test-support/redis/watch.ts';
import { STORES } from '../support/stores.ts';

interface Call {
  readonly what: string;
  readonly limiter: string;
  readonly outcome: Outcome;
  readonly took: number | undefined;
  readonly fault?: string;
  readonly error?: unknown;
  readonly decision?: Decision;
}

/** An observer that records its calls. */
function recorder(): Observer & { readonly calls: Call[] } {
  const calls: Call[] = [];
  return {
    calls,
    decided({ verb, plan }, decision, outcome, took) {
      calls.push({ what: verb, limiter: plan.name, outcome, took, decision });
    },
    failed({ verb, plan }, error, fault, took) {
      calls.push({ what: verb, limiter: plan.name, outcome: undefined, took, fault, error });
    },
  };
}

const client = new Redis(inject('redisPort'), '127.0.0.1');
afterAll(() => client.disconnect());
/** The deadline is long, so that a busy machine does not cause faults. */
const patient = { deadline: '10s', onFailure: 'throw' } as const;
const offlineClient = { send: () => Promise.reject(new Error('connect ECONNREFUSED')) };

describe.each(['memory', 'redis 7'])('a metered store on %s', (name) => {
  const make = STORES[name];
  describe('passes the conformance suite', () => {
    for (const claim of conformance((clock) => metered(make(clock), recorder()))) test(claim.name, claim.run);
  });
});

describe('metered', () => {
  test('returns the decision object of a synchronous store synchronously', () => {
    const store = memory();
    const observer = recorder();
    const limiter = createLimiter('5/h', { store: metered(store, observer), name: 'api' });
    const decision = limiter.take('alice');
    expect(decision.remaining).toBe(4);
    expect(observer.calls).toEqual([
      { what: 'take', limiter: 'api', outcome: 'allowed', took: undefined, decision },
    ]);
    expect(observer.calls[0]?.decision).toBe(decision);
  });

  test('reports every hit once, and an outcome only for hits that try to take units', () => {
    const observer = recorder();
    const clock = manualClock();
    const limiter = createLimiter('2/s', { store: metered(memory({ clock }), observer) });
    limiter.take('a', 2);
    limiter.take('a');
    limiter.take('a', { cost: 2, mode: 'partial' });
    limiter.peek('a');
    limiter.take('a', 0);
    limiter.refund('a');
    limiter.release('a');
    limiter.block('a', '1s');
    limiter.reset('a');
    expect(observer.calls.map(({ what, outcome }) => `${what} ${outcome}`)).toEqual([
      'take allowed',
      'take denied',
      'take denied',
      'peek undefined',
      'peek undefined',
      'refund undefined',
      'release undefined',
      'block undefined',
      'reset undefined',
    ]);
  });

  test('reports a reservation as allowed, and a rejected reservation as denied', () => {
    const observer = recorder();
    const limiter = createLimiter('1/s', { store: metered(memory({ clock: manualClock() }), observer) });
    expect(limiter.reserve('a').delay).toBe(0);
    expect(limiter.reserve('a').delay).toBe(1000);
    expect(limiter.reserve('a', { maxDelay: 500 }).delay).toBe(Infinity);
    expect(observer.calls.map(({ outcome }) => outcome)).toEqual(['allowed', 'allowed', 'denied']);
  });

  test('does not report waiting in acquire as a denial, unless the wait would never end', async () => {
    const observer = recorder();
    const clock = manualClock();
    const limiter = createLimiter('1/s', { store: metered(memory({ clock }), observer) });
    await limiter.acquire('a');
    const waiting = limiter.acquire('a');
    expect(observer.calls.map(({ outcome }) => outcome)).toEqual(['allowed', undefined]);
    clock.advance(1000);
    expect((await waiting).allowed).toBe(true);
    expect((await limiter.acquire('a', 5)).allowed).toBe(false);
    expect(observer.calls.slice(2).map(({ outcome }) => outcome)).toEqual(['allowed', 'denied']);
  });

  test('times asynchronous answers and reports them before the caller continues', async () => {
    const observer = recorder();
    const name = `metered ${process.pid}`;
    const limiter = createLimiter('2/h', { store: metered(redis(client, patient), observer), name });
    const start = performance.now();
    for (const outcome of ['allowed', 'allowed', 'denied']) {
      await limiter.take('alice');
      expect(observer.calls.at(-1)).toMatchObject({ what: 'take', limiter: name, outcome });
    }
    const elapsed = performance.now() - start;
    const times = observer.calls.map(({ took }) => took as number);
    for (const took of times) expect(took).toBeGreaterThan(0);
    expect(times.reduce((sum, took) => sum + took, 0)).toBeLessThanOrEqual(elapsed);
  });

  test('times only the asynchronous answers of a store that also answers synchronously', async () => {
    const observer = recorder();
    const inner = redis(client, patient);
    const store = metered(leased(inner, { nodes: 1 }), observer);
    const limiter = createLimiter('100000/s burst 100000', { store, name: `leased ${process.pid}` });
    for (let i = 0; i < 50; i++) await limiter.take('hot');
    await store.close();
    expect(observer.calls).toHaveLength(50);
    const atOnce = observer.calls.filter(({ took }) => took === undefined);
    expect(atOnce.length).toBeGreaterThan(0);
    expect(new Set(atOnce.map(({ decision }) => decision?.source))).toEqual(new Set(['lease']));
    const later = observer.calls.filter(({ took }) => took !== undefined);
    expect(later.map(({ decision }) => decision?.source)).toContain('store');
  });

  test('reports a fault with its kind, and passes the same error to the caller', async () => {
    const observer = recorder();
    const limiter = createLimiter('2/h', {
      store: metered(redis(offlineClient, patient), observer),
      name: 'far',
    });
    const error: unknown = await limiter.take('alice').catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(StoreUnavailable);
    expect(observer.calls).toMatchObject([{ what: 'take', limiter: 'far', fault: 'connection' }]);
    expect(observer.calls[0]?.error).toBe(error);
    expect(observer.calls[0]?.took).toBeGreaterThanOrEqual(0);
  });

  test('reports and rethrows a synchronous error synchronously', () => {
    const observer = recorder();
    const broken: Store<Decision> = {
      ...memory(),
      apply() {
        throw new Error('out of order');
      },
    };
    const limiter = createLimiter('2/h', { store: metered(broken, observer) });
    expect(() => limiter.take('alice')).toThrow('out of order');
    expect(observer.calls).toMatchObject([{ what: 'take', fault: 'unknown', took: undefined }]);
  });

  test('hides errors of an observer from the caller and the next observer', async () => {
    const unhandled = rejections();
    const observer = recorder();
    const throwing: Observer = {
      decided() {
        throw new Error('observer');
      },
      failed() {
        throw new Error('observer');
      },
    };
    const rejecting = {
      decided: () => Promise.reject(new Error('observer')),
      failed: () => Promise.reject(new Error('observer')),
    };
    const local = createLimiter('5/h', { store: metered(memory(), throwing, rejecting, observer) });
    expect(local.take('alice').allowed).toBe(true);
    const far = createLimiter('5/h', {
      store: metered(redis(offlineClient, patient), throwing, rejecting, observer),
      name: 'api',
    });
    await expect(far.take('alice')).rejects.toThrow(StoreUnavailable);
    expect(observer.calls.map(({ fault }) => fault)).toEqual([undefined, 'connection']);
    await unhandled.stop();
    expect(unhandled.seen).toEqual([]);
  });

  test('closes the wrapped store when the metered store is closed', () => {
    const store = memory();
    const watched = metered(store, recorder());
    createLimiter('5/h', { store: watched }).take('alice');
    expect(store.size).toBe(1);
    void watched.close();
    expect(store.size).toBe(0);
  });

  test.each([[undefined], [null], [{}], [{ decided: 1 }], [() => {}]])(
    'rejects an observer without methods: %o',
    (observer) => {
      expect(() => metered(memory(), observer as Observer)).toThrow('ERR_OPTIONS');
    },
  );
});
