import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  concurrency,
  createLimiter,
  type Duration,
  ERRORS,
  fixedWindow,
  gcra,
  leakyBucket,
  memory,
  minInterval,
  pacer,
  penalty,
  type Policy,
  slidingLog,
  slidingWindow,
  SluiceError,
  tokenBucket,
} from '../../src/index.ts';
import { duration } from '../../src/internal/duration.ts';
import { manualClock } from '../../src/testing/index.ts';

function errorOf(act: () => unknown): SluiceError {
  try {
    act();
  } catch (error) {
    expect(error).toBeInstanceOf(SluiceError);
    expect(error).toBeInstanceOf(RangeError);
    return error as SluiceError;
  }
  throw new Error('no error was thrown');
}

type Make = (options: never) => unknown;
const FACTORIES: [name: string, make: Make, good: object, numbers: string[], durations: string[]][] = [
  ['gcra', gcra, { limit: 1, per: '1s', burst: 1 }, ['limit', 'burst'], ['per']],
  ['tokenBucket', tokenBucket, { capacity: 1, refill: 1, every: '1s' }, ['capacity', 'refill'], ['every']],
  ['leakyBucket', leakyBucket, { size: 1, dripSize: 1, dripRate: 1 }, ['size', 'dripSize'], ['dripRate']],
  ['fixedWindow', fixedWindow, { limit: 1, per: '1s' }, ['limit'], ['per']],
  ['slidingWindow', slidingWindow, { limit: 1, per: '1s' }, ['limit'], ['per']],
  ['slidingLog', slidingLog, { limit: 1, per: '1s', resolution: 2 }, ['limit', 'resolution'], ['per']],
  ['pacer', pacer, { limit: 1, per: '1s', warmup: '1s', coldFactor: 3 }, ['limit'], ['per', 'warmup']],
  ['concurrency', concurrency, { limit: 1, lease: '1s' }, ['limit'], ['lease']],
  ['minInterval', minInterval, { every: '1s' }, [], ['every']],
  [
    'penalty',
    penalty,
    { after: 1, within: '1s', block: '1s', factor: 2, max: '2s' },
    ['after', 'factor'],
    ['within', 'block', 'max'],
  ],
];

for (const [name, make, good, numbers, durations] of FACTORIES) {
  describe(name, () => {
    const wrong = (option: string, value: unknown) =>
      errorOf(() => (make as (o: object) => unknown)({ ...good, [option]: value }));

    test('accepts valid options', () => {
      expect((make as (o: object) => unknown)(good)).toHaveProperty('algorithm');
    });
    for (const option of numbers) {
      for (const value of [Number.NaN, -1, 0, Infinity, '', '10', null, {}]) {
        test(`rejects ${option}: ${typeof value === 'number' ? value : JSON.stringify(value)}`, () => {
          const error = wrong(option, value);
          expect(error.option).toBe(`${name}.${option}`);
          expect(error.value).toBe(value);
          expect(['ERR_NUMBER', 'ERR_INTEGER']).toContain(error.code);
        });
      }
    }
    for (const option of durations) {
      for (const value of [
        Number.NaN,
        -1,
        0,
        Infinity,
        '',
        '10 parsecs',
        '10',
        's10',
        '-1s',
        '1s-',
        null,
        {},
      ]) {
        test(`rejects ${option}: ${typeof value === 'number' ? value : JSON.stringify(value)}`, () => {
          expect(wrong(option, value)).toMatchObject({
            code: 'ERR_DURATION',
            option: `${name}.${option}`,
            value,
          });
        });
      }
    }
    test('rejects an unknown option, a missing option, and a call without options', () => {
      expect(wrong('lmit', 3)).toMatchObject({
        code: 'ERR_UNKNOWN_OPTION',
        option: `${name}.lmit`,
        value: 3,
      });
      expect(errorOf(() => make(undefined as never)).code).toBe('ERR_OPTIONS');
      expect(['ERR_MISSING_OPTION', 'ERR_DURATION']).toContain(errorOf(() => make({} as never)).code);
    });
  });
}

describe('invalid values and combinations of options', () => {
  test.each([
    [() => fixedWindow({ limit: 1, per: '1d', align: 'day' }), 'ERR_UNKNOWN_OPTION', 'fixedWindow.per'],
    [
      () => fixedWindow({ limit: 1, per: '1d', timeZone: 'UTC' }),
      'ERR_UNKNOWN_OPTION',
      'fixedWindow.timeZone',
    ],
    [() => fixedWindow({ limit: 1, align: 'fortnight' as 'day' }), 'ERR_CHOICE', 'fixedWindow.align'],
    [
      () => fixedWindow({ limit: 1, align: 'day', timeZone: 'Mars/Base' }),
      'ERR_TIME_ZONE',
      'fixedWindow.timeZone',
    ],
    [() => pacer({ limit: 1, per: '1s', warmup: '1s', maxBurst: 2 }), 'ERR_UNKNOWN_OPTION', 'pacer.maxBurst'],
    [() => pacer({ limit: 1, per: '1s', coldFactor: 2 }), 'ERR_UNKNOWN_OPTION', 'pacer.coldFactor'],
    [() => pacer({ limit: 1, per: '1s', warmup: '1s', coldFactor: -1 }), 'ERR_NUMBER', 'pacer.coldFactor'],
    [
      () => pacer({ limit: 1, per: '1s', warmup: '1s', coldFactor: Number.NaN }),
      'ERR_NUMBER',
      'pacer.coldFactor',
    ],
    [() => pacer({ limit: 1, per: '1s', maxBurst: -1 }), 'ERR_COST', 'pacer.maxBurst'],
    [() => gcra({ limit: 10, per: '1s', burst: 0.5 }), 'ERR_NUMBER', 'gcra.burst'],
    [() => tokenBucket({ capacity: 0.5, refill: 1, every: '1s' }), 'ERR_NUMBER', 'tokenBucket.capacity'],
    [() => leakyBucket({ size: 0.5 }), 'ERR_NUMBER', 'leakyBucket.size'],
    [() => fixedWindow({ limit: 0.5, per: '1s' }), 'ERR_NUMBER', 'fixedWindow.limit'],
    [() => fixedWindow({ limit: 0.5, align: 'month' }), 'ERR_NUMBER', 'fixedWindow.limit'],
    [() => slidingWindow({ limit: 0.5, per: '1s' }), 'ERR_NUMBER', 'slidingWindow.limit'],
    [() => slidingLog({ limit: 0.5, per: '1s' }), 'ERR_NUMBER', 'slidingLog.limit'],
    [() => concurrency({ limit: 0.5, lease: '1s' }), 'ERR_INTEGER', 'concurrency.limit'],
    [() => pacer({ limit: 1, per: '1s', fresh: 'half' as 'full' }), 'ERR_CHOICE', 'pacer.fresh'],
    [() => penalty({ after: 1, within: '1s', block: '2s', max: '1s' }), 'ERR_DURATION', 'penalty.max'],
    [() => penalty({ after: 1, within: '1s', block: '2s', factor: 0.5 }), 'ERR_NUMBER', 'penalty.factor'],
    [
      () => tokenBucket({ capacity: 1, refill: 1, every: '1ms', continuous: 1 as never }),
      'ERR_CHOICE',
      'tokenBucket.continuous',
    ],
  ])('are rejected: %s', (act, code, option) => {
    expect(errorOf(act)).toMatchObject({ code, option });
  });
});

describe('a bare number below 1000, which is probably meant in seconds', () => {
  const given = 60 as const;
  test.each<[option: string, make: (duration: Duration) => Policy]>([
    ['gcra.per', (per) => gcra({ limit: 5, per })],
    ['fixedWindow.per', (per) => fixedWindow({ limit: 5, per })],
    ['slidingWindow.per', (per) => slidingWindow({ limit: 5, per })],
    ['slidingLog.per', (per) => slidingLog({ limit: 5, per })],
    ['pacer.per', (per) => pacer({ limit: 5, per })],
  ])('is rejected as %s, and accepted with a unit', (option, make) => {
    const error = errorOf(() => make(given));
    expect(error).toMatchObject({ code: 'ERR_DURATION', option, value: 60 });
    expect(String(error)).toContain("write '60s' or '60ms'");
    for (const duration of ['60s', '60ms', '0.5ms', 1000]) make(duration);
  });

  test.each<[option: string, make: (duration: Duration) => Policy]>([
    ['pacer.warmup', (warmup) => pacer({ limit: 5, per: '1s', warmup })],
    ['tokenBucket.every', (every) => tokenBucket({ capacity: 5, refill: 5, every })],
    ['minInterval.every', (every) => minInterval({ every })],
    ['concurrency.lease', (lease) => concurrency({ limit: 5, lease })],
    ['penalty.within', (within) => penalty({ after: 1, within, block: '1h' })],
    ['penalty.block', (block) => penalty({ after: 1, within: '1h', block })],
    ['penalty.max', (max) => penalty({ after: 1, within: '1h', block: '0.1ms', max })],
  ])('is accepted as %s, in milliseconds', (_, make) => {
    make(given);
  });

  test('is accepted as the drip rate of a leaky bucket, in milliseconds', () => {
    expect(leakyBucket({ size: 5, dripRate: 100 }).window).toBe(500);
  });
});

describe('limiter', () => {
  const limiter = createLimiter('5/s', { tiers: { pro: '10/s' } });

  test.each([Number.NaN, -1, Infinity, -0.5, 2 ** 53 + 2, 1e300])(
    'rejects a cost of %s for every verb',
    (cost) => {
      for (const act of [
        () => limiter.take('k', cost),
        () => limiter.take('k', { cost }),
        () => limiter.peek('k', cost),
        () => limiter.refund('k', cost),
        () => limiter.release('k', cost),
        () => limiter.reserve('k', cost),
        () => limiter.takeMany([{ key: 'k', cost }]),
      ]) {
        expect(errorOf(act)).toMatchObject({ code: 'ERR_COST', option: 'cost', value: cost });
      }
    },
  );

  test.each([
    [() => createLimiter('5/s', { nmae: 'x' } as object), 'ERR_UNKNOWN_OPTION', 'createLimiter.nmae'],
    [() => createLimiter('5/s', { maxWaiting: 0 }), 'ERR_INTEGER', 'createLimiter.maxWaiting'],
    [() => createLimiter(undefined as never), 'ERR_POLICY', 'policies'],
    [() => createLimiter({}), 'ERR_POLICY', 'policies'],
    [() => createLimiter({ block: '5/s', day: '100/day' }), 'ERR_POLICY', 'policies'],
    [() => createLimiter('5/s', { tiers: { pro: { block: '10/s' } } }), 'ERR_POLICY', 'policies'],
    [() => createLimiter({ a: 5 as never }), 'ERR_POLICY', 'policies'],
    [() => createLimiter(penalty({ after: 1, within: '1ms', block: '1ms' })), 'ERR_POLICY', 'policies'],
    [() => limiter.take(7 as never), 'ERR_KEY', 'key'],
    [() => limiter.take('k', { tier: 'gold' as never }), 'ERR_TIER', 'tier'],
    [() => limiter.take('k', { mode: 'most' as 'whole' }), 'ERR_CHOICE', 'mode'],
    [() => limiter.take('k', { csot: 1 } as object), 'ERR_UNKNOWN_OPTION', 'options.csot'],
    [() => limiter.block('k', 0), 'ERR_DURATION', 'block'],
    [() => limiter.reserve('k', { maxDelay: -1 }), 'ERR_DURATION', 'maxDelay'],
    [() => limiter.takeMany([]), 'ERR_OPTIONS', 'items'],
    [() => limiter.takeMany(undefined as never), 'ERR_OPTIONS', 'items'],
    [() => limiter.takeMany([null as never]), 'ERR_OPTIONS', 'takeMany'],
    [() => limiter.takeMany([{ key: 'k', cots: 2 } as never]), 'ERR_UNKNOWN_OPTION', 'takeMany.cots'],
    [() => createLimiter('1/s', { name: 7 as never }), 'ERR_KEY', 'createLimiter.name'],
    [() => createLimiter('1/s', { name: null as never }), 'ERR_KEY', 'createLimiter.name'],
    [() => createLimiter('5/s', { store: {} as never }), 'ERR_OPTIONS', 'createLimiter.store'],
    [() => createLimiter('5/s', { tiers: null as never }), 'ERR_OPTIONS', 'createLimiter.tiers'],
    [() => createLimiter('5/s', { tiers: ['9/s'] as never }), 'ERR_OPTIONS', 'createLimiter.tiers'],
    [() => memory({ maxKeys: 0 }), 'ERR_INTEGER', 'memory.maxKeys'],
    [() => memory({ maxKeys: 1.5 }), 'ERR_INTEGER', 'memory.maxKeys'],
    [() => memory({ clock: {} as never }), 'ERR_OPTIONS', 'memory.clock'],
    [() => memory({ size: 3 } as object), 'ERR_UNKNOWN_OPTION', 'memory.size'],
  ])('rejects the call %s', (act, code, option) => {
    expect(errorOf(act)).toMatchObject({ code, option });
  });

  test('throws errors whose one-line message names the problem, the option and the value', () => {
    expect(errorOf(() => gcra({ limit: -1, per: '1s' })).message).toBe(
      'gcra.limit must be a finite number above 0; got -1 [ERR_NUMBER]',
    );
    expect(errorOf(() => limiter.take('k', { tier: 'x'.repeat(500) as never })).message.length).toBeLessThan(
      250,
    );
  });

  test('every error code has a documentation page', () => {
    const pages = readdirSync(new URL('../../../../docs/errors', import.meta.url)).filter((file) =>
      file.startsWith('ERR_'),
    );
    expect(pages.sort()).toEqual(
      Object.keys(ERRORS)
        .map((code) => `${code}.md`)
        .sort(),
    );
  });
});

describe('durations', () => {
  test.each([
    [250, 250],
    ['250ms', 250],
    ['10s', 10_000],
    ['1m', 60_000],
    ['2h', 7_200_000],
    ['1d', 86_400_000],
    ['1w', 604_800_000],
    ['1h30m', 5_400_000],
    ['1h 30m', 5_400_000],
    ['1.5s', 1500],
    [' 1 Minute ', 60_000],
    ['0.5ms', 0.5],
    [0.25, 0.25],
  ])('%s is parsed as %s ms', (text, millis) => {
    expect(duration('x', text)).toBe(millis);
  });
});

describe('policies as text', () => {
  const clock = manualClock(1_700_000_000_000);
  const first = (text: string) => createLimiter(text, { store: memory({ clock }) }).peek('k').policies[0];

  test.each([
    ['100/min', 100, 60_000],
    ['100 / minute', 100, 60_000],
    ['10/s burst 20', 20, 2000],
    ['10/s token-bucket burst 20', 20, 2000],
    ['5000/day fixed-window', 5000, 86_400_000],
    ['5000/day sliding-log', 5000, 86_400_000],
    ['5_000/DAY Sliding-Window', 5000, 86_400_000],
    ['10/15m', 10, 900_000],
    ['3/1h30m', 3, 5_400_000],
    ['60/min leaky-bucket', 60, 60_000],
    ['10/s pacer', 10, 1000],
    ['1000/month fixed-window', 1000, 30 * 86_400_000],
    ['0.5/s burst 1', 1, 2000],
    ['0.5/s', 1, 2000],
    ['0.5/s burst 3', 3, 6000],
    ['0.25/min token-bucket', 1, 240_000],
    ['0.5/s leaky-bucket', 1, 2000],
    ['0.5/s pacer', 1, 2000],
  ])('%s has a limit of %d and a window of %d ms', (text, limit, window) => {
    expect(first(text)).toMatchObject({ name: 'default', limit, window });
  });

  test.each(['0.5/s', '0.5/s token-bucket', '0.5/s leaky-bucket', '0.5/s pacer'])(
    '%s admits one unit every 2 seconds',
    (text) => {
      const clock = manualClock(60_000);
      const limiter = createLimiter(text, { store: memory({ clock }) });
      for (let i = 0; i < 3; i++) {
        expect(limiter.take('k')).toMatchObject({ allowed: true, limit: 1, remaining: 0 });
        expect(limiter.take('k')).toMatchObject({ allowed: false, retryAfter: 2000 });
        clock.advance(2000);
      }
      expect(limiter.peek('k').remaining).toBe(1);
    },
  );

  test.each([
    ['0.5/s fixed-window', "1 per '2s'"],
    ['0.25/min sliding-window', "1 per '4m'"],
    ['0.1/day sliding-log', "1 per '10d'"],
    ['0.3/s fixed-window', "1 per '3333ms'"],
    ['10/s burst 0.5', 'at least 1'],
    ['10/s token-bucket burst 0.5', 'at least 1'],
    ['10/s leaky-bucket burst 0.5', 'at least 1'],
  ])('rejects %s, which would never admit a unit', (text, hint) => {
    const error = errorOf(() => createLimiter(text));
    expect(error).toMatchObject({ code: 'ERR_POLICY_TEXT' });
    expect((error as Error).message).toContain(hint);
  });

  test('may be joined by &, and are then named by their text', () => {
    const names = createLimiter('100/min & 5000/day  sliding-log')
      .peek('k')
      .policies.map(({ name }) => name);
    expect(names).toEqual(['100/min', '5000/day sliding-log']);
  });

  test.each([
    '',
    '100',
    '/min',
    '100/',
    '100/parsec',
    '0/min',
    '-1/min',
    '100/min burst',
    '100/min burst 0',
    '100/min burst x',
    '100/min fast',
    '100/min fixed-window burst 3',
    '100/month',
    '100/min &',
    '100/min & 100/min',
    '1e9/min',
  ])('rejects %j', (text) => {
    expect(errorOf(() => createLimiter(text))).toMatchObject({
      code: 'ERR_POLICY_TEXT',
      option: 'policy',
      value: text,
    });
  });
});

describe('the policies of a limiter', () => {
  const names = (policies: Parameters<typeof createLimiter>[0], key = 'k') =>
    createLimiter(policies, { store: memory({ clock: manualClock(0) }) })
      .take(key)
      .policies.map(({ name, limit }) => [name, limit]);

  test('may be a single policy, a list, or an object of named policies', () => {
    expect(names(gcra({ limit: 3, per: '1ms' }))).toEqual([['default', 3]]);
    expect(names([gcra({ limit: 3, per: '1ms' }), '5/s', fixedWindow({ limit: 4, per: '1ms' })])).toEqual([
      ['gcra', 3],
      ['gcra-2', 5],
      ['fixed-window', 4],
    ]);
    expect(names({ burst: '3/s', daily: '10/s & 4/day sliding-log' })).toEqual([
      ['burst', 3],
      ['daily 10/s', 10],
      ['daily 4/day sliding-log', 4],
    ]);
  });

  test('may be a function of the key', () => {
    const vip = { fast: gcra({ limit: 100, per: '1s' }) };
    const limiter = createLimiter((key) => (key.startsWith('vip') ? vip : '2/s'), {
      store: memory({ clock: manualClock(0) }),
    });
    expect(limiter.take('vip 1').remaining).toBe(99);
    expect(limiter.take('vip 1').remaining).toBe(98);
    expect(limiter.take('you').remaining).toBe(1);
    expect(limiter.take('you').remaining).toBe(0);
  });
});
