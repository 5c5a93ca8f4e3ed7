/** Tests `keep` and `classes`, which make calls leave a part of the limit free for other calls. */
import { describe, expect, test } from 'vitest';
import { createLimiter, memory, type Policies } from '../../src/index.ts';
import { manualClock } from '../../src/testing/index.ts';
import { CASES } from '../support/policies.ts';

const START = 1_700_000_000_000;
const LIMIT = 100;
const SECOND = 1000;
const SECONDS = 4;

interface Call {
  readonly at: number;
  readonly of: 'batch' | 'interactive';
}

/** Sends five batch calls per millisecond, and as many interactive calls in each millisecond as `share` returns. */
function simulate(policy: string, share: (ms: number) => number) {
  const clock = manualClock(START);
  const limiter = createLimiter(policy, { store: memory({ clock }), classes: { batch: { keep: 0.3 } } });
  const admitted: Call[] = [];
  let denied = 0;
  for (let ms = 0; ms < SECONDS * SECOND; ms++) {
    for (let i = 0; i < 5; i++)
      if (limiter.take('model', { class: 'batch' }).allowed) admitted.push({ at: ms, of: 'batch' });
    for (let i = 0; i < share(ms); i++) {
      if (limiter.take('model').allowed) admitted.push({ at: ms, of: 'interactive' });
      else denied++;
    }
    clock.advance(1);
  }
  return { admitted, denied };
}

/** The most calls that were admitted within any second. */
function mostInASecond(calls: readonly Call[]): number {
  let first = 0;
  let most = 0;
  for (let last = 0; last < calls.length; last++) {
    while (calls[first].at <= calls[last].at - SECOND) first++;
    most = Math.max(most, last - first + 1);
  }
  return most;
}

const only = (of: Call['of'], calls: readonly Call[]) => calls.filter((call) => call.of === of);
const none = () => 0;
/** All 30 calls of the interactive share, at the start of each second. */
const inBursts = (ms: number) => (ms % SECOND === 0 ? 30 : 0);
/** 25 calls per second, evenly spaced. */
const evenly = (ms: number) => (ms % 40 === 0 ? 1 : 0);

describe('a flood of batch calls at a limit of 100 calls per second', () => {
  test.each([
    ['sliding-log', 'in bursts', inBursts, LIMIT],
    ['sliding-log', 'evenly', evenly, LIMIT],
    // Around the edge between two windows, up to twice the limit is admitted, with or without classes.
    ['fixed-window', 'in bursts', inBursts, 2 * LIMIT],
    ['fixed-window', 'evenly', evenly, 2 * LIMIT],
    ['sliding-window', 'evenly', evenly, 2 * LIMIT],
    // The maximum is the burst plus what is replenished within the second.
    ['gcra', 'in bursts', inBursts, 2 * LIMIT],
    ['gcra', 'evenly', evenly, 2 * LIMIT],
  ] as const)(
    'with keep: 0.3, never causes the denial of an interactive call within its share, and stays within the limit: %s, %s',
    (name, _, share, atMost) => {
      const { admitted, denied } = simulate(`${LIMIT}/s ${name}`, share);
      expect(denied).toBe(0);
      expect(only('interactive', admitted).length).toBeGreaterThanOrEqual(SECONDS * 25);
      expect(only('batch', admitted).length).toBeGreaterThan(SECONDS * 25);
      expect(mostInASecond(admitted)).toBeLessThanOrEqual(atMost);
    },
  );

  test('with keep: 0, causes the denial of an interactive call', () => {
    const clock = manualClock(START);
    const limiter = createLimiter(`${LIMIT}/s sliding-log`, {
      store: memory({ clock }),
      classes: { batch: { keep: 0 } },
    });
    limiter.take('model', { cost: LIMIT, class: 'batch' });
    expect(limiter.take('model').allowed).toBe(false);
  });

  test.each(['sliding-log', 'fixed-window'])(
    'with keep: 0.3, reaches 70 calls per second if there are no interactive calls: %s',
    (name) => {
      const { admitted } = simulate(`${LIMIT}/s ${name}`, none);
      expect(admitted).toHaveLength(SECONDS * 70);
      if (name === 'sliding-log') expect(mostInASecond(admitted)).toBe(70);
    },
  );

  test('with gcra and keep: 0.3, uses 70 % of the burst and then the whole rate if there are no interactive calls', () => {
    const { admitted } = simulate(`${LIMIT}/s gcra`, none);
    // After the burst, one call passes every 10 ms. The last instant of the simulation is not a multiple of 10 ms.
    expect(admitted).toHaveLength(70 + SECONDS * LIMIT - 1);
    expect(admitted.filter(({ at }) => at < 20)).toHaveLength(71);
  });

  test('with gcra and keep: 0.3, is denied completely while interactive calls use the full rate', () => {
    const { admitted, denied } = simulate(`${LIMIT}/s gcra`, (ms) => (ms % 10 === 0 ? 1 : 0));
    expect(denied).toBe(0);
    expect(
      only(
        'batch',
        admitted.filter(({ at }) => at >= SECOND),
      ),
    ).toEqual([]);
  });
});

describe('retryAfter of a call with the option keep', () => {
  /** Policies that admit any cost cannot keep units free, and penalties have no cost. */
  const WITHOUT_UNITS = /pacer|min interval|penalty/;
  const cases = Object.entries(CASES).filter(([name]) => !WITHOUT_UNITS.test(name));
  const keeps = [0.3, 0.5, 1, 2];

  test.each(cases)('is the exact time until the call is allowed: %s', (_, { policies }) => {
    let waits = 0;
    for (const keep of keeps) waits += checkWaits(policies, keep);
    expect(waits).toBeGreaterThan(0);
  });

  /** Takes until denied, waits as announced, and repeats this from many instants. Returns how often it waited. */
  function checkWaits(policies: Policies, keep: number): number {
    let waits = 0;
    const clock = manualClock(START + 123.25);
    const limiter = createLimiter(policies, { store: memory({ clock }) });
    for (let round = 0; round < 40; round++) {
      const cost = 1 + (round % 2);
      const decision = limiter.take('a', { cost, keep });
      clock.advance(round % 3 === 0 ? 17.5 : 0);
      if (decision.allowed) continue;
      const { allowed, retryAfter } = limiter.peek('a', { cost, keep });
      if (allowed || retryAfter === Infinity) continue;
      const due = clock.now() + retryAfter;
      clock.set(due - 0.01);
      expect(limiter.peek('a', { cost, keep }).allowed).toBe(false);
      clock.set(due);
      expect(limiter.peek('a', { cost, keep }).allowed).toBe(true);
      expect(limiter.take('a', { cost, keep }).taken).toBe(cost);
      waits++;
    }
    return waits;
  }

  test.each(cases)('is Infinity if the cost can never leave the kept units free: %s', (_, { policies }) => {
    const limiter = createLimiter(policies, { store: memory({ clock: manualClock(START) }) });
    const { limit } = limiter.peek('a');
    expect(limiter.take('a', { cost: limit, keep: 1 }).retryAfter).toBe(Infinity);
    expect(limiter.take('a', { cost: limit - 1, keep: 1 }).allowed).toBe(true);
  });

  test.each(Object.entries(CASES).filter(([name]) => /pacer|min interval/.test(name)))(
    'does not depend on the option keep if the policy admits any cost: %s',
    (_, { policies }) => {
      const limiter = createLimiter(policies, { store: memory({ clock: manualClock(START) }) });
      expect(limiter.take('a', { cost: 5, keep: 0.9 }).allowed).toBe(true);
      const { retryAfter } = limiter.peek('a');
      expect(limiter.peek('a', { keep: 0.9 }).retryAfter).toBe(retryAfter);
    },
  );
});

describe('keep', () => {
  const open = () =>
    createLimiter({ requests: '10/h', tokens: '1000/h' }, { classes: { batch: { keep: 0.3 } } });

  test('is a fraction of each limit, or a number of units', () => {
    expect(open().take('a', { cost: { requests: 7, tokens: 700 }, keep: 0.3 }).allowed).toBe(true);
    expect(open().take('a', { cost: { requests: 8, tokens: 700 }, keep: 0.3 }).policy).toBe('requests');
    expect(open().take('a', { cost: { requests: 7, tokens: 701 }, keep: 0.3 }).policy).toBe('tokens');
    expect(open().take('a', { cost: 9, keep: 1 }).allowed).toBe(true);
    expect(open().take('a', { cost: 9, keep: 2 }).allowed).toBe(false);
  });

  test('applies only to the policies that it names', () => {
    expect(open().take('a', { cost: { requests: 10, tokens: 900 }, keep: { tokens: 100 } }).allowed).toBe(
      true,
    );
    expect(open().take('a', { cost: { requests: 10, tokens: 901 }, keep: { tokens: 100 } }).allowed).toBe(
      false,
    );
  });

  test('does not apply to a policy for which the call costs 0', () => {
    const limiter = open();
    limiter.take('a', { cost: { requests: 10, tokens: 0 } });
    expect(limiter.take('a', { cost: { requests: 0, tokens: 5 }, class: 'batch' }).allowed).toBe(true);
  });

  test('leaves units free in mode partial', () => {
    const limiter = createLimiter('10/h', { classes: { batch: { keep: 4 } } });
    expect(limiter.take('a', { cost: 10, mode: 'partial', class: 'batch' }).taken).toBe(6);
    expect(limiter.take('a', { cost: 10, mode: 'partial' }).taken).toBe(4);
  });

  test('makes acquire wait until the call would leave the kept units free', async () => {
    const clock = manualClock(START);
    const limiter = createLimiter('10/s', { store: memory({ clock }), classes: { batch: { keep: 0.5 } } });
    limiter.take('a', 10);
    const waiting = limiter.acquire('a', { class: 'batch' });
    clock.advance(599);
    expect(limiter.peek('a').remaining).toBe(5);
    clock.advance(1);
    expect((await waiting).allowed).toBe(true);
    expect(limiter.peek('a').remaining).toBe(5);
  });

  test.each([
    [{ class: 'bulk' }, 'ERR_CHOICE'],
    [{ class: 'batch', keep: 0.1 }, 'ERR_UNKNOWN_OPTION'],
    [{ keep: 1.5 }, 'ERR_NUMBER'],
    [{ keep: -0.1 }, 'ERR_NUMBER'],
    [{ keep: Number.NaN }, 'ERR_NUMBER'],
    [{ keep: { tokens: 1.5 } }, 'ERR_NUMBER'],
  ])('charges nothing and throws if it is invalid: %o', (options, code) => {
    const limiter = open();
    expect(() => limiter.take('a', options)).toThrow(expect.objectContaining({ code }));
    expect(limiter.peek('a').remaining).toBe(10);
  });
});
