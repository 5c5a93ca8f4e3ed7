import { describe, expect, test } from 'vitest';
import { createLimiter, memory } from 'sluice';
import type { MemoryStore } from 'sluice/store';
import { manualClock } from 'sluice/testing';
import { showDuration, showTime, durationText } from '../src/model/format.ts';
import { ALGORITHMS, UNRATED } from '../src/model/algorithms.ts';
import { changed, type Part, policiesOf, read, write } from '../src/model/policy.ts';
import { createRun, explain, type Run } from '../src/model/run.ts';
import { FIRST, fromQuery, TRAFFIC, toQuery } from '../src/model/state.ts';
import { generate, MOST_EVENTS, SCRIPT, type TrafficOptions } from '../src/model/traffic.ts';
import { maximumsOf } from '../src/model/window-counts.ts';

function partsOf(text: string): readonly Part[] {
  const reading = read(text);
  if (reading.mistake !== undefined) throw new Error(reading.mistake.why);
  return reading.parts;
}

function runOf(text: string, options: TrafficOptions = FIRST.traffic, patience = 0): Run {
  const run = createRun({
    traffic: generate(options),
    policies: text,
    bounds: partsOf(text),
    patience,
    focus: 0,
  });
  run.work(Infinity);
  return run;
}

/** The algorithms that can be written as a rate. */
const RATED = ALGORITHMS.filter((name) => !UNRATED.includes(name));

const memoryAt = (now: () => number): MemoryStore => memory({ clock: { now } });

const worstOf = (run: Run) => run.worst.map((most) => most[run.admitted.count - 1]);

describe("a limit's text", () => {
  test.each([
    [
      '10/10s fixed-window',
      { algorithm: 'fixed-window', limit: 10, per: 10_000, span: '10s', burst: undefined },
    ],
    ['10/s burst 3', { algorithm: 'gcra', limit: 10, per: 1000, span: 's', burst: 3 }],
    ['1.5/s leaky-bucket burst 7', { algorithm: 'leaky-bucket', limit: 1.5, per: 1000, span: 's', burst: 7 }],
    [
      '1_000 / 1h30m token-bucket',
      { algorithm: 'token-bucket', limit: 1000, per: 5_400_000, span: '1h30m', burst: undefined },
    ],
    [
      '5/month fixed-window',
      { algorithm: 'fixed-window', limit: 5, per: 2_592_000_000, span: 'month', burst: undefined },
    ],
    ['7/3s pacer burst 2', { algorithm: 'pacer', limit: 7, per: 3000, span: '3s', burst: 2 }],
  ])('%s is parsed', (text, part) => {
    expect(partsOf(text)).toEqual([part]);
  });

  test('is written so that it parses to the same numbers, for every algorithm', () => {
    for (const algorithm of RATED) {
      for (const text of [`7/3s ${algorithm}`, `7/3s ${algorithm} & 100/h`]) {
        const again = write(partsOf(text));
        expect(
          createLimiter(again)
            .peek('')
            .policies.map(({ limit, window }) => [limit, window]),
        ).toEqual(
          createLimiter(text)
            .peek('')
            .policies.map(({ limit, window }) => [limit, window]),
        );
      }
    }
  });

  test('drops its burst or calendar month if the new algorithm does not support it', () => {
    const [part] = partsOf('10/s burst 3');
    expect(write([changed(part, { algorithm: 'sliding-log' })])).toBe('10/s sliding-log');
    const [month] = partsOf('10/month fixed-window');
    expect(write([changed(month, { algorithm: 'gcra' })])).toBe('10/30d');
    expect(write([changed(part, { per: 90_000 })])).toBe('10/90s burst 3');
  });

  test.each([
    ['concurrency { limit: 3, lease: 2s }', 3, 2000],
    ['min-interval { every: 250ms }', 1, 250],
    ['sliding-log { limit: 10, per: 10s, resolution: 5 }', 10, 10_000],
    ['fixed-window { limit: 5, align: day, timeZone: Europe/Berlin }', 5, 86_400_000],
    ['token-bucket { capacity: 4, refill: 2, every: 1s, continuous: false }', 4, 2000],
    ['pacer { limit: 5, per: 1s, warmup: 10s, coldFactor: 3 }', 5, 1000],
    ["gcra { limit: 1_000, per: '1m' }", 1000, 60_000],
  ])('%s is parsed with its options', (text, limit, per) => {
    const [part] = partsOf(text);
    expect(part).toMatchObject({ limit, per });
    expect(partsOf(write([part]))).toEqual([part]);
  });

  test('can be changed from any algorithm to any other algorithm, and is always valid', () => {
    for (const from of ALGORITHMS) {
      const [rate] = partsOf('10/10s');
      const first = changed(rate, { algorithm: from });
      for (const to of ALGORITHMS) {
        const text = `5/s & ${write([changed(first, { algorithm: to })])}`;
        expect(read(text), text).not.toHaveProperty('mistake.why');
        expect(partsOf(text)[1].algorithm).toBe(to);
      }
    }
  });

  test('with a penalty needs another limit, because a penalty does not limit a rate', () => {
    const text = 'penalty { after: 3, within: 10s, block: 20s }';
    expect(read(text).mistake).toMatchObject({ from: 0, to: text.length });
    expect(read(text).mistake?.why).toContain('another limit');
    const parts = partsOf(`5/s & ${text}`);
    expect(parts.map(({ limit }) => limit)).toEqual([5, Infinity]);
    expect(write([changed(parts[1], { algorithm: 'gcra' })])).toBe('10/10s');
  });

  test.each([
    ['concurrency { limit: 0, lease: 2s }', 'limit: 0', 'concurrency.limit'],
    ['concurrency { limt: 3, lease: 2s }', 'limt: 3', 'known: limit, lease'],
    ['min-interval { every: 3x }', 'every: 3x', 'minInterval.every'],
    ['concurency { limit: 3 }', 'concurency', 'unknown algorithm'],
    ['concurrency { limit 3 }', 'limit 3', 'limit: 10'],
    ['5/s & min-interval { }', 'min-interval { }', 'every'],
    ['5/s & min-interval { every: 1s } & min-interval { every: 1s }', 'min-interval { every: 1s }', 'twice'],
  ])('%s has an invalid option, and "%s" is marked', (text, words, why) => {
    const { mistake } = read(text);
    expect(text.slice(mistake?.from, mistake?.to)).toBe(words);
    expect(mistake?.why).toContain(why);
  });

  test.each([
    ['10/min brust 3', 'brust', 'unknown word'],
    ['10/10x', '10x', 'unknown duration'],
    ['x', 'x', 'cannot parse'],
    ['0/s', '0', 'gcra.limit'],
    ['10/s burst 0', 'burst 0', 'gcra.burst'],
    ['10/s fixed-window burst 3', 'burst 3', 'no burst'],
    ['10/s & 5/min slow', 'slow', 'unknown word'],
    ['10/s & 10/s', '10/s', 'is given twice'],
  ])('%s is invalid, and "%s" is marked', (text, word, why) => {
    const { mistake } = read(text);
    expect(text.slice(mistake?.from, mistake?.to)).toBe(word);
    expect(mistake?.why).toContain(why);
    expect(mistake?.from).toBe(text.lastIndexOf(word));
  });

  test('is marked at the place where a limit is missing', () => {
    expect(read('10/s & ').mistake).toMatchObject({ from: 7, why: expect.stringContaining('missing') });
    expect(read('').mistake).toMatchObject({ from: 0 });
  });
});

describe('a run', () => {
  test('lets a double burst pass in a fixed window but not in a sliding log, and paces requests with gcra', () => {
    expect(worstOf(runOf('10/10s fixed-window'))).toEqual([20]);
    expect(worstOf(runOf('10/10s sliding-log'))).toEqual([10]);
    const { admitted } = runOf('10/10s burst 3');
    const late = [...admitted.at.subarray(0, admitted.count)].filter((at) => at > 25_000);
    const gaps = late.slice(1).map((at, i) => at - late[i]);
    expect(Math.max(...gaps)).toBe(1000);
    expect(Math.min(...gaps)).toBe(1000);
  });

  test.each(RATED)('of %s makes the same decisions as direct calls to the library', (algorithm) => {
    const run = runOf(`4/3s ${algorithm}`, { ...TRAFFIC.poisson, rate: 3 });
    let now = 0;
    const { traffic } = run;
    const limiter = createLimiter(`4/3s ${algorithm}`, { store: memoryAt(() => now) });
    const allowed: number[] = [];
    for (const [i, time] of traffic.times.entries()) {
      now = time;
      if (limiter.take('ann').allowed) allowed.push(i);
    }
    expect([...run.admitted.event.subarray(0, run.admitted.count)]).toEqual(allowed);
  });

  test.each([
    'concurrency { limit: 3, lease: 2s }',
    'min-interval { every: 700ms }',
    '4/3s & penalty { after: 2, within: 3s, block: 5s }',
  ])('of %s makes the same decisions as the library', (text) => {
    const run = runOf(text, { ...TRAFFIC.poisson, rate: 3 });
    let now = 0;
    const limiter = createLimiter(policiesOf(text), { store: memoryAt(() => now) });
    const allowed: number[] = [];
    for (const [i, time] of run.traffic.times.entries()) {
      now = time;
      if (limiter.take('ann').allowed) allowed.push(i);
    }
    expect([...run.admitted.event.subarray(0, run.admitted.count)]).toEqual(allowed);
    expect(allowed.length).toBeGreaterThan(10);
    expect(run.denied.count).toBeGreaterThan(10);
  });

  test('gives the same result whether it is computed in slices or in one go', () => {
    const whole = runOf('10/10s', TRAFFIC.rogue);
    const sliced = createRun({ ...whole, observe: undefined });
    let slices = 0;
    while (!sliced.work(0)) slices++;
    expect(slices).toBeGreaterThan(0);
    expect(sliced.admitted).toEqual(whole.admitted);
    expect(sliced.level).toEqual(whole.level);
  });

  test('admits waiting requests in order, never too early, and within their patience', () => {
    const run = runOf('10/10s burst 3', FIRST.traffic, 5000);
    const { admitted } = run;
    const events = [...admitted.event.subarray(0, admitted.count)];
    expect(events).toEqual([...events].sort((a, b) => a - b));
    expect(admitted.count).toBeGreaterThan(runOf('10/10s burst 3').admitted.count);
    expect(admitted.longest[admitted.count - 1]).toBeLessThanOrEqual(5000);
    expect(admitted.longest[admitted.count - 1]).toBeGreaterThan(4000);
  });

  test.each(['10/10s burst 3', '6/5s sliding-log', '3/2s fixed-window'])(
    'of %s admits waiting requests at the same times as acquire',
    async (text) => {
      const options = { ...TRAFFIC.bursts, size: 7, every: 8000 };
      const run = runOf(text, options, 6000);
      const clock = manualClock();
      const limiter = createLimiter(text, { store: memory({ clock }) });
      const turns: [event: number, at: number][] = [];
      const { times } = run.traffic;
      let asked = 0;
      // All events happen at multiples of 50 ms.
      for (let now = 0; now <= options.length; now += 50) {
        clock.set(now);
        for (; times[asked] <= now; asked++) {
          const event = asked;
          void limiter.acquire('ann', { timeout: 6000 }).then(({ allowed }) => {
            if (allowed) turns.push([event, clock.now()]);
          });
        }
        await new Promise(setImmediate);
      }
      await limiter.close();
      const { admitted } = run;
      const shown = Array.from({ length: admitted.count }, (_, i) => [admitted.event[i], admitted.at[i]]);
      expect(shown).toEqual(turns);
      expect(admitted.count + run.denied.count).toBe(times.length);
    },
  );

  test("gives the library's decision as the explanation of a denied request", () => {
    const run = runOf('10/10s fixed-window & 15/40s sliding-log');
    const [first] = run.denied.event;
    const found = explain(run, first);
    expect(found?.decision).toMatchObject({ allowed: false, remaining: 0, policy: '15/40s sliding-log' });
    expect(found?.decision.policies.map(({ remaining }) => remaining)).toEqual([5, 0]);
    expect(found?.decision.retryAfter).toBe(run.denied.wait[0]);
  });

  test('of traffic with a rogue script denies only the script, not the other keys', () => {
    const run = runOf('10/10s', TRAFFIC.rogue);
    const { names, keys } = run.traffic;
    const denied = new Set(
      [...run.denied.event.subarray(0, run.denied.count)].map((event) => names[keys[event]]),
    );
    expect(denied).toEqual(new Set([SCRIPT]));
  });

  test('reports, for each column of the chart, the maximum number of admissions in any window', () => {
    expect([...maximumsOf([0, 1, 2, 10], 3, 12, 6)]).toEqual([2, 3, 1, 0, 0, 1]);
  });
});

describe('traffic', () => {
  test('is the same for the same seed, and different for another seed', () => {
    const { times } = generate(TRAFFIC.poisson);
    expect(generate(TRAFFIC.poisson).times).toEqual(times);
    expect(generate({ ...TRAFFIC.poisson, seed: 2 }).times).not.toEqual(times);
  });

  test('with too many requests is truncated, and marked as truncated', () => {
    const traffic = generate({ ...TRAFFIC.rogue, rate: 1000, size: 10_000, length: 600_000 });
    expect(traffic.times.length).toBe(MOST_EVENTS);
    expect(traffic.isCut).toBe(true);
    expect(traffic.names).toContain('eva');
  });

  test('of kind edge ends the first burst before the window boundary and starts the second burst at the boundary', () => {
    const { times } = generate(TRAFFIC.edge);
    expect(times[9]).toBeLessThan(10_000);
    expect(times[10]).toBeGreaterThanOrEqual(10_000);
    expect(times[0]).toBeGreaterThanOrEqual(9000);
    expect(times[19]).toBeLessThan(11_000);
  });
});

describe('a shared link', () => {
  test('restores the state from which it was created', () => {
    const state = {
      limits: ['10/s burst 20', '5/min & 100/h fixed-window', '1/s & 2/min'],
      costs: [[], [1, 4200.5], [0, 1]],
      traffic: { ...TRAFFIC.bursts, size: 40, length: 20_000 },
      patience: 5000,
    };
    expect(fromQuery(toQuery(state))).toEqual(state);
    expect(fromQuery('')).toEqual(FIRST);
  });

  test('uses defaults for invalid parts', () => {
    const odd = fromQuery(
      `traffic=__proto__&rate=NaN&size=-1&length=1e99&patience=x&${'limit=1/s&'.repeat(9)}`,
    );
    expect(odd).toEqual({
      limits: Array(4).fill('1/s'),
      costs: Array(4).fill([]),
      traffic: TRAFFIC.edge,
      patience: 0,
    });
    const { costs } = fromQuery('cost=7&limit=1/s&limit=1/s&cost=-1,2,x,,1e99,-0&limit=1/s&cost=1,1');
    expect(costs).toEqual([[], [1, 2, 1, 1, 1, 0], []]);
    expect(fromQuery(`limit=${'9'.repeat(5000)}`).limits[0]).toHaveLength(200);
  });
});

describe('formatting', () => {
  test.each([
    [250, '250ms'],
    [1500, '1500ms'],
    [60_000, '1m'],
    [5_400_000, '90m'],
    [0.5, '0.5ms'],
    [86_400_000, '1d'],
  ])('writes %d ms as %s in a policy', (span, text) => {
    expect(durationText(span)).toBe(text);
  });

  test.each([
    [0, '0 s'],
    [0.4, '< 1 ms'],
    [999.7, '1 s'],
    [1234, '1.23 s'],
    [83_000, '83 s'],
    [150_000, '2.5 min'],
    [Infinity, 'never'],
  ])('shows %d ms as %s', (span, text) => {
    expect(showDuration(span)).toBe(text);
  });

  test('shows an instant with a precision that fits the length of the run', () => {
    expect(showTime(12_345, 40_000)).toBe('12.3 s');
    expect(showTime(245_000, 600_000)).toBe('4:05');
    expect(showTime(3_845_000, 7_200_000)).toBe('1:04:05');
  });
});
