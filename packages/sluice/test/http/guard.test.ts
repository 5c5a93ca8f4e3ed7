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
import {
  type AnyLimiter,
  concurrency,
  createLimiter,
  type Decision,
  fixedWindow,
  memory,
  SluiceError,
} from '../../src/index.ts';
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

/** A limiter that allows `limit` requests per hour, on a clock that does not move. */
const perHour = (limit: number, name = 'default') =>
  createLimiter(
    { [name]: fixedWindow({ limit, per: '1h' }) },
    { store: memory({ clock: manualClock(0) }), name },
  );

/** A promise as another library may implement it: an object that has only `then`. */
function foreign<T>(promise: Promise<T>): Promise<T> {
  // oxlint-disable-next-line unicorn/no-thenable -- the guard must accept any thenable
  return Object.defineProperty({} as Promise<T>, 'then', {
    value: (...on: Parameters<typeof promise.then>) => foreign(promise.then(...on)),
  });
}

/** A custom limiter, which has no `settle`. */
function withoutSettle(limiter: AnyLimiter): GuardLimiter {
  const own = { ...limiter, settle: undefined };
  return own;
}

/** Asserts that a verdict was returned synchronously. */
function synchronous(verdict: Verdict | Promise<Verdict>): Verdict {
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

describe('createGuard', () => {
  it('returns a verdict for a limiter in memory, and a promise for a limiter on Redis', async () => {
    expect(synchronous(guardOf(perHour(1))(request()))).toMatchObject({
      refusal: undefined,
      settle: undefined,
    });
    const later = guardOf(onRedis(1))(request());
    expect(later).toBeInstanceOf(Promise);
    expect((await later).decision?.remaining).toBe(0);
  });

  it('returns a Promise if an option returns another kind of thenable', async () => {
    const verdict = guardOf({ limiter: perHour(1), key: () => foreign(Promise.resolve('k')) })(request());
    expect(verdict).toBeInstanceOf(Promise);
    expect((await verdict).decision?.allowed).toBe(true);
  });

  it('awaits a response body that is a promise', async () => {
    const guard = guardOf({
      limiter: perHour(1),
      cost: 2,
      body: async (_, { policy }) => ({ sorry: policy }),
    });
    expect((await guard(request())).refusal).toEqual({
      status: 429,
      type: 'application/json',
      body: '{"sorry":"default"}',
    });
  });

  it.each([
    ['text', 'calm down', 'text/plain; charset=utf-8', 'calm down'],
    ['undefined', undefined, 'application/json', ''],
    ['null', null, 'application/json', 'null'],
  ])('sends a response body that is %s', (_, body, type, sent) => {
    const guard = guardOf({ limiter: perHour(1), cost: 2, body: () => body });
    expect(synchronous(guard(request())).refusal).toEqual({ status: 429, type, body: sent });
  });
});

describe('a guard with several limits', () => {
  it('charges all of its limits or none', () => {
    const [wide, narrow] = [perHour(10, 'wide'), perHour(1, 'narrow')];
    const guard = guardOf({ limiter: wide, limits: [{ limiter: narrow, key: () => 'all' }] });
    expect(synchronous(guard(request())).refusal).toBeUndefined();
    const denied = synchronous(guard(request()));
    expect(denied.refusal?.status).toBe(429);
    expect(JSON.parse(denied.refusal?.body ?? '')).toMatchObject({ 'violated-policies': ['narrow'] });
    expect(wide.peek('192.0.2.1').remaining).toBe(9);
  });

  it('charges all of its limits or none, even across two stores', async () => {
    const [wide, narrow] = [onRedis(10), perHour(1)];
    const guard = guardOf({ limits: [{ limiter: wide }, { limiter: narrow }] });
    expect((await guard(request())).refusal).toBeUndefined();
    expect((await guard(request())).refusal?.status).toBe(429);
    expect((await wide.peek('192.0.2.1')).remaining).toBe(9);
  });

  it('skips limits whose key is false, without computing their cost and tier', () => {
    const [own, other] = [perHour(5), perHour(5)];
    const fault = () => {
      throw new Error('asked');
    };
    const guard = guardOf({
      limits: [
        { limiter: own, key: ({ user }) => user ?? false },
        { limiter: other, key: () => false, cost: fault, tier: fault },
      ],
    });
    expect(synchronous(guard(request('alice'))).decision?.policies).toHaveLength(1);
    expect(own.peek('alice').remaining).toBe(4);
    expect(synchronous(guard(request()))).toEqual({
      decision: undefined,
      headers: [],
      refusal: undefined,
      settle: undefined,
    });
  });

  it('rejects once if two of its limits fail, and leaves no unhandled rejection', async () => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    cleanups.push(() => process.off('unhandledRejection', unhandled));
    const guard = guardOf({
      limits: [
        { limiter: perHour(1), key: () => Promise.reject(new Error('first')) },
        {
          limiter: perHour(1),
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

describe('a key function that returns undefined', () => {
  it('limits the client by its address', () => {
    const limiter = perHour(2);
    const guard = guardOf({ limiter, key: ({ user }) => (user === 'alice' ? user : undefined) });
    for (const user of ['alice', 'invented', undefined])
      expect(synchronous(guard(request(user))).refusal).toBeUndefined();
    expect(synchronous(guard(request('invented again'))).refusal).toBeDefined();
    expect([limiter.peek('alice').remaining, limiter.peek('192.0.2.1').remaining]).toEqual([1, 0]);
  });

  it('does not give a client a new limit for each of 1,000 invented API keys', () => {
    const customers = new Map([['k-17', 'alice']]);
    const guard = guardOf({ limiter: perHour(10), key: ({ user }) => customers.get(user ?? '') });
    let passed = 0;
    for (let i = 0; i < 1000; i++)
      if (synchronous(guard(request(`invented ${i}`))).refusal === undefined) passed++;
    expect(passed).toBe(10);
  });
});

describe('Retry-After for clients that wait for the same window', () => {
  const retryAfter = ({ headers }: Verdict): number =>
    Number(headers.find(([name]) => name === 'Retry-After')?.[1]);

  /** The Retry-After values of 1,000 clients that are denied 20 seconds before the end of a minute. */
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

  it('is the same for each denial of a client, and never earlier than the t parameter', () => {
    const [values, again] = [told('1/min fixed-window'), told('1/min fixed-window')];
    expect(values).toEqual(again);
    expect(Math.min(...values)).toBeGreaterThanOrEqual(20);
  });

  it.each([
    ['a window below ten seconds', fixedWindow({ limit: 1, per: '5s' })],
    ['units that are replenished one by one', '1/min'],
  ])('is not spread for %s', (_, policies) => {
    expect(new Set(told(policies)).size).toBe(1);
  });
});

describe('settling', () => {
  async function settled(
    final: number | undefined | Promise<number>,
    { limit = 10, cost = 3, isSettling = true } = {},
  ): Promise<number> {
    const limiter = perHour(limit);
    const { settle } = synchronous(
      guardOf({
        limiter: isSettling ? limiter : withoutSettle(limiter),
        cost,
        settle: () => final,
        key: () => 'k',
      })(request()),
    );
    expect(limiter.peek('k').remaining).toBe(limit - cost);
    await settle?.(out());
    return limit - limiter.peek('k').remaining;
  }

  it.each([
    ['refunds the difference if the final cost is lower', 1, 1],
    ['refunds everything if the final cost is 0', 0, 0],
    ['charges the difference if the final cost is higher', 5, 5],
    ['overdraws if the final cost exceeds the limit', 30, 10],
    ['keeps the cost if the result is undefined', undefined, 3],
    ['awaits a promise', Promise.resolve(2), 2],
    ['rejects a negative final cost and refunds nothing', -5, 3],
    ['rejects NaN and keeps the cost', Number.NaN, 3],
  ])('%s', async (_, final, charged) => {
    expect(await settled(final)).toBe(charged);
    expect(await settled(final, { isSettling: false })).toBe(charged);
  });

  it('charges a final cost beyond one window in full', async () => {
    const limiter = createLimiter('10/min', { store: memory({ clock: manualClock(0) }) });
    const { settle } = synchronous(guardOf({ limiter, settle: () => 100, key: () => 'k' })(request()));
    await settle?.(out());
    expect(limiter.peek('k').retryAfter).toBe(91 * 6000);
  });

  it('takes effect once, however often `settle` is called', async () => {
    const limiter = perHour(10);
    const { settle } = synchronous(guardOf({ limiter, cost: 3, settle: () => 2, key: () => 'k' })(request()));
    await Promise.all([settle?.(out()), settle?.(out())]);
    await settle?.(out());
    expect(limiter.peek('k').remaining).toBe(8);
  });

  it('passes the outcome of the response to the settle function', async () => {
    const settle = vi.fn();
    const asked = request();
    const verdict = synchronous(guardOf({ limiter: perHour(1), settle })(asked));
    await verdict.settle?.(out(401, true));
    expect(settle).toHaveBeenCalledExactlyOnceWith(asked, { status: 401, aborted: true });
  });

  it('releases the held place even if the settle function throws', async () => {
    const limiter = createLimiter(concurrency({ limit: 2, lease: '1m' }));
    const fault = () => {
      throw new Error('fault');
    };
    const { settle } = synchronous(guardOf({ limiter, key: () => 'k', settle: fault })(request()));
    await settle?.(out());
    expect(limiter.peek('k').remaining).toBe(2);
  });

  it.each([
    [
      'a settle function that throws',
      'fault',
      () => {
        throw new Error('fault');
      },
    ],
    ['a settle function that rejects', 'fault', () => Promise.reject(new Error('fault'))],
    ['an invalid final cost', 'ERR_COST', () => -1],
  ])('calls onUnavailable, with the request and the error, for %s', async (_, message, settle) => {
    const onUnavailable = vi.fn();
    const asked = request();
    const verdict = synchronous(guardOf({ limiter: perHour(3), settle, onUnavailable })(asked));
    expect(onUnavailable).not.toHaveBeenCalled();
    await verdict.settle?.(out());
    const told = expect.objectContaining({ message: expect.stringContaining(message) });
    expect(onUnavailable).toHaveBeenCalledExactlyOnceWith(asked, told);
  });

  it('calls onUnavailable if the store has become unavailable since the take', async () => {
    const present = perHour(3);
    const onUnavailable = vi.fn();
    const limiter: GuardLimiter = { ...(await down()), take: (...hit) => present.take(...hit) };
    const asked = request();
    const { settle } = synchronous(guardOf({ limiter, settle: () => 0, onUnavailable })(asked));
    await settle?.(out());
    const told = expect.objectContaining({ code: 'ERR_STORE_UNAVAILABLE' });
    expect(onUnavailable).toHaveBeenCalledExactlyOnceWith(asked, told);
  });

  it.each([
    [0, true],
    [1, true],
    [3, true],
    [0, false],
    [1, false],
    [3, false],
  ])(
    'to a cost of %d releases only what this request held (limiter has settle: %s)',
    async (final, isSettling) => {
      const limiter = createLimiter({
        rate: fixedWindow({ limit: 10, per: '1h' }),
        atOnce: concurrency({ limit: 3, lease: '1m' }),
      });
      const charged = isSettling ? limiter : withoutSettle(limiter);
      const guard = guardOf({ limiter: charged, key: () => 'k', settle: () => final });
      const { settle } = synchronous(guard(request()));
      synchronous(guard(request()));
      await settle?.(out());
      const [rate, atOnce] = limiter.peek('k').policies;
      expect(rate?.remaining).toBe(10 - 1 - final);
      expect(atOnce?.remaining).toBe(2);
    },
  );
});

describe('a later guard', () => {
  it('refunds what earlier guards charged, exactly once, if it denies', async () => {
    const [first, second] = [perHour(10, 'first'), perHour(10, 'second')];
    const asked = request();
    const settles = [first, second].map(
      (limiter) => synchronous(guardOf({ limiter, cost: 4, settle: () => 1, key: () => 'k' })(asked)).settle,
    );
    first.take('k', 2);
    const last = guardOf({ limiter: perHour(1), cost: 2 });
    expect(synchronous(last(asked)).refusal?.status).toBe(429);
    for (const settle of settles) await settle?.(out(429));
    expect(synchronous(last(asked)).refusal?.status).toBe(429);
    expect([first.peek('k').remaining, second.peek('k').remaining]).toEqual([8, 10]);
  });

  it('does not refund charges that were already settled', async () => {
    const limiter = perHour(10);
    const asked = request();
    const { settle } = synchronous(guardOf({ limiter, cost: 4, settle: () => 3, key: () => 'k' })(asked));
    await settle?.(out());
    synchronous(guardOf({ limiter: perHour(1), cost: 2 })(asked));
    expect(limiter.peek('k').remaining).toBe(7);
  });

  it('refunds what earlier guards charged if its store is down', async () => {
    const limiter = perHour(10);
    const asked = request();
    synchronous(guardOf({ limiter, key: () => 'k' })(asked));
    expect((await guardOf(await down())(asked)).refusal?.status).toBe(503);
    expect(limiter.peek('k').remaining).toBe(10);
  });

  it('reports the policies of earlier guards, and renames duplicates', () => {
    const asked = request();
    synchronous(guardOf(perHour(5))(asked));
    const { headers } = synchronous(guardOf({ limiter: perHour(2) })(asked));
    expect(new Map(headers).get('RateLimit')).toBe('"default";r=4;t=3600,"default-2";r=1;t=3600');
  });

  it('with the same limiter adds its own cost, and reports the policies only once', () => {
    const limiter = perHour(10);
    const asked = request();
    synchronous(guardOf(limiter)(asked));
    const { headers } = synchronous(guardOf({ limiter, cost: 4 })(asked));
    expect(new Map(headers).get('RateLimit')).toBe('"default";r=5;t=3600');
  });

  it('does not see the charges of another request', () => {
    const limiter = perHour(10);
    synchronous(guardOf({ limiter, key: () => 'k' })(request()));
    expect(synchronous(guardOf({ limiter: perHour(1), cost: 2 })(request())).refusal?.status).toBe(429);
    expect(limiter.peek('k').remaining).toBe(9);
  });
});

describe('a guard in shadow mode', () => {
  it('reports nothing to clients and later guards, whether it allows or denies', () => {
    for (const cost of [1, 9]) {
      const asked = request();
      const shadowed = synchronous(guardOf({ limiter: perHour(5, 'shadowed'), cost, shadow: true })(asked));
      expect(shadowed).toMatchObject({ headers: [], refusal: undefined });
      expect(shadowed.decision?.allowed).toBe(cost === 1);
      const { headers } = synchronous(guardOf({ limiter: perHour(2, 'real') })(asked));
      expect(new Map(headers).get('RateLimit')).toBe('"real";r=1;t=3600');
    }
  });

  it('keeps the headers of earlier guards', () => {
    const asked = request();
    synchronous(guardOf(perHour(5, 'first'))(asked));
    synchronous(guardOf({ limiter: perHour(5, 'shadowed'), shadow: true })(asked));
    const { headers } = synchronous(guardOf(perHour(2, 'last'))(asked));
    expect(new Map(headers).get('RateLimit')).toBe('"first";r=4;t=3600,"last";r=1;t=3600');
  });

  it('lets every request pass while the store is down, and reports the failure', async () => {
    const onUnavailable = vi.fn();
    const guard = guardOf({ limiter: await down(), shadow: true, onUnavailable });
    expect(await guard(request())).toMatchObject({ refusal: undefined, decision: undefined });
    expect(onUnavailable).toHaveBeenCalledOnce();
  });

  it.each(['ERR_PERMISSION', 'ERR_TABLE'] as const)(
    'lets every request pass when its store fails with %s, and warns once',
    async (code) => {
      const refused = new SluiceError(code, 'redis.client', 'NOPERM');
      const store = { ...memory(), apply: () => Promise.reject<Decision>(refused) };
      const limiter = createLimiter('5/h', { store, name: code });
      const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
      const guard = guardOf({ limiter, shadow: true });
      for (let i = 0; i < 3; i++) expect(await guard(request())).toMatchObject({ refusal: undefined });
      expect(warn).toHaveBeenCalledOnce();
      expect(warn).toHaveBeenCalledWith(
        expect.stringContaining(code),
        expect.objectContaining({ code: 'SLUICE_SHADOW_FAILED' }),
      );
      warn.mockRestore();
      await expect(guardOf({ limiter })(request())).rejects.toBe(refused);
    },
  );
});

describe('a callback', () => {
  it.each([
    [
      'throws',
      () => {
        throw new Error('fault');
      },
    ],
    ['rejects', () => Promise.reject(new Error('fault'))],
  ])('that %s does not affect the response: onDenied', async (_, onDenied) => {
    const guard = guardOf({ limiter: perHour(1), cost: 2, onDenied });
    expect(synchronous(guard(request())).refusal?.status).toBe(429);
    await new Promise((resolve) => setImmediate(resolve));
  });

  it('for denials is called once, with the request and the decision sent to the client', () => {
    const told: [Asked, Decision][] = [];
    const asked = request();
    const guard = guardOf({ limiter: perHour(1), cost: 2, onDenied: (...it) => told.push(it) });
    const { decision } = synchronous(guard(asked));
    expect(told).toEqual([[asked, decision]]);
  });

  it('that throws does not affect the response: onUnavailable', async () => {
    const onUnavailable = () => {
      throw new Error('fault');
    };
    const guard = guardOf({ limiter: await down(), onUnavailable });
    expect((await guard(request())).refusal?.status).toBe(503);
  });
});

describe('an error', () => {
  const fault = () => {
    throw new Error('fault');
  };
  const rejection = () => Promise.reject(new Error('fault'));

  it.each(['key', 'cost', 'tier', 'skip'] as const)(
    'in the %s function is thrown to the caller, and nothing is charged',
    async (name) => {
      const limiter = perHour(5);
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
  ])('is thrown for %s', (_, options, message) => {
    expect(() => guardOf({ limiter: perHour(5), ...options })(request())).toThrow(message);
  });
});

describe('createGuard throws for', () => {
  const limiter = perHour(1);
  it.each([
    ['an unknown option', { limitr: limiter }, /limitr is not an option here/],
    ['an unknown option of a limit', { limits: [{ limiter, kye: () => 'k' }] }, /kye is not an option here/],
    ['a missing limiter', {}, /limiter is required/],
    ['an empty list of limits', { limits: [] }, /limiter is required/],
    ['a limit without a limiter', { limits: [{ key: () => 'k' }] }, /limiter is required/],
    ['a limiter that is a string', { limiter: '100/min' }, /a limiter/],
    [
      'a key without a limiter next to a list of limits',
      { key: () => 'k', limits: [{ limiter }] },
      /limiter is required/,
    ],
    ['a key that is not a function', { limiter, key: 'user' }, /rateLimit.key must be .*a function/],
    [
      'a body that is not a function',
      { limiter, body: { sorry: true } },
      /rateLimit.body must be .*a function/,
    ],
    ['a negative cost', { limiter, cost: -1 }, /rateLimit.cost must be/],
    ['a cost of null', { limiter, cost: null }, /rateLimit.cost must be/],
    ['a negative cost of a policy', { limiter, cost: { default: -1 } }, /rateLimit.cost.default must be/],
    [
      'a cost of an unknown policy',
      { limiter, cost: { tokens: 1 } },
      /rateLimit.cost.tokens is not a policy/,
    ],
    [
      'a shared cost of a policy that no limit has',
      { cost: { tokens: 1 }, limits: [{ limiter }, { limiter }] },
      /rateLimit.cost.tokens is not a policy/,
    ],
    ['a status that no response can have', { limiter, status: 42 }, /rateLimit.status must be/],
    ['an unknown header style', { limiter, headers: 'draft-0' }, /draft-11, legacy, github, sharkey/],
    ['headers that are not a list', { limiter, headers: 11 }, /rateLimit.headers must be a list/],
    ['limits that are not a list', { limits: null }, /rateLimit.limits must be a list/],
    [
      'an unknown header style in a list',
      { limiter, headers: ['legacy', 'x'] },
      /rateLimit.headers must be one of/,
    ],
    ['an invalid trustProxy', { limiter, trustProxy: 'everybody' }, /trustProxy must be/],
    ['missing options', undefined, /rateLimit must be an object/],
  ])('%s', (_, options, message) => {
    expect(() => guardOf(options as unknown as Options)).toThrow(message);
  });
});
