/**
 * Fuzz tests. No text may make a parser crash, misread it, or take longer than linear time. Headers are tested in
 * http/client/retry-after.test.ts.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createLimiter, type Policies, SluiceError } from '../../src/index.ts';
import { duration } from '../../src/internal/duration.ts';
import { announcedWait } from '../../src/http/client/retry-after.ts';
import { clientAddress, key } from '../../src/http/index.ts';
import { parseAddress, parseRange } from '../../src/http/ip.ts';
import { keyOf, prefixOf } from '../../src/stores/redis/key.ts';
import { idOf } from '../../src/stores/cas/key.ts';
import { planOf } from '../../src/policy/named-policies.ts';

/** The value that `make` returns, or undefined if it throws a SluiceError with this code. Any other error is rethrown. */
function unless<T>(code: string, make: () => T): T | undefined {
  try {
    return make();
  } catch (error) {
    if (error instanceof SluiceError && error.code === code) return undefined;
    throw error;
  }
}

const policyOf = (text: string) => planOf(text).policies[0];

describe('policies', () => {
  const SIGNS = [
    ...'0123456789_./& smhdwy'.split(''),
    'min',
    'burst',
    'gcra',
    'pacer',
    'fixed-window',
    'month',
  ];

  test('any text is parsed as policies or rejected with ERR_POLICY_TEXT', () => {
    const count = fc.constantFrom('1', '10', '1_000', '2.5', '0', '9'.repeat(400), '-1', '');
    const words = fc.constantFrom(
      '',
      ' burst 5',
      ' burst',
      ' gcra',
      ' pacer',
      ' burst x',
      ' fixed-window',
      ' & 2/s',
    );
    const span = fc.constantFrom('s', 'min', '2h', '1h30m', 'month', '0s', 'parsec', '1e9s');
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 80 }),
      fc.tuple(count, span, words, words).map(([a, b, c, d]) => `${a}/${b}${c}${d}`),
      fc.array(fc.constantFrom(...SIGNS), { maxLength: 14 }).map((parts) => parts.join('')),
    );
    let good = 0;
    fc.assert(
      fc.property(text, (any) => {
        const plan = unless('ERR_POLICY_TEXT', () => planOf(any));
        for (const { limit, window } of plan?.policies ?? []) {
          expect(limit).toBeGreaterThan(0);
          expect(limit).toBeLessThan(Infinity);
          expect(window).toBeGreaterThan(0);
        }
        if (plan !== undefined) good++;
      }),
      { numRuns: 2500 },
    );
    expect(good).toBeGreaterThan(100);
  });

  test('upper case and whitespace do not change the meaning of a policy', () => {
    const units = { ms: 1, s: 1000, min: 60_000, hour: 3_600_000, day: 86_400_000 };
    const blank = fc.constantFrom('', ' ', '  ', '\t');
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1e9 }),
        fc.integer({ min: 1, max: 999 }),
        fc.constantFrom(...(Object.keys(units) as (keyof typeof units)[])),
        fc.option(fc.integer({ min: 1, max: 1e9 }), { nil: undefined }),
        blank,
        fc.boolean(),
        (limit, count, unit, burst, gap, loud) => {
          const text = `${gap}${limit}${gap}/${gap}${count}${gap}${unit}${burst === undefined ? '' : ` burst ${burst}`}${gap}`;
          const policy = policyOf(loud ? text.toUpperCase() : text);
          expect(policy).toMatchObject({ limit: burst ?? limit });
          expect(policy?.params['interval'] ?? policy?.window).toBeGreaterThan(0);
          const per = count * units[unit];
          // The time in which one unit is replenished.
          const clear = createLimiter(text).take('k').resetAfter;
          expect(Math.abs(clear - per / limit)).toBeLessThanOrEqual(1e-9 * per + 0.001);
        },
      ),
      { numRuns: 300 },
    );
  });

  test('every policy keeps its name, whatever text the name is', () => {
    const name = fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'toString', '1', ''));
    fc.assert(
      fc.property(fc.uniqueArray(name, { minLength: 1, maxLength: 5 }), (names) => {
        const policies = Object.fromEntries(names.map((one) => [one, '1/s'])) as Policies;
        expect(
          planOf(policies)
            .policies.map((policy) => policy.name)
            .sort(),
        ).toEqual([...names].sort());
      }),
    );
  });
});

describe('durations', () => {
  test('any text is parsed as a positive duration or rejected with ERR_DURATION', () => {
    const signs = fc.array(
      fc.constantFrom(...'0159.- '.split(''), 'ms', 's', 'm', 'h', 'd', 'w', 'min', 'e9'),
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'binary' }),
          signs.map((parts) => parts.join('')),
        ),
        (text) => {
          const span = unless('ERR_DURATION', () => duration('per', text));
          if (span !== undefined) expect(span > 0 && span < Infinity).toBe(true);
        },
      ),
      { numRuns: 1000 },
    );
  });

  test('the parts of a duration add up', () => {
    const part = fc.tuple(
      fc.integer({ min: 1, max: 999 }),
      fc.constantFrom(['ms', 1], ['s', 1000], ['m', 60_000], ['h', 3_600_000], ['d', 86_400_000] as const),
    );
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 6 }), fc.constantFrom('', ' '), (parts, gap) => {
        const text = parts.map(([count, [unit]]) => `${count}${gap}${unit}`).join(gap);
        expect(duration('per', text)).toBe(
          parts.reduce((sum, [count, [, ms]]) => sum + count * Number(ms), 0),
        );
        expect(unless('ERR_DURATION', () => duration('per', `${text}!`))).toBe(undefined);
      }),
    );
  });
});

describe('stored names of keys', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc
      .array(fc.constantFrom('{', '}', '%', ':', '\0', 'x', 's', '\ud83d', '\ude00', '@', '#', '%7b', 'a'), {
        maxLength: 6,
      })
      .map((parts) => parts.join('')),
    fc.string({ minLength: 190, maxLength: 300 }),
  );
  const names: Readonly<Record<string, (name: string, subject: string) => string>> = {
    Redis: (name, subject) => keyOf(prefixOf(name), subject),
    'compare and swap': (name, subject) => idOf({ ...planOf('1/s'), name }, subject),
  };

  const SIGNS = ['{', '}', '%', ':', '\0', 'x', '@', '#', '7b', '\ud83d', '\ude00', 'é', 'a', ' '];
  const short = ['', ...SIGNS, ...SIGNS.flatMap((one) => SIGNS.map((other) => one + other))];

  test.each(Object.entries(names))('%s: names do not collide', (_, nameOf) => {
    const seen = new Set<string>();
    // Limiter names come from the programmer, so they are well-formed Unicode.
    const limiters = short.filter((name) => name.isWellFormed());
    // Compares bytes, because that is how names are sent.
    for (const name of limiters)
      for (const subject of short) seen.add(Buffer.from(nameOf(name, subject)).toString('latin1'));
    expect(seen.size).toBe(limiters.length * short.length);
  });

  test.each(Object.entries(names))('%s: long names do not collide', (_, nameOf) => {
    fc.assert(
      fc.property(text, text, text, (name, a, b) => {
        const [one, other] = [a, b].map((subject) => nameOf(name.toWellFormed(), subject));
        expect(one === other).toBe(a === b);
      }),
    );
  });

  test('Redis: a subject that looks like the encoded form of another subject is stored separately', () => {
    for (const subject of ['\ud83d', '\0', 'x'.repeat(300)]) {
      const becomes = keyOf('', subject).slice(0, -1);
      expect(keyOf('', becomes)).not.toBe(keyOf('', subject));
    }
  });

  test('Redis: the whole subject is the hash tag, whatever characters the subject and the name contain', () => {
    fc.assert(
      fc.property(text, text, (name, subject) => {
        const key = keyOf(prefixOf(name), subject);
        expect([key.indexOf('{'), key.indexOf('}')]).toEqual([prefixOf(name).length - 1, key.length - 1]);
      }),
    );
  });

  test('compare and swap: names are printable ASCII without spaces', () => {
    fc.assert(
      fc.property(text, text, (name, subject) => {
        expect(idOf({ ...planOf('1/s'), name }, subject)).toMatch(/^[!-~]*$/);
      }),
    );
  });

  test('key(): the parts can be recovered from the key', () => {
    const parts = fc.array(fc.string({ unit: fc.constantFrom('a', ':', '\\', '"', '\n') }), { minLength: 1 });
    const told = (whole: string): string[] => {
      const found: string[] = [''];
      for (let i = 0; i < whole.length; i++) {
        if (whole[i] === ':') found.push('');
        else found[found.length - 1] += whole[i] === '\\' ? whole[++i] : whole[i];
      }
      return found;
    };
    fc.assert(
      fc.property(parts, (given) => {
        expect(told(key(...given))).toEqual(given);
      }),
    );
  });
});

describe('parsing 200,000 characters takes linear time', () => {
  const PARTS = [
    '1',
    '_',
    '.',
    '/',
    '&',
    ':',
    ',',
    '"',
    ' ',
    'a',
    '{',
    '\ud83d',
    '1/s & ',
    '1m ',
    '::',
    '10.0.0.1, ',
  ];
  const READERS: Readonly<Record<string, (text: string) => unknown>> = {
    'policy text': (text) => unless('ERR_POLICY_TEXT', () => policyOf(text)),
    'policy text after a limit': (text) => unless('ERR_POLICY_TEXT', () => policyOf(`1/${text}`)),
    'policy text after a policy': (text) => unless('ERR_POLICY_TEXT', () => policyOf(`1/s ${text}!`)),
    duration: (text) => unless('ERR_DURATION', () => duration('per', text)),
    'duration after a digit': (text) => unless('ERR_DURATION', () => duration('per', `1${text}!`)),
    'announced wait': (text) => announcedWait(429, { get: () => text }, 0),
    'X-Forwarded-For header': (text) =>
      clientAddress(
        { headers: { 'x-forwarded-for': text }, remoteAddress: '10.0.0.1' },
        { trustProxy: 'private' },
      ),
    'platform header': (text) =>
      clientAddress({ headers: { 'x-real-ip': text }, remoteAddress: '10.0.0.1' }, { trustProxy: 'nginx' }),
    address: parseAddress,
    range: parseRange,
    key: (text) => key(text),
    'Redis key': (text) => keyOf(prefixOf(text), text),
    'compare-and-swap key': (text) => idOf({ ...planOf('1/s'), name: text }, text),
    'key in memory': (text) => createLimiter('1/s').take(text),
  };

  test.each(Object.entries(READERS))('as %s', (_, read) => {
    for (const part of PARTS) {
      const text = part.repeat(Math.ceil(200_000 / part.length));
      const start = process.cpuUsage();
      read(text);
      // CPU time is measured, so that other processes do not count. A quadratic parser would take half a minute.
      expect([part, process.cpuUsage(start).user > 5e6]).toEqual([part, false]);
    }
  });
});
