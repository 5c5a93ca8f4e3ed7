import { Redis } from 'ioredis';
import { afterAll, describe, expect, inject, test } from 'vitest';
import {
  createLimiter,
  type Decision,
  leased,
  memory,
  metered,
  type Observer,
  type Outcome,
  type Store,
  StoreUnavailable,
} from '../../src/index.ts';
import { redis } from '../../src/stores/redis/index.ts';
import { conformance, manualClock } from '../../src/testing/index.ts';
import { rejections } from 'sluice-test-support/redis/watch.ts';
import { STORES } from '../support/stores.ts';

interface Told {
  readonly what: string;
  readonly limiter: string;
  readonly outcome: Outcome;
  readonly took: number | undefined;
  readonly fault?: string;
  readonly error?: unknown;
  readonly decision?: Decision;
}

/** Keeps what it is told. */
function recorder(): Observer & { readonly told: Told[] } {
  const told: Told[] = [];
  return {
    told,
    decided({ verb, plan }, decision, outcome, took) {
      told.push({ what: verb, limiter: plan.name, outcome, took, decision });
    },
    failed({ verb, plan }, error, fault, took) {
      told.push({ what: verb, limiter: plan.name, outcome: undefined, took, fault, error });
    },
  };
}

const client = new Redis(inject('redisPort'), '127.0.0.1');
afterAll(() => client.disconnect());
/** A client whose server is not there. */
/** A busy machine may be slow. */
const patient = { deadline: '10s', onFailure: 'throw' } as const;
const nobody = { send: () => Promise.reject(new Error('connect ECONNREFUSED')) };

describe.each(['memory', 'redis 7'])('a metered store on %s', (name) => {
  const make = STORES[name];
  describe('keeps every claim of a store', () => {
    for (const claim of conformance((clock) => metered(make(clock), recorder()))) test(claim.name, claim.run);
  });
});

describe('metered', () => {
  test('a store that answers at once still does, with the very decision of the store', () => {
    const store = memory();
    const observer = recorder();
    const limiter = createLimiter('5/h', { store: metered(store, observer), name: 'api' });
    const decision = limiter.take('alice');
    expect(decision.remaining).toBe(4);
    expect(observer.told).toEqual([
      { what: 'take', limiter: 'api', outcome: 'allowed', took: undefined, decision },
    ]);
    expect(observer.told[0]?.decision).toBe(decision);
  });

  test('every hit is told once, and only what was asked to pass has an outcome', () => {
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
    expect(observer.told.map(({ what, outcome }) => `${what} ${outcome}`)).toEqual([
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

  test('a turn that is booked ahead is allowed; one that is not is denied', () => {
    const observer = recorder();
    const limiter = createLimiter('1/s', { store: metered(memory({ clock: manualClock() }), observer) });
    expect(limiter.reserve('a').delay).toBe(0);
    expect(limiter.reserve('a').delay).toBe(1000);
    expect(limiter.reserve('a', { maxDelay: 500 }).delay).toBe(Infinity);
    expect(observer.told.map(({ outcome }) => outcome)).toEqual(['allowed', 'allowed', 'denied']);
  });

  test('to be told to wait in acquire is no denial; to be told never is one', async () => {
    const observer = recorder();
    const clock = manualClock();
    const limiter = createLimiter('1/s', { store: metered(memory({ clock }), observer) });
    await limiter.acquire('a');
    const waiting = limiter.acquire('a');
    expect(observer.told.map(({ outcome }) => outcome)).toEqual(['allowed', undefined]);
    clock.advance(1000);
    expect((await waiting).allowed).toBe(true);
    expect((await limiter.acquire('a', 5)).allowed).toBe(false);
    expect(observer.told.slice(2).map(({ outcome }) => outcome)).toEqual(['allowed', 'denied']);
  });

  test('what a server answers is timed, and told before its caller goes on', async () => {
    const observer = recorder();
    const name = `metered ${process.pid}`;
    const limiter = createLimiter('2/h', { store: metered(redis(client, patient), observer), name });
    const start = performance.now();
    for (const outcome of ['allowed', 'allowed', 'denied']) {
      await limiter.take('alice');
      expect(observer.told.at(-1)).toMatchObject({ what: 'take', limiter: name, outcome });
    }
    const elapsed = performance.now() - start;
    const times = observer.told.map(({ took }) => took as number);
    for (const took of times) expect(took).toBeGreaterThan(0);
    expect(times.reduce((sum, took) => sum + took, 0)).toBeLessThanOrEqual(elapsed);
  });

  test('where a store answers some at once and others later, only those that came later are timed', async () => {
    const observer = recorder();
    const inner = redis(client, patient);
    const store = metered(leased(inner, { nodes: 1 }), observer);
    const limiter = createLimiter('100000/s burst 100000', { store, name: `leased ${process.pid}` });
    for (let i = 0; i < 50; i++) await limiter.take('hot');
    await store.close();
    expect(observer.told).toHaveLength(50);
    const atOnce = observer.told.filter(({ took }) => took === undefined);
    expect(atOnce.length).toBeGreaterThan(0);
    expect(new Set(atOnce.map(({ decision }) => decision?.source))).toEqual(new Set(['lease']));
    const later = observer.told.filter(({ took }) => took !== undefined);
    expect(later.map(({ decision }) => decision?.source)).toContain('store');
  });

  test('a fault is told with its kind, and the caller gets the same error', async () => {
    const observer = recorder();
    const limiter = createLimiter('2/h', { store: metered(redis(nobody, patient), observer), name: 'far' });
    const error: unknown = await limiter.take('alice').catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(StoreUnavailable);
    expect(observer.told).toMatchObject([{ what: 'take', limiter: 'far', fault: 'connection' }]);
    expect(observer.told[0]?.error).toBe(error);
    expect(observer.told[0]?.took).toBeGreaterThanOrEqual(0);
  });

  test('an error that is thrown at once is told and thrown at once', () => {
    const observer = recorder();
    const broken: Store<Decision> = {
      ...memory(),
      apply() {
        throw new Error('out of order');
      },
    };
    const limiter = createLimiter('2/h', { store: metered(broken, observer) });
    expect(() => limiter.take('alice')).toThrow('out of order');
    expect(observer.told).toMatchObject([{ what: 'take', fault: 'unknown', took: undefined }]);
  });

  test('what an observer throws or rejects with reaches nobody: not the caller, not the next observer', async () => {
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
      store: metered(redis(nobody, patient), throwing, rejecting, observer),
      name: 'api',
    });
    await expect(far.take('alice')).rejects.toThrow(StoreUnavailable);
    expect(observer.told.map(({ fault }) => fault)).toEqual([undefined, 'connection']);
    await unhandled.stop();
    expect(unhandled.seen).toEqual([]);
  });

  test('closing it closes the store', () => {
    const store = memory();
    const watched = metered(store, recorder());
    createLimiter('5/h', { store: watched }).take('alice');
    expect(store.size).toBe(1);
    void watched.close();
    expect(store.size).toBe(0);
  });

  test.each([[undefined], [null], [{}], [{ decided: 1 }], [() => {}]])(
    'what observes nothing is refused: %o',
    (observer) => {
      expect(() => metered(memory(), observer as Observer)).toThrow('ERR_OPTIONS');
    },
  );
});
