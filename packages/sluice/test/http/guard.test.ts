import { Redis } from 'ioredis';
import { afterAll, afterEach, describe, expect, inject, it, vi } from 'vitest';
import {
  createGuard,
  type GuardLimiter,
  type GuardOptions,
  type Outcome,
  type RequestLike,
  type Verdict,
  type View,
} from '../../src/http/index.ts';
import { concurrency, createLimiter, type Decision, fixedWindow, memory } from '../../src/index.ts';
import { redis } from '../../src/stores/redis/index.ts';
import { manualClock } from '../../src/testing/index.ts';
import { freePort } from 'sluice-test-support/redis/server.ts';

interface Asked extends RequestLike {
  readonly user?: string;
}

type Options = GuardOptions<Asked>;

const view: View<Asked> = { addressed: (request) => request, identity: (request) => request };
const guardOf = (options: Options | GuardLimiter) => createGuard<Asked>(options, view);
const request = (user?: string): Asked => ({
  headers: {},
  remoteAddress: '192.0.2.1',
  ...(user !== undefined && { user }),
});
const out = (status = 200, aborted = false): Outcome => ({ status, aborted });

/** So many an hour; the clock stands still. */
const so = (limit: number, name = 'default') =>
  createLimiter(
    { [name]: fixedWindow({ limit, per: '1h' }) },
    { store: memory({ clock: manualClock(0) }), name },
  );

/** A promise of another library: it has only `then`. */
function foreign<T>(promise: Promise<T>): Promise<T> {
  // oxlint-disable-next-line unicorn/no-thenable -- that is the claim
  return Object.defineProperty({} as Promise<T>, 'then', {
    value: (...on: Parameters<typeof promise.then>) => foreign(promise.then(...on)),
  });
}

/** The verdict of a limiter that answers at once. */
function now(verdict: Verdict | Promise<Verdict>): Verdict {
  expect(verdict).not.toBeInstanceOf(Promise);
  return verdict as Verdict;
}

const client = new Redis(inject('redisPort'), '127.0.0.1');
afterAll(() => client.disconnect());
const onRedis = (limit: number) =>
  createLimiter(fixedWindow({ limit, per: '1h' }), {
    store: redis(client, { onFailure: 'throw', deadline: '10s' }),
    name: `guard ${process.pid} ${Math.random()}`,
  });

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0)) await clean();
});

async function down(): Promise<GuardLimiter> {
  const connection = new Redis(await freePort(), '127.0.0.1', {
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
  });
  connection.on('error', () => {});
  cleanups.push(() => connection.disconnect());
  return createLimiter('2/h', {
    store: redis(connection, { onFailure: 'throw', deadline: 50 }),
    name: 'api',
  });
}

describe('a verdict', () => {
  it('of a limiter in memory comes without a promise, of one in Redis with one', async () => {
    expect(now(guardOf(so(1))(request()))).toMatchObject({ refusal: undefined, settle: undefined });
    const later = guardOf(onRedis(1))(request());
    expect(later).toBeInstanceOf(Promise);
    expect((await later).decision?.remaining).toBe(0);
  });

  it('comes as a Promise where an option answers with any other thenable', async () => {
    const verdict = guardOf({ limiter: so(1), key: () => foreign(Promise.resolve('k')) })(request());
    expect(verdict).toBeInstanceOf(Promise);
    expect((await verdict).decision?.allowed).toBe(true);
  });

  it('has a body that was promised', async () => {
    const guard = guardOf({ limiter: so(1), cost: 2, body: async (_, { policy }) => ({ sorry: policy }) });
    expect((await guard(request())).refusal).toEqual({
      status: 429,
      type: 'application/json',
      body: '{"sorry":"default"}',
    });
  });

  it.each([
    ['text', 'calm down', 'text/plain; charset=utf-8', 'calm down'],
    ['nothing', undefined, 'application/json', ''],
    ['null', null, 'application/json', 'null'],
  ])('has a body that is %s', (_, body, type, sent) => {
    const guard = guardOf({ limiter: so(1), cost: 2, body: () => body });
    expect(now(guard(request())).refusal).toEqual({ status: 429, type, body: sent });
  });
});

describe('several limits', () => {
  it('are all or nothing', () => {
    const [wide, narrow] = [so(10, 'wide'), so(1, 'narrow')];
    const guard = guardOf({ limiter: wide, limits: [{ limiter: narrow, key: () => 'all' }] });
    expect(now(guard(request())).refusal).toBeUndefined();
    const denied = now(guard(request()));
    expect(denied.refusal?.status).toBe(429);
    expect(JSON.parse(denied.refusal?.body ?? '')).toMatchObject({ 'violated-policies': ['narrow'] });
    expect(wide.peek('192.0.2.1').remaining).toBe(9);
  });

  it('on two stores are all or nothing too', async () => {
    const [wide, narrow] = [onRedis(10), so(1)];
    const guard = guardOf({ limits: [{ limiter: wide }, { limiter: narrow }] });
    expect((await guard(request())).refusal).toBeUndefined();
    expect((await guard(request())).refusal?.status).toBe(429);
    expect((await wide.peek('192.0.2.1')).remaining).toBe(9);
  });

  it('whose key is false do not apply, and their cost and tier are not asked for', () => {
    const [own, other] = [so(5), so(5)];
    const fault = () => {
      throw new Error('asked');
    };
    const guard = guardOf({
      limits: [
        { limiter: own, key: ({ user }) => user ?? false },
        { limiter: other, key: () => false, cost: fault, tier: fault },
      ],
    });
    expect(now(guard(request('alice'))).decision?.policies).toHaveLength(1);
    expect(own.peek('alice').remaining).toBe(4);
    expect(now(guard(request()))).toEqual({
      decision: undefined,
      headers: [],
      refusal: undefined,
      settle: undefined,
    });
  });

  it('with a fault in two of them reject once, and no rejection goes unheard', async () => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    cleanups.push(() => process.off('unhandledRejection', unhandled));
    const guard = guardOf({
      limits: [
        { limiter: so(1), key: () => Promise.reject(new Error('first')) },
        {
          limiter: so(1),
          key: () => {
            throw new Error('second');
          },
        },
      ],
    });
    await expect(guard(request())).rejects.toThrow(/first|second/);
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(unhandled).not.toHaveBeenCalled();
  });
});

describe('a key function that does not know a client', () => {
  it('leaves it to the limit of its address', () => {
    const limiter = so(2);
    const guard = guardOf({ limiter, key: ({ user }) => (user === 'alice' ? user : undefined) });
    for (const user of ['alice', 'invented', undefined])
      expect(now(guard(request(user))).refusal).toBeUndefined();
    expect(now(guard(request('invented again'))).refusal).toBeDefined();
    expect([limiter.peek('alice').remaining, limiter.peek('192.0.2.1').remaining]).toEqual([1, 0]);
  });

  it('gives 1,000 invented API keys one limit', () => {
    const customers = new Map([['k-17', 'alice']]);
    const guard = guardOf({ limiter: so(10), key: ({ user }) => customers.get(user ?? '') });
    let passed = 0;
    for (let i = 0; i < 1000; i++) if (now(guard(request(`invented ${i}`))).refusal === undefined) passed++;
    expect(passed).toBe(10);
  });
});

describe('Retry-After of clients that wait for the same window', () => {
  const retryAfter = ({ headers }: Verdict): number =>
    Number(headers.find(([name]) => name === 'Retry-After')?.[1]);

  /** What 1,000 clients are told that are denied 20 seconds before the end of a minute. */
  function told(policies: Parameters<typeof createLimiter>[0]): number[] {
    const clock = manualClock(1_700_000_020_000);
    const limiter = createLimiter(policies, { store: memory({ clock }) });
    const guard = guardOf({ limiter, key: ({ user }) => user });
    return Array.from({ length: 1000 }, (_, i) => {
      void guard(request(`client ${i}`));
      return retryAfter(guard(request(`client ${i}`)) as Verdict);
    });
  }

  const most = (values: readonly number[]): number =>
    Math.max(...[...new Set(values)].map((value) => values.filter((other) => other === value).length));

  it('is spread over five seconds for a window of a minute, and never too early', () => {
    const values = told(fixedWindow({ limit: 1, per: '1m' }));
    expect([Math.min(...values), Math.max(...values)]).toEqual([21, 25]);
    expect(most(values)).toBeLessThan(300);
  });

  it('is the same each time for a client, and not earlier than t', () => {
    const [values, again] = [told('1/min fixed-window'), told('1/min fixed-window')];
    expect(values).toEqual(again);
    expect(Math.min(...values)).toBeGreaterThanOrEqual(20);
  });

  it.each([
    ['a window below ten seconds', fixedWindow({ limit: 1, per: '5s' })],
    ['units that come back one by one', '1/min'],
  ])('is not spread for %s', (_, policies) => {
    expect(new Set(told(policies)).size).toBe(1);
  });
});

describe('settling', () => {
  async function settled(final: number | undefined | Promise<number>, cost = 3, limit = 10): Promise<number> {
    const limiter = so(limit);
    const { settle } = now(guardOf({ limiter, cost, settle: () => final, key: () => 'k' })(request()));
    expect(limiter.peek('k').remaining).toBe(limit - cost);
    await settle?.(out());
    return limit - limiter.peek('k').remaining;
  }

  it.each([
    ['less is given back', 1, 1],
    ['nothing at all is given back whole', 0, 0],
    ['more is charged', 5, 5],
    ['more than there is overdraws', 30, 10],
    ['undefined leaves it as it was', undefined, 3],
    ['a promise is awaited', Promise.resolve(2), 2],
    ['a negative cost is a fault and mints nothing', -5, 3],
    ['no number is a fault and changes nothing', Number.NaN, 3],
  ])('%s', async (_, final, charged) => {
    expect(await settled(final)).toBe(charged);
  });

  it('charges more than a window’s worth in full', async () => {
    const limiter = createLimiter('10/min', { store: memory({ clock: manualClock(0) }) });
    const { settle } = now(guardOf({ limiter, settle: () => 100, key: () => 'k' })(request()));
    await settle?.(out());
    expect(limiter.peek('k').retryAfter).toBe(91 * 6000);
  });

  it('happens once, however often it is called', async () => {
    const limiter = so(10);
    const { settle } = now(guardOf({ limiter, cost: 3, settle: () => 2, key: () => 'k' })(request()));
    await Promise.all([settle?.(out()), settle?.(out())]);
    await settle?.(out());
    expect(limiter.peek('k').remaining).toBe(8);
  });

  it('hears how the response ended', async () => {
    const settle = vi.fn();
    const asked = request();
    const verdict = now(guardOf({ limiter: so(1), settle })(asked));
    await verdict.settle?.(out(401, true));
    expect(settle).toHaveBeenCalledExactlyOnceWith(asked, { status: 401, aborted: true });
  });

  it('that throws harms nobody, and what was held is released all the same', async () => {
    const limiter = createLimiter(concurrency({ limit: 2, lease: '1m' }));
    const fault = () => {
      throw new Error('fault');
    };
    const { settle } = now(guardOf({ limiter, key: () => 'k', settle: fault })(request()));
    await settle?.(out());
    expect(limiter.peek('k').remaining).toBe(2);
  });

  it.each([
    [
      'that throws',
      'fault',
      () => {
        throw new Error('fault');
      },
    ],
    ['that rejects', 'fault', () => Promise.reject(new Error('fault'))],
    ['to no cost', 'ERR_COST', () => -1],
  ])('%s is told to onUnavailable, with the request', async (_, message, settle) => {
    const onUnavailable = vi.fn();
    const asked = request();
    const verdict = now(guardOf({ limiter: so(3), settle, onUnavailable })(asked));
    expect(onUnavailable).not.toHaveBeenCalled();
    await verdict.settle?.(out());
    const told = expect.objectContaining({ message: expect.stringContaining(message) });
    expect(onUnavailable).toHaveBeenCalledExactlyOnceWith(asked, told);
  });

  it('whose store has gone away meanwhile is told to onUnavailable', async () => {
    const present = so(3);
    const onUnavailable = vi.fn();
    const limiter: GuardLimiter = { ...(await down()), take: (...hit) => present.take(...hit) };
    const asked = request();
    const { settle } = now(guardOf({ limiter, settle: () => 0, onUnavailable })(asked));
    await settle?.(out());
    const told = expect.objectContaining({ code: 'ERR_STORE_UNAVAILABLE' });
    expect(onUnavailable).toHaveBeenCalledExactlyOnceWith(asked, told);
  });

  it.each([0, 1, 3])('to %d releases what this request held, and nobody else’s', async (final) => {
    const limiter = createLimiter({
      rate: fixedWindow({ limit: 10, per: '1h' }),
      atOnce: concurrency({ limit: 3, lease: '1m' }),
    });
    const guard = guardOf({ limiter, key: () => 'k', settle: () => final });
    const { settle } = now(guard(request()));
    now(guard(request()));
    await settle?.(out());
    const [rate, atOnce] = limiter.peek('k').policies;
    expect(rate?.remaining).toBe(10 - 1 - final);
    expect(atOnce?.remaining).toBe(2);
  });
});

describe('a later guard', () => {
  it('that denies makes the earlier ones give back exactly once', async () => {
    const [first, second] = [so(10, 'first'), so(10, 'second')];
    const asked = request();
    const settles = [first, second].map(
      (limiter) => now(guardOf({ limiter, cost: 4, settle: () => 1, key: () => 'k' })(asked)).settle,
    );
    first.take('k', 2);
    const last = guardOf({ limiter: so(1), cost: 2 });
    expect(now(last(asked)).refusal?.status).toBe(429);
    for (const settle of settles) await settle?.(out(429));
    expect(now(last(asked)).refusal?.status).toBe(429);
    expect([first.peek('k').remaining, second.peek('k').remaining]).toEqual([8, 10]);
  });

  it('that denies takes nothing back that is settled already', async () => {
    const limiter = so(10);
    const asked = request();
    const { settle } = now(guardOf({ limiter, cost: 4, settle: () => 3, key: () => 'k' })(asked));
    await settle?.(out());
    now(guardOf({ limiter: so(1), cost: 2 })(asked));
    expect(limiter.peek('k').remaining).toBe(7);
  });

  it('whose store is down makes the earlier ones give back', async () => {
    const limiter = so(10);
    const asked = request();
    now(guardOf({ limiter, key: () => 'k' })(asked));
    expect((await guardOf(await down())(asked)).refusal?.status).toBe(503);
    expect(limiter.peek('k').remaining).toBe(10);
  });

  it('tells of the earlier ones, and takes two policies of one name apart', () => {
    const asked = request();
    now(guardOf(so(5))(asked));
    const { headers } = now(guardOf({ limiter: so(2) })(asked));
    expect(new Map(headers).get('RateLimit')).toBe('"default";r=4;t=3600,"default-2";r=1;t=3600');
  });

  it('of the same limiter adds its cost, and tells its policies once', () => {
    const limiter = so(10);
    const asked = request();
    now(guardOf(limiter)(asked));
    const { headers } = now(guardOf({ limiter, cost: 4 })(asked));
    expect(new Map(headers).get('RateLimit')).toBe('"default";r=5;t=3600');
  });

  it('of another request knows nothing of it', () => {
    const limiter = so(10);
    now(guardOf({ limiter, key: () => 'k' })(request()));
    expect(now(guardOf({ limiter: so(1), cost: 2 })(request())).refusal?.status).toBe(429);
    expect(limiter.peek('k').remaining).toBe(9);
  });
});

describe('shadow', () => {
  it('tells nothing to clients and to later guards, whether it passes or denies', () => {
    for (const cost of [1, 9]) {
      const asked = request();
      const shadowed = now(guardOf({ limiter: so(5, 'shadowed'), cost, shadow: true })(asked));
      expect(shadowed).toMatchObject({ headers: [], refusal: undefined });
      expect(shadowed.decision?.allowed).toBe(cost === 1);
      const { headers } = now(guardOf({ limiter: so(2, 'real') })(asked));
      expect(new Map(headers).get('RateLimit')).toBe('"real";r=1;t=3600');
    }
  });

  it('keeps what earlier guards have to tell', () => {
    const asked = request();
    now(guardOf(so(5, 'first'))(asked));
    now(guardOf({ limiter: so(5, 'shadowed'), shadow: true })(asked));
    const { headers } = now(guardOf(so(2, 'last'))(asked));
    expect(new Map(headers).get('RateLimit')).toBe('"first";r=4;t=3600,"last";r=1;t=3600');
  });

  it('lets all pass while the store is down, and says so', async () => {
    const onUnavailable = vi.fn();
    const guard = guardOf({ limiter: await down(), shadow: true, onUnavailable });
    expect(await guard(request())).toMatchObject({ refusal: undefined, decision: undefined });
    expect(onUnavailable).toHaveBeenCalledOnce();
  });
});

describe('those who are told', () => {
  it.each([
    [
      'throws',
      () => {
        throw new Error('fault');
      },
    ],
    ['rejects', () => Promise.reject(new Error('fault'))],
  ])('of a denial: one that %s harms nobody', async (_, onDenied) => {
    const guard = guardOf({ limiter: so(1), cost: 2, onDenied });
    expect(now(guard(request())).refusal?.status).toBe(429);
    await new Promise((resolve) => setImmediate(resolve));
  });

  it('of a denial hear it once, with the request and the decision that the client hears', () => {
    const told: [Asked, Decision][] = [];
    const asked = request();
    const guard = guardOf({ limiter: so(1), cost: 2, onDenied: (...it) => told.push(it) });
    const { decision } = now(guard(asked));
    expect(told).toEqual([[asked, decision]]);
  });

  it('of an unavailable store harm nobody by throwing', async () => {
    const onUnavailable = () => {
      throw new Error('fault');
    };
    const guard = guardOf({ limiter: await down(), onUnavailable });
    expect((await guard(request())).refusal?.status).toBe(503);
  });
});

describe('a fault', () => {
  const fault = () => {
    throw new Error('fault');
  };
  const rejection = () => Promise.reject(new Error('fault'));

  it.each(['key', 'cost', 'tier', 'skip'] as const)(
    'in %s is the caller’s to hear, and charges nothing',
    async (name) => {
      const limiter = so(5);
      expect(() => guardOf({ limiter, [name]: fault })(request())).toThrow('fault');
      await expect(guardOf({ limiter, [name]: rejection })(request())).rejects.toThrow('fault');
      expect(limiter.peek('192.0.2.1').remaining).toBe(5);
    },
  );

  it.each([
    ['a key that is a number', { key: () => 7 as unknown as string }, /key must be a string/],
    ['a cost below 0', { cost: () => -1 }, /cost must be/],
    ['a cost above 2 ** 53', { cost: () => 1e300 }, /cost must be .*at most 2 \*\* 53/],
    ['an unknown tier', { tier: () => 'gold' }, /tier is not a tier/],
  ])('%s is refused', (_, options, message) => {
    expect(() => guardOf({ limiter: so(5), ...options })(request())).toThrow(message);
  });
});

describe('a mistake in the options comes to light when the guard is made:', () => {
  const limiter = so(1);
  it.each([
    ['a misspelt option', { limitr: limiter }, /limitr is not an option here/],
    ['one of a limit', { limits: [{ limiter, kye: () => 'k' }] }, /kye is not an option here/],
    ['no limiter', {}, /limiter is required/],
    ['no limits', { limits: [] }, /limiter is required/],
    ['a limit without a limiter', { limits: [{ key: () => 'k' }] }, /limiter is required/],
    ['what is no limiter', { limiter: '100/min' }, /a limiter/],
    [
      'a key beside limits that have their own',
      { key: () => 'k', limits: [{ limiter }] },
      /limiter is required/,
    ],
    ['a key that is no function', { limiter, key: 'user' }, /rateLimit.key must be .*a function/],
    ['a body that is no function', { limiter, body: { sorry: true } }, /rateLimit.body must be .*a function/],
    ['a negative cost', { limiter, cost: -1 }, /rateLimit.cost must be/],
    ['a status that no response can have', { limiter, status: 42 }, /rateLimit.status must be/],
    ['an unknown style', { limiter, headers: 'draft-0' }, /draft-11, legacy, github, sharkey/],
    ['headers that are no list', { limiter, headers: 11 }, /rateLimit.headers must be a list/],
    ['limits that are no list', { limits: null }, /rateLimit.limits must be a list/],
    ['one among several', { limiter, headers: ['legacy', 'x'] }, /rateLimit.headers must be one of/],
    ['whom to trust', { limiter, trustProxy: 'everybody' }, /trustProxy must be/],
    ['nothing at all', undefined, /rateLimit must be an object/],
  ])('%s', (_, options, message) => {
    expect(() => guardOf(options as unknown as Options)).toThrow(message);
  });
});
