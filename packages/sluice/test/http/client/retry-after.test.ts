/**
 * Tests that limitedFetch respects the waits that servers announce. The tests use real responses, and check when the next call
 * arrives.
 */
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { announcedWait, LONGEST } from '../../../src/http/client/retry-after.ts';
import { limitedFetch, rateLimitHeaders } from '../../../src/http/index.ts';
import { createLimiter, memory } from '../../../src/index.ts';
import { inTurn, serve, START, swiftClock } from '../server.ts';

// Property tests run many times, which takes longer than the default timeout allows.
vi.setConfig({ testTimeout: 60_000 });

/** The Date header: the server's clock is an hour ahead of ours. */
const THERE = START + 3_600_000;
const dated = (headers: Record<string, string | number>) => ({
  Date: new Date(THERE).toUTCString(),
  ...headers,
});
const imf = (instant: number) => new Date(instant).toUTCString();
const seconds = (instant: number) => Math.floor(instant / 1000);

type Row = readonly [what: string, status: number, headers: Record<string, string | number>, wait: number];

const ROWS: readonly Row[] = [
  ['Retry-After of a 429', 429, { 'Retry-After': 7 }, 7000],
  ['Retry-After of a 503', 503, { 'Retry-After': 7 }, 7000],
  ['Retry-After of a 403', 403, { 'Retry-After': 7 }, 7000],
  ['Retry-After of a 200, which does not announce a wait', 200, { 'Retry-After': 7 }, 0],
  ['Retry-After as a date', 429, dated({ 'Retry-After': imf(THERE + 9000) }), 9000],
  [
    'Retry-After as a date of RFC 850',
    503,
    { Date: imf(784111777000 - 4000), 'Retry-After': 'Sunday, 06-Nov-94 08:49:37 GMT' },
    4000,
  ],
  [
    'Retry-After as an asctime date',
    503,
    { Date: imf(784111777000 - 4000), 'Retry-After': 'Sun Nov  6 08:49:37 1994' },
    4000,
  ],
  ['Retry-After as a date, without a Date header', 429, { 'Retry-After': imf(START + 9000) }, 9000],
  ['Retry-After in the past', 429, dated({ 'Retry-After': imf(THERE - 9000) }), 0],
  [
    'Retry-After, which takes precedence over all other headers',
    429,
    { 'Retry-After': 2, RateLimit: '"a";r=0;t=20', 'X-RateLimit-Remaining': 0, 'X-RateLimit-Reset': 25 },
    2000,
  ],
  [
    'an invalid Retry-After and a valid RateLimit',
    429,
    { 'Retry-After': 'soon', RateLimit: '"a";r=0;t=3' },
    3000,
  ],
  ['RateLimit with nothing left', 200, { RateLimit: '"burst";r=0;t=30' }, 30_000],
  ['RateLimit with something left', 200, { RateLimit: '"burst";r=1;t=30' }, 0],
  ['RateLimit of several policies', 200, { RateLimit: '"s";r=0;t=3, "min";r=0;t=9,"day";r=5;t=20' }, 9000],
  [
    'RateLimit with a policy name that looks like parameters',
    200,
    { RateLimit: '"a,\\";r=0;t=9";r=4;t=5' },
    0,
  ],
  ['RateLimit with a partition key', 200, { RateLimit: '"a";r=0;t=5;pk=:dXNlcg==:' }, 5000],
  [
    'RateLimit without t, and a window in RateLimit-Policy',
    200,
    { RateLimit: '"b";r=0', 'RateLimit-Policy': '"a";q=1;w=9, "b";q=10;w=4' },
    4000,
  ],
  ['RateLimit without t or window', 200, { RateLimit: '"b";r=0' }, 0],
  ['RateLimit in the format of older drafts', 200, { RateLimit: 'limit=100, remaining=0, reset=6' }, 6000],
  [
    'RateLimit in the format of older drafts with something left',
    200,
    { RateLimit: 'limit=100, remaining=2, reset=6' },
    0,
  ],
  ['RateLimit-Remaining and -Reset', 200, { 'RateLimit-Remaining': 0, 'RateLimit-Reset': 8 }, 8000],
  [
    'X-RateLimit-Reset as the number of seconds left',
    200,
    { 'X-RateLimit-Remaining': 0, 'X-RateLimit-Reset': '2.5' },
    2500,
  ],
  [
    "X-RateLimit-Reset in seconds since 1970, by the server's clock",
    200,
    dated({ 'X-RateLimit-Remaining': 0, 'X-RateLimit-Reset': seconds(THERE) + 12 }),
    12_000,
  ],
  [
    'X-RateLimit-Reset in seconds since 1970, without a Date header',
    403,
    { 'X-RateLimit-Remaining': 0, 'X-RateLimit-Reset': seconds(START) + 12 },
    12_000,
  ],
  [
    'X-RateLimit-Reset in milliseconds since 1970',
    200,
    dated({ 'X-RateLimit-Remaining': 0, 'X-RateLimit-Reset': THERE + 1250 }),
    1250,
  ],
  [
    'X-RateLimit-Reset-After, which takes precedence over X-RateLimit-Reset',
    200,
    { 'X-RateLimit-Remaining': 0, 'X-RateLimit-Reset-After': '1.25', 'X-RateLimit-Reset': 20 },
    1250,
  ],
  [
    'X-Rate-Limit, an alternative spelling',
    200,
    { 'X-Rate-Limit-Remaining': -1, 'X-Rate-Limit-Reset': 5 },
    5000,
  ],
  ['X-RateLimit-Remaining of 1', 200, { 'X-RateLimit-Remaining': 1, 'X-RateLimit-Reset': 5 }, 0],
  ['X-RateLimit-Remaining alone', 200, { 'X-RateLimit-Remaining': 0 }, 0],
  ['no header', 429, {}, 0],
];

describe('the next call is sent at the announced time, or immediately if no wait was announced,', () => {
  test.each(ROWS)('given %s', async (_, status, headers, wait) => {
    const clock = swiftClock();
    const { url, visits } = await serve(inTurn([status, headers], [200]), clock);
    const polite = limitedFetch(fetch, { clock, retries: 0 });
    expect((await polite(url)).status).toBe(status);
    expect((await polite(url)).status).toBe(200);
    expect(visits.map(({ at }) => at - START)).toEqual([0, wait]);
  });

  test.each(['draft-11', 'legacy', 'github', 'sharkey'] as const)(
    'given the headers of a Sluice limiter in the style %s, and never too early',
    async (style) => {
      const clock = swiftClock();
      const limiter = createLimiter('5/10s', { store: memory({ clock }) });
      const { url, visits } = await serve(() => {
        const decision = limiter.take('client');
        const headers = Object.fromEntries(rateLimitHeaders(decision, { style, now: clock.now() }));
        return [decision.allowed ? 200 : 429, headers];
      }, clock);
      const polite = limitedFetch(fetch, { clock, random: () => 0, retryRatio: 1 });
      for (let i = 0; i < 20; i++) expect((await polite(url)).status).toBe(200);
      // sharkey's headers do not announce a wait before a denial.
      expect(visits.length).toBe(style === 'sharkey' ? 35 : 20);
    },
  );
});

describe('announcedWait', () => {
  const NAMES = [
    'date',
    'retry-after',
    'ratelimit',
    'ratelimit-policy',
    ...['ratelimit', 'x-ratelimit', 'x-rate-limit'].flatMap((prefix) => [
      `${prefix}-remaining`,
      `${prefix}-reset`,
      `${prefix}-reset-after`,
    ]),
  ];
  /** Values that are similar enough to real headers to pass the first check. */
  const value = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.double().map(String),
    fc.bigInt().map(String),
    fc.date({ noInvalidDate: false }).map((date) => date.toUTCString()),
    fc
      .array(
        fc.constantFrom('"', '\\', ';', ',', '=', 'r', 't', 'w', '0', '9'.repeat(400), '-', '.', ' ', ':'),
        {
          maxLength: 60,
        },
      )
      .map((parts) => parts.join('')),
    fc
      .array(fc.tuple(fc.string(), fc.integer(), fc.maxSafeInteger()))
      .map((members) => members.map(([name, r, t]) => `"${name}";r=${r};t=${t}`).join()),
    fc.tuple(fc.integer(), fc.double()).map(([r, t]) => `limit=1, remaining=${r}, reset=${t}`),
  );
  const headers = fc
    .dictionary(fc.constantFrom(...NAMES), value)
    .map((fields) => ({ get: (name: string) => fields[name] ?? null }));

  test('never throws, and never returns a wait that is negative, NaN or longer than a day', () => {
    fc.assert(
      fc.property(fc.integer(), headers, fc.double({ noNaN: true }), (status, fields, now) => {
        const wait = announcedWait(status, fields, now);
        expect(wait).toBeGreaterThanOrEqual(0);
        expect(wait).toBeLessThanOrEqual(LONGEST);
      }),
      { numRuns: 1000 },
    );
  });

  test('never makes a call wait longer than maxWait, whatever is announced', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom(200, 403, 429, 503), headers), { minLength: 1, maxLength: 6 }),
        fc.integer({ min: 0, max: 60_000 }),
        async (answers, maxWait) => {
          const clock = swiftClock();
          let next = 0;
          const fake = async () => {
            const [status, fields] = answers[Math.min(next++, answers.length - 1)];
            return { status, headers: fields, body: null };
          };
          const polite = limitedFetch(fake, { clock, maxWait, key: () => 'k' });
          for (let i = 0; i < 4; i++) {
            const start = clock.now();
            await polite().catch((error: Error) => expect(error.name).toBe('DeniedError'));
            expect(clock.now() - start).toBeLessThanOrEqual(maxWait);
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  test('reads a long header in one pass', () => {
    const long = (text: string) => ({ get: () => text.repeat(50_000 / text.length) });
    const start = process.cpuUsage();
    for (const text of ['"', '\\"', '"\\"', ',', ';', '"a";r=0,', '=', ' ', 'a ', '1.'])
      announcedWait(429, long(text), START);
    expect(process.cpuUsage(start).user).toBeLessThan(2e6);
  });
});
