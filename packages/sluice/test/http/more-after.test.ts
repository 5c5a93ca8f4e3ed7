/** Tests `t` in the RateLimit header, which is the time until a policy has one unit more than `r`. */
import { describe, expect, test } from 'vitest';
import { limitedFetch, moreAfter, rateLimitHeaders } from '../../src/http/index.ts';
import { createLimiter, type Decision, memory, type Policies, type PolicyState } from '../../src/index.ts';
import { withRateLimit } from '../../src/middleware/fetch.ts';
import { type ManualClock, manualClock } from '../../src/testing/index.ts';
import { random } from 'sluice-test-support/random.ts';
import { someGap } from '../stores/differential.ts';
import { CASES } from '../support/policies.ts';

const START = 1_700_000_000_000;
/** In milliseconds. Within this distance of an announced instant, float error may change the decision. */
const CLOSE = 0.002;
const ROUNDS = 30;
const SEED = Number(process.env['SEED'] ?? 1);

/** Calls `check` after each of many random hits, at the instant of the hit. `check` may move the clock. */
function afterHits(
  policies: Policies,
  costs: readonly number[],
  check: (peek: () => Decision, decision: Decision, clock: ManualClock) => void,
): void {
  for (let round = 0; round < ROUNDS; round++) {
    const draw = random(SEED * ROUNDS + round);
    const clock = manualClock(START);
    const limiter = createLimiter(policies, { store: memory({ clock }) });
    for (let i = 0; i < 40; i++) {
      clock.set(clock.now() + Math.max(0, someGap(draw)));
      const cost = costs[draw(costs.length)] ?? 1;
      const mode = (['whole', 'whole', 'partial', 'always'] as const)[draw(4)] ?? 'whole';
      if (draw(8) === 0) limiter.refund('k', cost);
      const now = clock.now();
      check(() => limiter.peek('k'), limiter.take('k', { cost, mode }), clock);
      clock.set(now);
    }
  }
}

describe.each(Object.entries(CASES))('%s', (_, { policies }) => {
  test('has the same number of units until just before the announced instant, and more units at that instant', () => {
    afterHits(policies, [1, 1, 2, 3, 6, 0.5], (peek, decision, clock) => {
      const now = clock.now();
      for (const [i, state] of decision.policies.entries()) {
        const more = moreAfter(state);
        if (more === Infinity) {
          expect(state.remaining + 1 > state.limit || state.limit === Infinity).toBe(true);
          continue;
        }
        if (more > CLOSE) {
          clock.set(now + more - CLOSE);
          expect(peek().policies[i]?.remaining).toBe(state.remaining);
        }
        clock.set(now + more);
        expect(peek().policies[i]?.remaining).toBeGreaterThan(state.remaining);
      }
    });
  });

  test('the `t` of the RateLimit header is never later than Retry-After', () => {
    afterHits(policies, [1, 2, 5, 6, 0.3, 0.5, 1.7], (_peek, decision) => {
      const headers = new Map(rateLimitHeaders(decision));
      const retryAfter = headers.get('Retry-After');
      if (retryAfter === undefined) return;
      for (const [, t] of (headers.get('RateLimit') ?? '').matchAll(/;t=(\d+)/g))
        expect(Number(t)).toBeLessThanOrEqual(Number(retryAfter));
    });
  });
});

const state = (over: Partial<PolicyState>): PolicyState => ({
  name: 'default',
  limit: 10,
  window: 60_000,
  taken: 0,
  remaining: 0,
  retryAfter: 0,
  resetAfter: 60_000,
  ...over,
});

describe('moreAfter', () => {
  test.each<[string, Partial<PolicyState>, number]>([
    ['an even refill', { refill: 'even' }, 6000],
    ['an even refill, partly replenished', { refill: 'even', remaining: 7, resetAfter: 13_000 }, 1000],
    ['an even refill, overdrawn', { refill: 'even', resetAfter: 90_000 }, 36_000],
    ['a whole refill', { refill: 'whole' }, 60_000],
    ['a refill that is given as a number', { refill: 1234 }, 1234],
    ['a state without refill', {}, 60_000],
    ['a fully replenished policy', { refill: 'even', remaining: 10, resetAfter: 0 }, Infinity],
  ])('returns the time until the next unit is replenished, for %s', (_, over, expected) => {
    expect(moreAfter(state(over))).toBeCloseTo(expected, 6);
  });
});

describe('the RateLimit header', () => {
  const clock = manualClock(START);
  const store = memory({ clock });
  const header = (decision: Decision) => new Map(rateLimitHeaders(decision)).get('RateLimit');

  test('announces when the next unit of 10/min is replenished, not when the last one is', () => {
    const limiter = createLimiter('10/min', { store });
    expect(header(limiter.take('a', 10))).toBe('"default";r=0;t=6');
    const denied = new Map(rateLimitHeaders(limiter.take('a')));
    expect([denied.get('RateLimit'), denied.get('Retry-After')]).toEqual(['"default";r=0;t=6', '6']);
  });

  test('has a t of 0 for a fully replenished key', () => {
    expect(header(createLimiter('10/min', { store }).peek('b'))).toBe('"default";r=10;t=0');
  });

  test('omits t in a denial for policies that are replenished after Retry-After', () => {
    const limiter = createLimiter({ burst: '2/10s', day: '1000/day fixed-window' }, { store });
    limiter.take('c', 2);
    expect(header(limiter.take('c'))).toBe('"burst";r=0;t=5,"day";r=998');
  });

  test('announces the end of a manual block for every policy', () => {
    const limiter = createLimiter({ burst: '2/10s', day: '1000/day fixed-window' }, { store });
    limiter.block('d', '30s');
    expect(header(limiter.take('d'))).toBe('"burst";r=0;t=30,"day";r=0;t=30');
  });
});

test('limitedFetch waits for the next unit of a guarded handler, and its next request is allowed', async () => {
  const clock = manualClock(START);
  const limiter = createLimiter('10/min', { store: memory({ clock }) });
  const guarded = withRateLimit({ limiter, key: () => 'client' }, () => new Response('hello'));
  const start = clock.now();
  const fetch = limitedFetch(async (url: string, _init?: object) => guarded(new Request(url)), {
    clock,
    random: () => 0,
  });
  for (let i = 0; i < 10; i++) expect((await fetch('http://localhost/')).status).toBe(200);
  const eleventh = fetch('http://localhost/');
  for (let i = 0; i < 20; i++) await Promise.resolve();
  clock.advance(5999);
  for (let i = 0; i < 20; i++) await Promise.resolve();
  clock.advance(1);
  expect((await eleventh).status).toBe(200);
  expect(clock.now() - start).toBe(6000);
});
