import fc from 'fast-check';
import { Redis } from 'ioredis';
import { Counter, Histogram as ClientHistogram, Registry } from 'prom-client';
import { afterAll, describe, expect, inject, test } from 'vitest';
import { createLimiter, type Decision, memory, metered, type Store } from '../../src/index.ts';
import { EXPOSITION_TYPE, exposition, Histogram, prometheusMetrics } from '../../src/metrics/prometheus.ts';
import { redis } from '../../src/stores/redis/index.ts';
import { manualClock } from '../../src/testing/index.ts';
import { scrape } from 'sluice-test-support/metrics/scrape.ts';

const client = new Redis(inject('redisPort'), '127.0.0.1');
afterAll(() => client.disconnect());
/** The deadline is long, so that a busy machine does not cause faults. */
const patient = { deadline: '10s', onFailure: 'throw' } as const;
const offlineClient = { send: () => Promise.reject(new Error('connect ECONNREFUSED')) };

describe('prometheusMetrics', () => {
  test('counts allowed, denied and near-limit requests by limiter and policy', () => {
    const metrics = prometheusMetrics();
    const clock = manualClock();
    const store = metered(memory({ clock }), metrics);
    const api = createLimiter({ second: '5/s', day: '7/d fixed-window' }, { store, name: 'api' });
    for (let i = 0; i < 6; i++) api.take('alice');
    clock.advance(1000);
    for (let i = 0; i < 3; i++) api.take('alice');
    api.peek('bob');
    createLimiter('1/h', { store, name: 'login' }).take('alice');
    expect(metrics.text()).toBe(`\
# HELP sluice_decisions_total Decisions on takes, reservations and acquired turns.
# TYPE sluice_decisions_total counter
sluice_decisions_total{limiter="api",policy="second",outcome="allowed"} 5
sluice_decisions_total{limiter="api",policy="second",outcome="denied"} 1
sluice_decisions_total{limiter="api",policy="day",outcome="allowed"} 2
sluice_decisions_total{limiter="api",policy="day",outcome="denied"} 1
sluice_decisions_total{limiter="login",policy="default",outcome="allowed"} 1
sluice_decisions_total{limiter="login",policy="default",outcome="denied"} 0
# HELP sluice_near_limit_total Allowed requests whose key was close to its limit.
# TYPE sluice_near_limit_total counter
sluice_near_limit_total{limiter="api",policy="second"} 1
sluice_near_limit_total{limiter="api",policy="day"} 2
sluice_near_limit_total{limiter="login",policy="default"} 1
# HELP sluice_answers_total Number of answered hits, for all verbs, by source.
# TYPE sluice_answers_total counter
sluice_answers_total{source="store"} 11
sluice_answers_total{source="deny-cache"} 0
sluice_answers_total{source="lease"} 0
sluice_answers_total{source="fallback"} 0
# HELP sluice_store_errors_total Hits that failed, by kind of fault.
# TYPE sluice_store_errors_total counter
# HELP sluice_store_duration_seconds Time the store took to answer. Synchronous answers are not timed.
# TYPE sluice_store_duration_seconds histogram
`);
  });

  test('records the latency of asynchronous answers, in seconds, in a histogram for each limiter, and counts faults by kind', async () => {
    const metrics = prometheusMetrics();
    const name = `timed ${process.pid}`;
    const near = createLimiter('100/h', { store: metered(redis(client, patient), metrics), name });
    const start = performance.now();
    for (let i = 0; i < 10; i++) await near.take('alice');
    const elapsed = (performance.now() - start) / 1000;
    const far = createLimiter('100/h', {
      store: metered(redis(offlineClient, patient), metrics),
      name: 'far',
    });
    await far.take('alice').catch(() => {});
    const open = createLimiter('100/h', {
      store: metered(redis(offlineClient, { ...patient, onFailure: 'allow' }), metrics),
      name: 'open',
    });
    await open.take('alice');
    const scraped = scrape(metrics.text());
    const times = scraped.get('sluice_store_duration_seconds')?.samples;
    expect(times?.get(`sluice_store_duration_seconds_count{limiter="${name}"}`)).toBe(10);
    expect(times?.get(`sluice_store_duration_seconds_sum{limiter="${name}"}`)).toBeGreaterThan(0);
    expect(times?.get(`sluice_store_duration_seconds_sum{limiter="${name}"}`)).toBeLessThanOrEqual(elapsed);
    expect(times?.has('sluice_store_duration_seconds_count{limiter="far"}')).toBe(false);
    expect(Object.fromEntries(scraped.get('sluice_store_errors_total')?.samples ?? [])).toEqual({
      'sluice_store_errors_total{fault="connection"}': 1,
    });
    expect(scraped.get('sluice_answers_total')?.samples.get('sluice_answers_total{source="fallback"}')).toBe(
      1,
    );
  });

  test('keeps a bounded number of series whatever names occur, and counts every hit in one of them', () => {
    const metrics = prometheusMetrics({ maxLimiters: 10 });
    const store = metered(memory({ maxKeys: 10 }), metrics);
    for (let i = 0; i < 300; i++) {
      const limiter = createLimiter('1/h', { store, name: `limiter ${i}` });
      limiter.take('alice');
      void limiter.close();
    }
    const byKey = createLimiter((key) => ({ [`policy of ${key}`]: '1/h' }), { store, name: 'limiter 0' });
    for (let i = 0; i < 300; i++) byKey.take(`key ${i}`);
    const samples = [...(scrape(metrics.text()).get('sluice_decisions_total')?.samples ?? [])];
    // There are 10 limiters and 'other', 50 policies of one of them and 'other', and 2 outcomes each.
    expect(samples).toHaveLength(2 * (10 + 1 + 50));
    expect(samples.reduce((sum, [, value]) => sum + value, 0)).toBe(600);
    expect(metrics.text()).toContain(
      'sluice_decisions_total{limiter="other",policy="default",outcome="allowed"} 290\n',
    );
    expect(metrics.text()).toContain(
      'sluice_decisions_total{limiter="limiter 0",policy="other",outcome="allowed"} 251\n',
    );
  });

  test('keeps a bounded number of histograms, even if only peeks occur', async () => {
    const metrics = prometheusMetrics({ maxLimiters: 10 });
    const inner = memory();
    const later: Store<Promise<Decision>> = { ...inner, apply: async (hit) => inner.apply(hit) };
    const store = metered(later, metrics);
    for (let i = 0; i < 100; i++) await createLimiter('1/h', { store, name: `limiter ${i}` }).peek('alice');
    const names = metrics.text().match(/_count\{limiter="[^"]*"\} \d+/g) ?? [];
    expect(names).toHaveLength(11);
    expect(names.at(-1)).toBe('_count{limiter="other"} 90');
  });

  test('never exposes a key', () => {
    const metrics = prometheusMetrics();
    const limiter = createLimiter('1/h', { store: metered(memory(), metrics) });
    for (let i = 0; i < 100; i++) limiter.take('203.0.113.7');
    limiter.block('203.0.113.7', '1h');
    expect(metrics.text()).not.toContain('203.0.113.7');
  });

  test.each([
    [{ nearRatio: 0 }, 'ERR_NUMBER'],
    [{ nearRatio: 1.1 }, 'ERR_NUMBER'],
    [{ nearRatio: 'x' }, 'ERR_NUMBER'],
    [{ maxLimiters: 0 }, 'ERR_INTEGER'],
    [{ nearratio: 0.5 }, 'ERR_UNKNOWN_OPTION'],
    ['no options', 'ERR_OPTIONS'],
  ])('rejects invalid options: %o', (options, code) => {
    expect(() => prometheusMetrics(options as object)).toThrow(code);
  });
});

describe('exposition', () => {
  test('equals the output of prom-client, line by line, for any labels and numbers', async () => {
    const labels = fc.record({
      limiter: fc
        .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 20 })
        .map((codes) => String.fromCharCode(...codes)),
      policy: fc.constantFrom('', 'a"b', 'a\\b', 'a\nb', '\\n', 'ключ', '{}', 'a,b="c"'),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(labels, { selector: ({ limiter, policy }) => JSON.stringify([limiter, policy]) }),
        fc.array(fc.double({ min: 0, max: 5, noNaN: true }), { maxLength: 20 }),
        async (rows, times) => {
          const registry = new Registry();
          const counter = new Counter({
            name: 'sluice_x_total',
            help: 'Some.',
            labelNames: ['limiter', 'policy'],
            registers: [registry],
          });
          const own = new Histogram();
          const theirs = new ClientHistogram({
            name: 'sluice_y_seconds',
            help: 'Times.',
            labelNames: ['limiter'],
            buckets: [...own.bounds],
            registers: [registry],
          });
          for (const [i, row] of rows.entries()) counter.inc(row, i + 0.5);
          for (const time of times) {
            own.observe(time);
            theirs.observe({ limiter: 'a' }, time);
          }
          const text = exposition([
            {
              name: 'sluice.x',
              type: 'counter',
              help: 'Some.',
              samples: rows.map((row, i) => ({ labels: row, value: i + 0.5 })),
            },
            {
              name: 'sluice.y',
              type: 'histogram',
              unit: 's',
              help: 'Times.',
              samples: times.length === 0 ? [] : [{ labels: { limiter: 'a' }, value: own }],
            },
          ]);
          expect(sorted(text)).toEqual(sorted(await registry.metrics()));
          expect(text.isWellFormed()).toBe(true);
          scrape(text);
        },
      ),
      { numRuns: 50 },
    );
    expect(EXPOSITION_TYPE).toBe(Registry.PROMETHEUS_CONTENT_TYPE);
  });

  test('adds the unit to the name of a metric, and supports infinite values', () => {
    const text = exposition([
      { name: 'a.b_c', type: 'gauge', unit: 'By', help: 'h', samples: [{ value: Infinity }] },
      {
        name: 'd',
        type: 'gauge',
        help: 'h',
        samples: [{ value: -Infinity }, { labels: { x: '1' }, value: 1e-7 }],
      },
    ]);
    expect(text).toBe(
      '# HELP a_b_c_bytes h\n# TYPE a_b_c_bytes gauge\na_b_c_bytes +Inf\n# HELP d h\n# TYPE d gauge\nd -Inf\nd{x="1"} 1e-7\n',
    );
    scrape(text);
  });
});

/** Normalizes prom-client's order of lines and labels, which has no meaning. Lone surrogates cannot be encoded. */
function sorted(text: string): string[] {
  return text
    .toWellFormed()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.replace(/\{le="([^"]*)",(.*)\}/, '{$2,le="$1"}'))
    .sort();
}
