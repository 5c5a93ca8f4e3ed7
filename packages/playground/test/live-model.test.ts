import { describe, expect, test } from 'vitest';
import { createLimiter, memory, penalty, slidingLog } from 'sluice';
import { numbersOf } from '../src/live/answer.ts';
import { addPast, addPoint, NONE, type Point } from '../src/live/series.ts';
import { explain } from '../src/live/explain.ts';
import { sendersFor, swell } from '../src/live/sample-traffic.ts';
import { tryLink } from '../src/live/try-link.ts';
import { fromQuery } from '../src/model/state.ts';

const point = (at: number, allowed: number, span = 1000): Point => ({ ...NONE, at, span, allowed });
const clockAt = (now: () => number) => ({ now, after: () => () => {} });
const asJson = (decision: object) => numbersOf(JSON.parse(JSON.stringify(decision)));

describe('the history of a limit on the page', () => {
  test('keeps an hour in a bounded number of points, and merging the points loses no request', () => {
    const series: Point[] = [];
    for (let second = 1; second <= 3600; second++) addPoint(series, point(second * 1000, second % 7));
    expect(series.length).toBeLessThan(700);
    const requests = series.reduce((sum, { allowed, span }) => sum + (allowed * span) / 1000, 0);
    expect(requests).toBeCloseTo(Array.from({ length: 3600 }, (_, i) => (i + 1) % 7).reduce((a, b) => a + b));
    expect(series.slice(-300).every(({ span }) => span === 1000)).toBe(true);
    addPoint(series, point(3_700_000, 1));
    expect(series[0].at).toBeGreaterThanOrEqual(100_000);
  });

  test('takes points from the history that the server sends, but only for times at which it has no points of its own', () => {
    const series = [point(25_000, 9), point(26_000, 9)];
    addPast(series, [point(10_000, 1, 10_000), point(20_000, 2, 10_000), point(26_000, 3, 6000)]);
    expect(series.map(({ at, allowed }) => [at, allowed])).toEqual([
      [10_000, 1],
      [20_000, 2],
      [25_000, 9],
      [26_000, 9],
    ]);
  });
});

describe('the explanation of a key', () => {
  let now = 1e6;
  const limiter = createLimiter(
    {
      attempts: slidingLog({ limit: 2, per: '10m' }),
      lockout: penalty({ after: 1, within: '1h', block: '1h' }),
    },
    { store: memory({ clock: clockAt(() => now) }) },
  );

  test('names each policy, its remaining units, and when the key passes', () => {
    limiter.take('ann');
    const { isAllowed, summary, policies } = explain(asJson(limiter.peek('ann')), '');
    expect([isAllowed, summary]).toEqual([true, 'would pass now.']);
    expect(policies.map(({ sentence }) => sentence)).toEqual([
      '1 of 2 left. All 2 are back in 10 min.',
      'The key is not locked out.',
    ]);
    now += 60_000;
    limiter.take('ann');
    limiter.take('ann');
    const denied = explain(asJson(limiter.peek('ann')), '');
    expect(denied.summary).toBe('is denied by lockout. Its next request passes in 60 min.');
    expect(denied.policies.map(({ sentence }) => sentence)).toEqual([
      '0 of 2 left. One more is back in 9 min. All 2 are back in 10 min.',
      'The key is locked out for another 60 min.',
    ]);
  });

  test('says whether a manual block or the configuration blocks the key', () => {
    limiter.block('ben', '2m');
    expect(explain(asJson(limiter.peek('ben')), '').summary).toBe(
      'is denied by a manual block, which ends in 2 min.',
    );
    const declared = { allowed: false, policy: 'blocked', policies: [], retryAfter: null };
    expect(explain(asJson(declared), '').summary).toBe(
      'is always denied, because the configuration blocks it.',
    );
  });
});

describe('the link to the playground', () => {
  test.each([
    ['100/min', '100/min'],
    ['fast: 10/s & slow: 100/h fixed-window', '10/s & 100/h fixed-window'],
    ['10 per second', '10/s fixed-window'],
    ['5 per 2 hours', '5/2h fixed-window'],
    [
      'attempts: sliding-log { limit: 5, per: 10m } & lockout: penalty { after: 3, within: 1h, block: 5m }',
      'sliding-log { limit: 5, per: 10m } & penalty { after: 3, within: 1h, block: 5m }',
    ],
  ])('loads the limit %s', (policies, text) => {
    const state = fromQuery(tryLink(policies)?.split('?')[1] ?? '');
    expect(state.limits).toEqual([text]);
    expect((state.traffic.rate * state.traffic.length) / 1000).toBeLessThan(1000);
  });

  test.each(['unlimited', 'blocked', '10/s brust 3'])('does not exist for the limit %s', (policies) => {
    expect(tryLink(policies)).toBeUndefined();
  });
});

describe('the sample traffic', () => {
  /** Runs the traffic of a minute, and returns the keys that were denied and the number of requests. */
  function runMinute(policies: string): { denied: string[]; requests: number } {
    let now = 1e6;
    const limiter = createLimiter(policies, { store: memory({ clock: clockAt(() => now) }) });
    const denied = new Set<string>();
    const senders = sendersFor('x', asJson(limiter.peek('synthetic-greedy'))).map((one) => ({ one, due: 0 }));
    let requests = 0;
    for (let tick = 0; tick < 240; tick++) {
      now += 250;
      for (const sender of senders) {
        sender.due += sender.one.rate * swell(sender.one, tick / 4) * 0.25;
        for (; sender.due >= 1; sender.due--) {
          requests++;
          if (!limiter.take(sender.one.key).allowed) denied.add(sender.one.key);
        }
      }
    }
    return { denied: [...denied], requests };
  }

  test.each([
    '100/min',
    '5/s burst 10 & 2000/day fixed-window',
    '5/10m sliding-log',
    '100/month fixed-window',
  ])('exceeds %s with only one key, and is bounded', (policies) => {
    const { denied, requests } = runMinute(policies);
    expect(denied).toEqual(['synthetic-greedy']);
    expect(requests).toBeLessThan(60 * 40);
  });

  test('is bounded for a limit that is never reached', () => {
    expect(runMinute('1000000/s').requests).toBeLessThan(60 * 40);
  });
});
