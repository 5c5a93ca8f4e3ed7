/** Replays all recordings of Sharkey's SkRateLimiterService, and tests behavior that the recordings cannot show. */
import { Redis } from 'ioredis';
import { afterEach, describe, expect, inject, test } from 'vitest';
import {
  type Actor,
  createSkRateLimiterService,
  type LimitInfo,
  type RateLimit,
  rateLimitHeaders,
  type SkRateLimiterOptions,
  translateLimit,
  type TranslatedLimit,
} from '../src/sharkey.ts';
import { memory, type Store } from 'sluice';
import { redis } from 'sluice/redis';
import { type ManualClock, manualClock } from 'sluice/testing';
import { STORES } from './stores.ts';
import { load } from 'sluice-test-support/vectors/vector.ts';

interface Scenario {
  readonly id: string;
  readonly name: string;
  /** With 'test', every limit is disabled. */
  readonly env?: string;
  readonly baseMs: number;
  /** The default factor, and the factors of single users. An actor that is given as a string has the default factor. */
  readonly policies: { readonly default: number; readonly users?: Readonly<Record<string, number>> };
  readonly limits: readonly RateLimit[];
  readonly steps: readonly {
    readonly atMs: number;
    readonly actor: string | { readonly userId: string };
    /** Index of the limit in `limits`. Default 0. */
    readonly limit?: number;
    readonly expect?: LimitInfo;
    /** The error, if the call is rejected. */
    readonly error?: string;
  }[];
}

const recorded = load<{
  scenarios: readonly Scenario[];
  translations: readonly {
    readonly limit: RateLimit;
    readonly factor: number;
    readonly expect?: TranslatedLimit | null;
    readonly error?: string;
  }[];
  headers: readonly { readonly info: LimitInfo; readonly headers: readonly [string, string][] }[];
}>('sharkey');

/** The stores that are tested. Without a given store, the service creates its own. */
const stores: readonly [string, (clock: ManualClock) => Store | undefined][] = [
  ['memory', STORES['memory']],
  ['redis 7', STORES['redis 7']],
  ['its own store', () => undefined],
];

describe.each(stores)('recorded scenarios, on %s', (_, makeStore) => {
  test.each(recorded.scenarios)('$id $name: every field is the same as recorded', async (scenario) => {
    const { baseMs, env, limits, policies, steps } = scenario;
    const clock = manualClock(baseMs);
    const service = createSkRateLimiterService({
      store: makeStore(clock),
      clock,
      disabled: env === 'test',
      factor: (actor) =>
        (typeof actor === 'string' ? undefined : policies.users?.[actor.id]) ?? policies.default,
    });
    for (const { atMs, actor, limit = 0, expect: info, error } of steps) {
      clock.set(baseMs + atMs);
      const answer = service.limit(limits[limit], typeof actor === 'string' ? actor : { id: actor.userId });
      if (error === undefined) expect(await answer).toEqual(info);
      else await expect(answer).rejects.toThrow('[ERR_NUMBER]');
    }
  });
});

test('all 1053 translations are the same as recorded', () => {
  expect(recorded.translations).toHaveLength(1053);
  for (const { limit, factor, expect: numbers, error } of recorded.translations) {
    if (error === undefined) expect(translateLimit(limit, factor), JSON.stringify(limit)).toEqual(numbers);
    else expect(() => translateLimit(limit, factor), JSON.stringify(limit)).toThrow('[ERR_NUMBER]');
  }
});

test('all 249 lists of headers are the same as recorded, including their order', () => {
  expect(recorded.headers).toHaveLength(249);
  for (const { info, headers } of recorded.headers) expect(rateLimitHeaders(info)).toEqual(headers);
});

test('the recording has 55 scenarios with 1070 steps', () => {
  expect(recorded.scenarios).toHaveLength(55);
  expect(recorded.scenarios.flatMap(({ steps }) => steps)).toHaveLength(1070);
});

const TEN: RateLimit = { type: 'bucket', key: 'ten', size: 10, dripRate: 60_000 };

function service(options: SkRateLimiterOptions = {}) {
  const clock = manualClock(1_700_000_000_000);
  return { clock, ...createSkRateLimiterService({ clock, ...options }) };
}

describe('a factor', () => {
  test('is requested once for all concurrent calls of an actor', async () => {
    const asked: Actor[] = [];
    const { limit } = service({
      factor: async (actor) => {
        asked.push(actor);
        return await Promise.resolve(0.5);
      },
    });
    const answers = await Promise.all(Array.from({ length: 32 }, () => limit(TEN, { id: 'u' })));
    expect(asked).toEqual([{ id: 'u' }]);
    expect(answers.filter(({ blocked }) => !blocked)).toHaveLength(20);
  });

  test('that has changed takes effect after 60 seconds, and the calls in the bucket are kept', async () => {
    let factor = 1;
    const { clock, limit } = service({ factor: () => factor });
    for (let i = 0; i < 10; i++) await limit(TEN, 'a');
    factor = 0.5;
    clock.advance(59_999);
    expect((await limit(TEN, 'a')).blocked).toBe(true);
    clock.advance(2);
    // At the new rate, two of the ten calls have dripped out, and this call is added, so 20 - 8 - 1 = 11 remain.
    expect(await limit(TEN, 'a')).toMatchObject({ blocked: false, remaining: 11 });
    factor = 2;
    clock.advance(60_001);
    expect(await limit(TEN, 'a')).toMatchObject({ blocked: true, remaining: 0, fullResetMs: 9 * 120_000 });
  });

  test('is remembered for 60 seconds, and not a millisecond longer', async () => {
    let asked = 0;
    const { clock, limit } = service({ factor: () => ++asked });
    await limit(TEN, 'a');
    clock.advance(60_000);
    await limit(TEN, 'a');
    expect(asked).toBe(1);
    clock.advance(1);
    await limit(TEN, 'a');
    expect(asked).toBe(2);
  });

  test('is requested again when the clock goes back', async () => {
    let asked = 0;
    const { clock, limit } = service({ factor: () => ++asked });
    await limit(TEN, 'a');
    clock.advance(-3_600_000);
    await limit(TEN, 'a');
    await limit(TEN, 'a');
    expect(asked).toBe(2);
  });

  test('of a user object does not apply to a string with the same id, although both actors use the same bucket', async () => {
    const { limit } = service({ factor: (actor) => (typeof actor === 'string' ? 1 : 10) });
    expect((await limit(TEN, 'u')).remaining).toBe(9);
    expect((await limit(TEN, { id: 'u' })).blocked).toBe(true);
    expect((await limit(TEN, 'u')).remaining).toBe(8);
  });

  test('that failed to load is requested again', async () => {
    let asked = 0;
    const { limit } = service({
      factor: () => (++asked === 1 ? Promise.reject(new Error('no database')) : Promise.resolve(1)),
    });
    await expect(limit(TEN, 'a')).rejects.toThrow('no database');
    expect((await limit(TEN, 'a')).remaining).toBe(9);
  });

  test.each([-1, NaN, Infinity])('of %d is rejected', async (factor) => {
    await expect(service({ factor: () => factor }).limit(TEN, 'a')).rejects.toThrow('[ERR_NUMBER]');
  });

  test('is remembered for at least the last 10,000 actors, and for at most 20,000 actors', async () => {
    let asked = 0;
    const { limit } = service({
      factor() {
        asked++;
        return 0;
      },
    });
    const first = async (actors: number): Promise<void> => {
      for (let i = 0; i < actors; i++) await limit(TEN, `actor ${i}`);
    };
    await first(10_000);
    await limit(TEN, 'one more');
    await first(10_000);
    expect(asked).toBe(10_001);
    for (let i = 0; i < 20_000; i++) await limit(TEN, `other ${i}`);
    await first(10_000);
    expect(asked).toBe(40_001);
  });

  test.each([null, '2'])('of %o is rejected', async (factor) => {
    await expect(service({ factor: () => factor as unknown as number }).limit(TEN, 'a')).rejects.toThrow(
      '[ERR_NUMBER]',
    );
  });
});

describe('the state', () => {
  test('has one bucket per key and actor, with 20 keys and 5 factors', async () => {
    let factor = 1;
    const { clock, limit } = service({ factor: () => factor });
    for (factor of [1, 0.5, 0.25, 2, 5]) {
      clock.advance(60_001);
      for (let key = 0; key < 20; key++) {
        const { remaining } = await limit({ ...TEN, key: `k${key}`, dripRate: 1e9, size: 20 + key }, 'a');
        const used = [1, 0.5, 0.25, 2, 5].indexOf(factor) + 1;
        expect(remaining).toBe(Math.max(Math.ceil((20 + key) / factor) - used, 0));
      }
    }
  });

  test('is separate for different pairs of key and actor, even if joining each pair gives the same text', async () => {
    const { limit } = service();
    const one = (key: string): RateLimit => ({ type: 'bucket', key, size: 1 });
    for (let i = 0; i < 500; i++) {
      expect((await limit(one('a'), `${i} c`)).blocked, `key a, actor ${i} c`).toBe(false);
      expect((await limit(one(`a ${i}`), 'c')).blocked, `key a ${i}, actor c`).toBe(false);
    }
  });

  test('takes one row for each key that clients invent, and remains after the limiter that wrote the row is discarded', async () => {
    const store = memory({ clock: manualClock() });
    const { limit } = service({ store });
    for (let i = 0; i < 2000; i++) await limit({ type: 'bucket', key: `/files/${i}`, size: 1 + i }, 'a');
    expect(store.size).toBe(2000);
    expect((await limit({ type: 'bucket', key: '/files/0', size: 1 }, 'a')).blocked).toBe(true);
  });

  test('is neither replenished nor charged for blocked calls when the clock goes back', async () => {
    const { clock, limit } = service();
    for (let i = 0; i < 10; i++) await limit(TEN, 'a');
    clock.advance(-5000);
    for (let i = 0; i < 10; i++)
      expect(await limit(TEN, 'a')).toMatchObject({ blocked: true, resetMs: 65_000 });
    clock.advance(65_000);
    expect(await limit(TEN, 'a')).toMatchObject({ blocked: false, remaining: 0, resetMs: 60_000 });
  });

  test('is reported with a full reset that matches the calls in the bucket, even if the clock went back or the bucket shrank', async () => {
    let factor = 1;
    const { clock, limit } = service({ factor: () => factor });
    const five: RateLimit = { type: 'bucket', key: 'five', size: 5, dripSize: 2, dripRate: 1000 };
    for (let i = 0; i < 5; i++) await limit(five, 'a');
    clock.advance(-7500);
    expect(await limit(five, 'a')).toMatchObject({ blocked: true, resetMs: 8500, fullResetMs: 3000 });
    clock.advance(7500);
    factor = 2;
    // The five calls need three drips of two seconds each, although the bucket now holds only three.
    expect(await limit(five, { id: 'a' })).toMatchObject({ blocked: true, resetMs: 4000, fullResetMs: 6000 });
  });

  test('is reported in whole milliseconds on a clock with a finer resolution', async () => {
    const { clock, limit } = service();
    for (let i = 0; i < 10; i++) await limit(TEN, 'a');
    clock.advance(0.3);
    expect(await limit(TEN, 'a')).toMatchObject({ resetMs: 60_000, fullResetMs: 600_000 });
    clock.advance(59_999.2);
    expect(await limit(TEN, 'a')).toMatchObject({ blocked: true, resetMs: 1, fullResetMs: 600_000 });
    // A call that is a quarter of a microsecond early counts as on time, and does not add a millisecond to the next wait.
    clock.advance(0.5 - 2 ** -12);
    expect(await limit(TEN, 'a')).toMatchObject({ blocked: false, resetMs: 60_000, fullResetMs: 600_000 });
    expect(await limit(TEN, 'a')).toMatchObject({ blocked: true, resetMs: 60_000, fullResetMs: 600_000 });
  });
});

describe('invalid arguments:', () => {
  const bad: readonly unknown[] = [
    { key: 'k', type: 'bucket' },
    { key: 'k', type: 'bucket', size: NaN },
    { key: 'k', type: 'bucket', size: '5' },
    { key: 'k', type: 'bucket', size: 5, dripRate: Infinity },
    { key: 'k', max: 5, duration: Infinity },
    { key: 'k', max: 5, duration: 1000, minInterval: NaN },
    { key: 'k', minInterval: -0.1 },
    { key: 'k', minInterval: Infinity },
  ];
  test.each(bad)('the limit %o is rejected', (limit) => {
    expect(() => translateLimit(limit as RateLimit, 1)).toThrow('[ERR_NUMBER]');
    expect(translateLimit(limit as RateLimit, 0)).toBe(null);
  });

  test('a limit without a key and a call without an actor are rejected', async () => {
    const { limit } = service();
    await expect(limit({ type: 'bucket', size: 1 } as RateLimit, 'a')).rejects.toThrow('limit.key');
    await expect(limit(TEN, null as unknown as string)).rejects.toThrow('actor');
    await expect(limit(TEN, {} as { id: string })).rejects.toThrow('[ERR_KEY]');
  });

  test('a misspelled option is rejected', () => {
    expect(() => createSkRateLimiterService({ factors: () => 1 } as object)).toThrow('[ERR_UNKNOWN_OPTION]');
    expect(() => createSkRateLimiterService({ factor: 2 } as object)).toThrow('[ERR_OPTIONS]');
  });
});

describe('on Redis,', () => {
  const clients: Redis[] = [];
  afterEach(() => {
    for (const client of clients.splice(0)) client.disconnect();
  });
  function connect(): Redis {
    const client = new Redis(inject('redisPort'), '127.0.0.1');
    clients.push(client);
    return client;
  }
  const fresh = (): RateLimit => ({ ...TEN, key: `${process.pid} ${performance.now()}` });

  test('exactly 10 of 64 concurrent calls are admitted at a limit of 10', async () => {
    const services = Array.from({ length: 4 }, () =>
      createSkRateLimiterService({ store: redis(connect(), { onFailure: 'throw', deadline: '30s' }) }),
    );
    const limit = fresh();
    const answers = await Promise.all(
      Array.from({ length: 64 }, (_, i) => services[i % 4].limit(limit, 'a')),
    );
    expect(answers.filter(({ blocked }) => !blocked)).toHaveLength(10);
    expect(answers.filter(({ remaining }) => remaining === 0)).toHaveLength(55);
  });

  test('a check needs one command, and calls with a different factor use the same bucket', async () => {
    const client = connect();
    const commands: string[] = [];
    const store: Store = redis(
      {
        send([name, ...args]: readonly string[]) {
          commands.push(name);
          return client.call(name, ...args);
        },
      },
      { onFailure: 'throw', deadline: '30s' },
    );
    const { limit } = createSkRateLimiterService({
      store,
      factor: (actor) => (typeof actor === 'string' ? 1 : 2),
    });
    const ten = fresh();
    await limit(ten, 'warm');
    commands.length = 0;
    for (let i = 0; i < 3; i++) await limit(ten, 'u');
    expect(await limit(ten, { id: 'u' })).toMatchObject({ blocked: false, remaining: 1 });
    expect(commands).toEqual(['EVALSHA', 'EVALSHA', 'EVALSHA', 'EVALSHA']);
  });
});
