import fc from 'fast-check';
import { createLimiter, memory } from 'sluice';
import { manualClock } from 'sluice/testing';
import { describe, expect, test } from 'vitest';
import { createMetrics } from '../../src/telemetry/metrics/metrics.ts';
import { Sampled } from '../../src/telemetry/metrics/sampled.ts';
import { SpaceSaving } from '../../src/telemetry/metrics/space-saving.ts';

describe('the space-saving sketch', () => {
  test('never reports a count below the true count, or above it by more than the reported error, and finds every frequent name', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 30 }), { maxLength: 500 }),
        fc.integer({ min: 1, max: 20 }),
        (names, size) => {
          const sketch = new SpaceSaving(size);
          const exact = new Map<string, number>();
          for (const name of names.map(String)) {
            sketch.see(name);
            exact.set(name, (exact.get(name) ?? 0) + 1);
          }
          const top = sketch.top(size);
          expect(top.length).toBeLessThanOrEqual(size);
          for (const { name, count, error } of top) {
            expect(count).toBeGreaterThanOrEqual(exact.get(name) ?? 0);
            expect(count - error).toBeLessThanOrEqual(exact.get(name) ?? 0);
          }
          const seen = new Set(top.map(({ name }) => name));
          for (const [name, count] of exact) if (count > names.length / size) expect(seen).toContain(name);
        },
      ),
    );
  });
});

describe('a sample', () => {
  const SIZE = 64;

  /** Passes the sampled names to a sketch. */
  function sampled(names: Iterable<string>): { counts: Map<string, number>; named: number } {
    const sketch = new Sampled(SIZE);
    let named = 0;
    for (const name of names) {
      if (!sketch.isNext()) continue;
      sketch.see(name);
      named++;
    }
    return { counts: new Map(sketch.top(SIZE).map(({ name, count }) => [name, count])), named };
  }

  test('of few events contains all of them', () => {
    const { counts, named } = sampled(Array.from({ length: SIZE ** 2 / 4 }, (_, i) => String(i % 50)));
    expect(named).toBe(SIZE ** 2 / 4);
    expect(counts.get('7')).toBe(21);
  });

  test('of many events is representative, even if a name occurs periodically', () => {
    const MANY = 400_000;
    const names = Array.from({ length: MANY }, (_, i) => (i % 8 === 0 ? 'in step' : `guest ${i}`));
    const { counts, named } = sampled(names);
    expect(named).toBeLessThan(MANY / 16);
    const sum = [...counts.values()].reduce((a, b) => a + b);
    // The standard deviation is about √(400,000 · 64 / 3).
    expect(Math.abs(sum - MANY)).toBeLessThan(20_000);
    expect(Math.abs((counts.get('in step') ?? 0) - MANY / 8)).toBeLessThan(MANY / SIZE + 10_000);
  });
});

describe('metrics', () => {
  const clock = manualClock();
  const limiter = createLimiter('5/h', { store: memory({ clock }) });

  function counted(options: Parameters<typeof createMetrics>[0], limits: string[]): string {
    const metrics = createMetrics(options);
    for (const limit of limits) metrics.decided(limit, `key of ${limit}`, limiter.take('x'), false);
    return metrics.text();
  }

  test('count takes that are allowed, near the limit and denied', () => {
    limiter.reset('x');
    const text = counted({ topKeys: 20 }, ['a', 'a', 'a', 'a', 'a', 'a', 'a']);
    expect(text).toContain('sluice_decisions_total{limit="a",outcome="allowed"} 5\n');
    expect(text).toContain('sluice_decisions_total{limit="a",outcome="denied"} 2\n');
    expect(text).toContain('sluice_near_limit_total{limit="a"} 1\n');
    expect(text).toContain('sluice_top_denied{limit="a",key="key of a"} 2\n');
  });

  test('contain no keys if topKeys is 0 or not given', () => {
    limiter.take('x', { cost: 5, mode: 'partial' });
    expect(counted({ topKeys: 20 }, ['a', 'b'])).toContain('key of');
    expect(counted({ topKeys: 0 }, ['a', 'b'])).not.toContain('key of');
    expect(counted({}, ['a', 'b'])).not.toContain('key of');
  });

  test("have a bounded number of labels, and count further limits as 'other'", () => {
    const names = Array.from({ length: 50 }, (_, i) => `limit ${i}`);
    const text = counted({ maxLimits: 10 }, names);
    expect(text.match(/outcome="denied"/g)).toHaveLength(11);
    expect(text).toContain('sluice_decisions_total{limit="other",outcome="denied"} 40');
  });

  test('are valid Prometheus text, whatever characters names contain', () => {
    const names = ['quote "', 'back\\slash', 'new\nline', '\ud800', 'ключ', '{}', ''];
    for (const line of counted({}, names).trim().split('\n')) {
      expect(line).toMatch(/^(# (HELP|TYPE) \w+ .+|\w+(\{(\w+="([^"\\\n]|\\["\\n])*",?)*\})? [\d.e+-]+)$/);
      expect(line.isWellFormed()).toBe(true);
    }
  });

  test('contain histograms with cumulative buckets, a sum and a count', () => {
    const metrics = createMetrics();
    for (const took of [0.05, 0.3, 3, 10_000]) metrics.answered('http', '/', '200', took);
    const text = metrics.text();
    expect(text).toContain('sluice_request_duration_seconds_bucket{listener="http",le="0.0001"} 1\n');
    expect(text).toContain('sluice_request_duration_seconds_bucket{listener="http",le="0.005"} 3\n');
    expect(text).toContain('sluice_request_duration_seconds_bucket{listener="http",le="+Inf"} 4\n');
    expect(text).toContain('sluice_request_duration_seconds_count{listener="http"} 4\n');
  });
});
