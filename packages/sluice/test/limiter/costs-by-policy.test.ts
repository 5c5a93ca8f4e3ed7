/** Costs by policy, settle and keep, as a caller of a limiter sees them. */
import { beforeEach, describe, expect, test } from 'vitest';
import {
  concurrency,
  createLimiter,
  type Decision,
  gcra,
  memory,
  penalty,
  type SluiceError,
} from '../../src/index.ts';
import { type ManualClock, manualClock } from '../../src/testing/index.ts';

let clock: ManualClock;

const open = () =>
  createLimiter(
    {
      requests: '60/min',
      tokens: '10_000/min',
      dollars: gcra({ limit: 5, per: '1d' }),
      slots: concurrency({ limit: 2, lease: '1m' }),
    },
    { store: memory({ clock }) },
  );
let limiter: ReturnType<typeof open>;

beforeEach(() => {
  clock = manualClock(1_700_000_000_000);
  limiter = open();
});

const taken = ({ policies }: Decision): number[] => policies.map((state) => state.taken);
const left = ({ policies }: Decision): number[] => policies.map(({ remaining }) => remaining);

/** The code and the option of the error that a call throws. */
function errorOf(call: () => unknown): readonly [code: string, option: string] | undefined {
  try {
    call();
    return undefined;
  } catch (error) {
    const { code, option } = error as SluiceError;
    return [code, option];
  }
}

describe('a cost by policy', () => {
  test('charges each named policy its own cost, and every other policy 1 unit', () => {
    const decision = limiter.take('k', { cost: { tokens: 4200, dollars: 0.06 } });
    expect(decision).toMatchObject({ allowed: true, taken: 4200, at: clock.now(), held: true });
    expect(taken(decision)).toEqual([1, 4200, 0.06, 1]);
    expect(left(decision)).toEqual([59, 5800, 4, 1]);
  });

  test('charges nothing if one policy denies its cost, and retryAfter is the wait for that policy', () => {
    limiter.take('k', { cost: { tokens: 9000 } });
    const decision = limiter.take('k', { cost: { tokens: 2500 } });
    expect(decision).toMatchObject({ allowed: false, taken: 0, policy: 'tokens', at: undefined });
    expect(decision.retryAfter).toBeCloseTo(9000, 3);
    expect(left(decision)).toEqual([59, 1000, 4, 1]);
  });

  test('does not check a policy whose cost is 0', () => {
    limiter.take('k', { cost: { tokens: 10_000 } });
    expect(limiter.take('k', { cost: { tokens: 0 } })).toMatchObject({ allowed: true });
    expect(limiter.take('k', { cost: { requests: 0, tokens: 0, dollars: 0, slots: 0 } })).toMatchObject({
      allowed: true,
      taken: 0,
    });
  });

  test('ignores the cost of a policy that only another tier has', () => {
    const tiered = createLimiter(
      { requests: '10/min' },
      {
        tiers: { pro: { requests: '100/min', tokens: '1000/min' } },
      },
    );
    const cost: Record<string, number> = { requests: 2, tokens: 300 };
    expect(taken(tiered.take('k', { cost }))).toEqual([2]);
    expect(taken(tiered.take('k', { cost, tier: 'pro' }))).toEqual([2, 300]);
  });

  test.each([
    [{ tokens: -1 }, 'ERR_COST', 'cost.tokens'],
    [{ tokens: Number.NaN }, 'ERR_COST', 'cost.tokens'],
    [{ tokens: Infinity }, 'ERR_COST', 'cost.tokens'],
    [{ tokens: 2 ** 54 }, 'ERR_COST', 'cost.tokens'],
    [{ token: 1 }, 'ERR_COST', 'cost.token'],
    [{ tokens: '3' }, 'ERR_COST', 'cost.tokens'],
    [null, 'ERR_COST', 'cost'],
  ])('is rejected if it is %o, and nothing is charged', (cost, code, option) => {
    const given = { cost: cost as unknown as number };
    for (const verb of ['take', 'peek', 'refund', 'release', 'reserve'] as const)
      expect(errorOf(() => limiter[verb]('k', given))).toEqual([code, option]);
    expect(left(limiter.peek('k'))).toEqual([60, 10_000, 5, 2]);
  });

  test("is rejected for a penalty, which counts denials, and in mode 'partial'", () => {
    const penalized = createLimiter({
      rate: '5/s',
      strikes: penalty({ after: 3, within: '1m', block: '1m' }),
    });
    expect(errorOf(() => penalized.take('k', { cost: { strikes: 1 } }))).toEqual([
      'ERR_COST',
      'cost.strikes',
    ]);
    expect(errorOf(() => limiter.take('k', { cost: { tokens: 2 }, mode: 'partial' }))).toEqual([
      'ERR_COST',
      'cost',
    ]);
  });
});

describe('settle', () => {
  test('charges a key that was never charged before', () => {
    expect(left(limiter.settle('new', { charged: 0, used: { tokens: 300 } }))[1]).toBe(9700);
    expect(left(limiter.peek('new'))[1]).toBe(9700);
  });

  test('refunds units that were charged but not used, and charges units that were used beyond the charge', () => {
    const cost = { tokens: 4000, dollars: 1 };
    const first = limiter.take('k', { cost });
    expect(left(limiter.settle('k', { used: { tokens: 1000, dollars: 0.5 }, of: first }))).toEqual([
      59, 9000, 4, 1,
    ]);
    const second = limiter.take('k', { cost });
    const settled = limiter.settle('k', { charged: cost, used: { tokens: 12_000 }, at: second.at });
    expect(left(settled)).toEqual([58, 0, 3, 0]);
    expect(taken(settled)).toEqual([0, 8000, 0, 0]);
    // 13,000 tokens are used, and the limit is 10,000.
    expect(limiter.peek('k', { cost: { tokens: 1, slots: 0 } }).retryAfter).toBeCloseTo(18_006, 0);
  });

  test.each([
    [{ used: 1 }, 'ERR_MISSING_OPTION', 'settle.charged'],
    [{ charged: 1, used: { token: 1 } }, 'ERR_COST', 'used.token'],
    [{ charged: { token: 1 }, used: 1 }, 'ERR_COST', 'charged.token'],
    [{ charged: 1, used: -1 }, 'ERR_COST', 'used'],
    [{ charged: 1 }, 'ERR_COST', 'used'],
    [{ charged: 1, used: 2, at: Number.NaN }, 'ERR_INSTANT', 'at'],
    [{ charged: 1, used: 2, at: 1_700_000_010_001 }, 'ERR_INSTANT', 'at'],
    [{ charged: 1, used: 2, at: 1, of: {} }, 'ERR_UNKNOWN_OPTION', 'at'],
  ])('throws for %o and charges nothing', (options, code, option) => {
    expect(errorOf(() => limiter.settle('k', options as never))).toEqual([code, option]);
    expect(left(limiter.peek('k'))).toEqual([60, 10_000, 5, 2]);
  });

  test('accepts a charge time up to ten seconds in the future, because clocks differ', () => {
    expect(errorOf(() => limiter.settle('k', { charged: 1, used: 1, at: clock.now() + 10_000 }))).toBe(
      undefined,
    );
  });
});

describe('run with settle', () => {
  const cost = { tokens: 4000 };
  const tokens = () => limiter.peek('k').policies.map(({ remaining }) => remaining);

  test('charges what the call used, and releases its place', async () => {
    const result = await limiter.run('k', async () => ({ usage: 1500 }), {
      cost,
      settle: (answer) => ({ tokens: answer?.usage }),
    });
    expect(result).toEqual({ usage: 1500 });
    expect(tokens()).toEqual([59, 8500, 4, 2]);
  });

  test('refunds the whole charge if the call throws and settle returns undefined', async () => {
    const failing = limiter.run('k', () => Promise.reject(new Error('no')), {
      cost,
      settle: () => undefined,
    });
    await expect(failing).rejects.toThrow('no');
    expect(tokens()).toEqual([60, 10_000, 5, 2]);
  });

  test('charges what settle returns if the call throws', async () => {
    const settle = (_: unknown, error?: unknown) => (error === undefined ? undefined : { tokens: 300 });
    await expect(limiter.run('k', () => Promise.reject(new Error('no')), { cost, settle })).rejects.toThrow(
      'no',
    );
    expect(tokens()).toEqual([59, 9700, 4, 2]);
  });

  test('keeps the charge if settle returns undefined, or if there is no settle', async () => {
    await limiter.run('k', () => 1, { cost, settle: () => undefined });
    await limiter.run('k', () => 1, { cost });
    expect(tokens()).toEqual([58, 2000, 3, 2]);
  });

  test('rejects with the error that settle throws, and releases the place', async () => {
    const settle = () => {
      throw new Error('wrong usage');
    };
    await expect(limiter.run('k', () => 1, { cost, settle })).rejects.toThrow('wrong usage');
    expect(tokens()).toEqual([59, 6000, 4, 2]);
  });
});

describe('keep', () => {
  test('is a fraction of each limit, or a number of units, for all policies or by name', () => {
    const half = createLimiter('10/min', { store: memory({ clock }) });
    expect(half.take('k', { cost: 7, keep: 0.3 }).allowed).toBe(true);
    expect(half.take('k', { keep: 0.3 })).toMatchObject({ allowed: false, retryAfter: 6000 });
    expect(half.take('k', { keep: 2 }).allowed).toBe(true);
    expect(half.take('k', { keep: { default: 2 } }).allowed).toBe(false);
    expect(half.take('k', 2).allowed).toBe(true);
  });

  test('can be set for a class of calls', () => {
    const classes = { batch: { keep: { tokens: 0.5 } } };
    const classed = createLimiter({ requests: '60/min', tokens: '10_000/min' }, { classes });
    expect(classed.take('k', { cost: { tokens: 6000 }, class: 'batch' }).allowed).toBe(false);
    expect(classed.take('k', { cost: { tokens: 5000 }, class: 'batch' }).allowed).toBe(true);
    expect(errorOf(() => classed.take('k', { class: 'bulk' }))).toEqual(['ERR_CHOICE', 'class']);
    expect(errorOf(() => classed.take('k', { class: 'batch', keep: 1 }))).toEqual([
      'ERR_UNKNOWN_OPTION',
      'keep',
    ]);
  });

  test.each([-1, Number.NaN, 1.5, Infinity, '0.3'])('charges nothing and throws if it is %s', (keep) => {
    for (const verb of ['take', 'peek', 'reserve'] as const)
      expect(errorOf(() => limiter[verb]('k', { keep: keep as number }))).toEqual(['ERR_NUMBER', 'keep']);
    const classes = { batch: { keep: keep as number } };
    expect(errorOf(() => createLimiter('5/s', { classes }))).toEqual([
      'ERR_NUMBER',
      'createLimiter.classes.batch.keep',
    ]);
    expect(left(limiter.peek('k'))).toEqual([60, 10_000, 5, 2]);
  });

  test('throws if it names a policy that does not exist', () => {
    expect(errorOf(() => limiter.take('k', { keep: { token: 1 } as never }))).toEqual([
      'ERR_COST',
      'keep.token',
    ]);
  });

  test('makes acquire wait until enough units are left', async () => {
    const half = createLimiter('10/min', { store: memory({ clock }) });
    half.take('k', 8);
    let isDone = false;
    const waiting = half.acquire('k', { keep: 0.3 }).then(() => {
      isDone = true;
    });
    clock.advance(11_999);
    await Promise.resolve();
    expect(isDone).toBe(false);
    clock.advance(1);
    await waiting;
    expect(half.peek('k').remaining).toBe(3);
  });
});
