import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type HeaderStyle, problem, rateLimitHeaders } from '../../src/http/index.ts';
import {
  createLimiter,
  type Decision,
  fixedWindow,
  gcra,
  memory,
  type PolicyState,
} from '../../src/index.ts';
import { manualClock } from '../../src/testing/index.ts';
import { load } from 'sluice-test-support/vectors/vector.ts';

const state = (over: Partial<PolicyState> = {}): PolicyState => ({
  name: 'default',
  limit: 100,
  window: 60_000,
  taken: 0,
  remaining: 50,
  retryAfter: 0,
  resetAfter: 30_000,
  ...over,
});

function decision(over: Partial<Decision> = {}, ...policies: PolicyState[]): Decision {
  const [first = state()] = policies;
  const { limit, remaining, retryAfter, resetAfter, name: policy } = first;
  return {
    allowed: retryAfter === 0,
    taken: retryAfter === 0 ? 1 : 0,
    limit,
    remaining,
    retryAfter,
    resetAfter,
    policy,
    policies: policies.length > 0 ? policies : [first],
    source: 'store',
    ...over,
  };
}

const denied = (retryAfter: number, over: Partial<PolicyState> = {}) =>
  decision({}, state({ remaining: 0, retryAfter, ...over }));

const value = (pairs: readonly (readonly [string, string])[], name: string) =>
  pairs.find(([other]) => other === name)?.[1];

describe('draft-11', () => {
  it('lists every policy with its quota, window and remaining units', () => {
    const two = decision(
      {},
      state({ name: 'burst' }),
      state({ name: 'daily', limit: 1000, window: 86_400_000, remaining: 7, resetAfter: 1 }),
    );
    expect(rateLimitHeaders(two)).toEqual([
      ['RateLimit-Policy', '"burst";q=100;w=60,"daily";q=1000;w=86400'],
      ['RateLimit', '"burst";r=50;t=30,"daily";r=7;t=1'],
    ]);
  });

  it('encodes the partition key as a byte sequence in RateLimit and RateLimit-Policy', () => {
    expect(rateLimitHeaders(decision(), { partitionKey: 'käse' })).toEqual([
      ['RateLimit-Policy', '"default";q=100;w=60;pk=:a8Okc2U=:'],
      ['RateLimit', '"default";r=50;t=30;pk=:a8Okc2U=:'],
    ]);
  });

  it('encodes any policy name as a structured string', () => {
    const named = (name: string) => value(rateLimitHeaders(decision({}, state({ name }))), 'RateLimit');
    expect(named('a "b" \\c')).toBe('"a \\"b\\" \\\\c";r=50;t=30');
    expect(named('päck\n')).toBe('"p%C3%A4ck%0A";r=50;t=30');
    expect(named('\ud800')).toBe('"%EF%BF%BD";r=50;t=30');
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (name) => {
        expect(named(name)).toMatch(/^"([ !#-[\]-~]|\\["\\])*";r=50;t=30$/);
      }),
    );
  });

  it('omits t, w or the whole field for infinite values', () => {
    expect(rateLimitHeaders(decision({}, state({ resetAfter: Infinity, window: Infinity })))).toEqual([
      ['RateLimit-Policy', '"default";q=100'],
      ['RateLimit', '"default";r=50'],
    ]);
    expect(rateLimitHeaders(decision({}, state({ limit: Infinity })))).toEqual([]);
  });

  it('encodes a huge or fractional number as a structured integer', () => {
    const pairs = rateLimitHeaders(decision({}, state({ limit: 1e300, remaining: 2.5 })));
    expect(pairs).toEqual([
      ['RateLimit-Policy', '"default";q=999999999999999;w=60'],
      ['RateLimit', '"default";r=2;t=30'],
    ]);
  });

  it('reports 0 remaining units for a manually blocked key', () => {
    const limiter = createLimiter('10/s', { store: memory({ clock: manualClock(0) }) });
    limiter.block('k', '1m');
    expect(rateLimitHeaders(limiter.take('k'))).toEqual([
      ['RateLimit-Policy', '"default";q=10;w=1'],
      ['RateLimit', '"default";r=0;t=60'],
      ['Retry-After', '60'],
    ]);
  });
});

describe('Retry-After', () => {
  it('is never too early, in any style, for any wait', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.001, max: 1e12, noNaN: true }),
        fc.constantFrom<HeaderStyle>('draft-11', 'legacy', 'github', 'sharkey'),
        (wait, style) => {
          const seconds = Number(value(rateLimitHeaders(denied(wait), { style, now: 0 }), 'Retry-After'));
          expect(seconds * 1000).toBeGreaterThanOrEqual(wait - 0.0005);
          expect(seconds * 1000).toBeLessThan(wait + 1000);
        },
      ),
    );
  });

  it('is long enough for the next attempt to pass', () => {
    const clock = manualClock(1_700_000_000_000.4);
    const limiter = createLimiter(gcra({ limit: 7, per: '1m' }), { store: memory({ clock }) });
    for (let i = 0; i < 7; i++) limiter.take('k');
    const refused = limiter.take('k');
    clock.advance(Number(value(rateLimitHeaders(refused), 'Retry-After')) * 1000);
    expect(limiter.take('k').allowed).toBe(true);
  });

  it('is absent if a retry can never pass, and if the request was allowed', () => {
    for (const style of ['draft-11', 'legacy', 'github', 'sharkey'] as const) {
      expect(value(rateLimitHeaders(denied(Infinity), { style }), 'Retry-After')).toBeUndefined();
      expect(value(rateLimitHeaders(decision(), { style }), 'Retry-After')).toBeUndefined();
    }
  });
});

describe('the header style', () => {
  it('legacy gives the reset in seconds from now', () => {
    expect(rateLimitHeaders(denied(1500, { resetAfter: 30_001 }), { style: 'legacy' })).toEqual([
      ['X-RateLimit-Limit', '100'],
      ['X-RateLimit-Remaining', '0'],
      ['X-RateLimit-Reset', '31'],
      ['Retry-After', '2'],
    ]);
  });

  it('github gives the reset in seconds since 1970', () => {
    expect(rateLimitHeaders(decision(), { style: 'github', now: 1_700_000_000_500 })).toEqual([
      ['X-RateLimit-Limit', '100'],
      ['X-RateLimit-Remaining', '50'],
      ['X-RateLimit-Reset', '1700000031'],
    ]);
    const before = Date.now();
    const [, , reset] = rateLimitHeaders(decision(), { style: 'github' });
    expect(Number(reset?.[1]) * 1000 - before).toBeGreaterThan(29_000);
  });

  it('sharkey produces the headers that were recorded from Sharkey', () => {
    interface Recorded {
      readonly info: Readonly<Record<'remaining' | 'resetMs' | 'fullResetMs', number>> & {
        readonly blocked: boolean;
      };
      readonly headers: readonly (readonly [string, string])[];
    }
    const { headers } = load<{ headers: readonly Recorded[] }>('sharkey');
    expect(headers.length).toBeGreaterThan(10);
    for (const { info, headers: recorded } of headers) {
      const retryAfter = info.blocked ? info.resetMs : 0;
      const policy = state({ remaining: info.remaining, retryAfter, resetAfter: info.fullResetMs });
      expect(rateLimitHeaders(decision({ allowed: !info.blocked }, policy), { style: 'sharkey' })).toEqual(
        recorded,
      );
    }
  });

  it('that is listed first wins if several styles set the same header', () => {
    expect(rateLimitHeaders(denied(500), { style: ['draft-11', 'sharkey', 'legacy'] })).toEqual([
      ['RateLimit-Policy', '"default";q=100;w=60'],
      ['RateLimit', '"default";r=0;t=1'],
      ['X-RateLimit-Clear', '30.000'],
      ['X-RateLimit-Remaining', '0'],
      ['Retry-After', '1'],
      ['X-RateLimit-Reset', '0.500'],
      ['X-RateLimit-Limit', '100'],
    ]);
  });

  it('is rejected if it is unknown or not a string, and so is a misspelled option', () => {
    expect(() => rateLimitHeaders(decision(), { style: 'draft-99' as HeaderStyle })).toThrow(
      expect.objectContaining({ code: 'ERR_CHOICE', option: 'rateLimitHeaders.style', value: 'draft-99' }),
    );
    expect(() => rateLimitHeaders(decision(), { style: 11 as never })).toThrow(
      expect.objectContaining({ code: 'ERR_OPTIONS', option: 'rateLimitHeaders.style', value: 11 }),
    );
    expect(() => rateLimitHeaders(decision(), { styles: 'legacy' } as object)).toThrow(
      expect.objectContaining({ code: 'ERR_UNKNOWN_OPTION' }),
    );
  });
});

describe('problem details', () => {
  it('list only the policies that denied the request', () => {
    const clock = manualClock(0);
    const limiter = createLimiter(
      { burst: gcra({ limit: 1, per: '10s' }), daily: fixedWindow({ limit: 1, per: '1d' }), year: '9/365d' },
      { store: memory({ clock }) },
    );
    limiter.take('k');
    expect(problem(limiter.take('k'))).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Quota exceeded',
      status: 429,
      detail: 'Try again in 86400 s.',
      'violated-policies': ['burst', 'daily'],
    });
  });

  it('have no detail if a retry can never pass', () => {
    expect(problem(denied(Infinity))).not.toHaveProperty('detail');
  });

  it('distinguish a manual block and a failing store from an exhausted quota', () => {
    const types = [
      denied(5),
      { ...denied(5), policy: 'block' },
      { ...denied(5), source: 'fallback' as const },
    ].map((one) => problem(one).type.split('#')[1]);
    expect(types).toEqual(['quota-exceeded', 'abnormal-usage-detected', 'temporary-reduced-capacity']);
  });
});
