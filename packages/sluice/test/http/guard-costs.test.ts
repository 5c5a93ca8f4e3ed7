import { describe, expect, it, vi } from 'vitest';
import {
  createGuard,
  type GuardLimiter,
  type GuardOptions,
  type RequestLike,
  type Verdict,
  type View,
} from '../../src/http/index.ts';
import {
  type AnyLimiter,
  concurrency,
  createLimiter,
  type Decision,
  memory,
  type Policies,
} from '../../src/index.ts';
import { manualClock } from '../../src/testing/index.ts';

type Options = GuardOptions<RequestLike>;

const view: View<RequestLike> = { addressed: (request) => request, identity: (request) => request };
const guardOf = (options: Options | GuardLimiter) => createGuard<RequestLike>(options, view);
const request = (): RequestLike => ({ headers: {}, remoteAddress: '192.0.2.1' });
const done = { status: 200, aborted: false };
const key = () => 'k';

/** A limiter on a clock that does not move, and the verbs that its store has been called with. */
function recorded(policies: Policies, classes = {}) {
  const store = memory({ clock: manualClock(0) });
  const verbs: string[] = [];
  const limiter = createLimiter(policies, {
    name: 'recorded',
    classes,
    store: {
      clock: store.clock,
      apply(hit) {
        verbs.push(hit.verb);
        return store.apply(hit);
      },
      close: () => {},
    },
  });
  return { limiter, verbs };
}

const MODEL = {
  requests: '10/h fixed-window',
  tokens: '1000/h fixed-window',
  slots: concurrency({ limit: 4, lease: '1m' }),
};
const model = () => recorded(MODEL);

/** What the key 'k' has used, by policy. */
function used(limiter: Pick<AnyLimiter, 'peek'>): Record<string, number> {
  const { policies } = limiter.peek('k', 0) as Decision;
  return Object.fromEntries(policies.map(({ name, limit, remaining }) => [name, limit - remaining]));
}

describe('a cost by policy', () => {
  it.each([
    ['is an object', { requests: 2, tokens: 300 }],
    ['is returned by a function', () => ({ requests: 2, tokens: 300 })],
    ['is a promise', () => Promise.resolve({ requests: 2, tokens: 300 })],
  ])('that %s charges each named policy its cost, and every other policy 1 unit', async (_, cost) => {
    const { limiter } = model();
    const { decision, refusal } = await guardOf({ limiter, key, cost })(request());
    expect(refusal).toBeUndefined();
    expect(decision?.policies.map(({ taken }) => taken)).toEqual([2, 300, 1]);
    expect(used(limiter)).toEqual({ requests: 2, tokens: 300, slots: 1 });
  });

  it('charges 1 unit to a policy whose name is also a property of every object', async () => {
    const classes = { batch: { keep: { tokens: 1 } } };
    const { limiter } = recorded({ constructor: '10/h fixed-window', tokens: '100/h fixed-window' }, classes);
    await guardOf({ limiter, key, cost: { tokens: 3 }, class: 'batch' })(request());
    expect(used(limiter)).toEqual({ constructor: 1, tokens: 3 });
  });

  it('denies a request if one policy does not have enough left, and charges nothing', async () => {
    const { limiter } = model();
    const { refusal } = await guardOf({ limiter, key, cost: { tokens: 1001 } })(request());
    expect(refusal?.status).toBe(429);
    expect(used(limiter)).toEqual({ requests: 0, tokens: 0, slots: 0 });
  });

  it.each([
    ['an unknown policy', { tokns: 1 }],
    ['a negative cost for a policy', { tokens: -1 }],
    ['NaN', { tokens: Number.NaN }],
  ])('with %s throws ERR_COST and charges nothing', (_, cost) => {
    const { limiter } = model();
    const guard = guardOf({ limiter, key, cost: () => cost });
    expect(() => guard(request())).toThrow(expect.objectContaining({ code: 'ERR_COST' }));
    expect(used(limiter)).toEqual({ requests: 0, tokens: 0, slots: 0 });
  });

  it('is given back completely if a later guard denies the request', async () => {
    const { limiter } = model();
    const asked = request();
    await guardOf({ limiter, key, cost: { tokens: 300 } })(asked);
    expect(used(limiter)).toEqual({ requests: 1, tokens: 300, slots: 1 });
    const { refusal } = await guardOf({ limiter: createLimiter('1/h'), cost: 2 })(asked);
    expect(refusal?.status).toBe(429);
    expect(used(limiter)).toEqual({ requests: 0, tokens: 0, slots: 0 });
  });

  it('that omits the concurrency policy still lets the held place be renewed and released', async () => {
    const { limiter } = model();
    const keep = vi.spyOn(limiter, 'keep');
    const { settle } = await guardOf({ limiter, key, cost: { tokens: 300 } })(request());
    expect(keep.mock.calls[0]?.[1]).not.toHaveProperty('cost');
    await settle?.(done);
    expect(used(limiter)).toEqual({ requests: 1, tokens: 300, slots: 0 });
  });
});

describe('one cost for several limits', () => {
  const user = () => recorded({ requests: '10/h fixed-window' }).limiter;
  const team = () => recorded({ tokens: '1000/h fixed-window' }).limiter;
  const cost = { requests: 2, tokens: 300 };

  it.each([
    ['next to the list of limits', (limits: Options['limits']): Options => ({ cost, limits })],
    ['in each limit', (limits): Options => ({ limits: limits?.map((limit) => ({ ...limit, cost })) })],
    ['as a function', (limits): Options => ({ cost: () => cost, limits })],
  ] as [string, (limits: Options['limits']) => Options][])(
    'given %s charges each limiter for the policies that it has',
    async (_, optionsOf) => {
      const limiters = [user(), team()];
      const guard = guardOf(optionsOf(limiters.map((limiter) => ({ limiter, key }))));
      expect((await guard(request())).refusal).toBeUndefined();
      expect(limiters.map(used)).toEqual([{ requests: 2 }, { tokens: 300 }]);
    },
  );

  it('is computed and settled once per request', async () => {
    const limiters = [user(), team()];
    const price = vi.fn(() => cost);
    const settle = vi.fn(() => ({ requests: 1, tokens: 120 }));
    const limits = limiters.map((limiter) => ({ limiter, key }));
    const verdict = await guardOf({ cost: price, settle, limits })(request());
    await verdict.settle?.(done);
    expect([price.mock.calls.length, settle.mock.calls.length]).toEqual([1, 1]);
    expect(limiters.map(used)).toEqual([{ requests: 1 }, { tokens: 120 }]);
  });

  it('does not replace the cost that a limit specifies itself', async () => {
    const limiters = [user(), team()];
    const [first, second] = limiters.map((limiter) => ({ limiter, key }));
    const limits = [first, { ...second, cost: 7 }] as Options['limits'];
    await guardOf({ cost, limits })(request());
    expect(limiters.map(used)).toEqual([{ requests: 2 }, { tokens: 7 }]);
  });

  it('may name policies of a limit that does not apply to the request', async () => {
    const limiters = [user(), team()];
    const limits = limiters.map((limiter, i) => ({ limiter, key: () => i === 0 && 'k' }));
    expect((await guardOf({ cost: () => cost, limits })(request())).refusal).toBeUndefined();
    expect(limiters.map(used)).toEqual([{ requests: 2 }, { tokens: 0 }]);
  });

  it('may name policies that a policy function or a tier adds', async () => {
    const byKey = createLimiter(() => ({ tokens: '1000/h fixed-window' }));
    const byTier = createLimiter(
      { requests: '10/h fixed-window' },
      { tiers: { pro: { dollars: '5/h fixed-window' } } },
    );
    const limits = [
      { limiter: byKey, key },
      { limiter: byTier, key, tier: 'pro' },
    ];
    await guardOf({ cost: { requests: 2, tokens: 300, dollars: 3 }, limits })(request());
    expect(used(byKey)).toEqual({ tokens: 300 });
    expect(byTier.peek('k', { cost: 0, tier: 'pro' }).remaining).toBe(2);
  });

  it('that names a policy that no limit has is rejected, and nothing is charged', async () => {
    const limiters = [user(), team()];
    const limits = limiters.map((limiter) => ({ limiter, key }));
    const guard = guardOf({ cost: () => ({ ...cost, tokns: 1 }), limits });
    await expect((async () => guard(request()))()).rejects.toMatchObject({ code: 'ERR_COST' });
    expect(limiters.map(used)).toEqual([{ requests: 0 }, { tokens: 0 }]);
  });
});

describe('settling a cost by policy', () => {
  async function settled(
    limiter: GuardLimiter & Pick<AnyLimiter, 'peek'>,
    settle: Options['settle'],
    cost: Options['cost'] = { tokens: 300 },
  ) {
    const onUnavailable = vi.fn();
    const verdict = await guardOf({ limiter, key, cost, settle, onUnavailable })(request());
    await verdict.settle?.(done);
    return { used: used(limiter), errors: onUnavailable.mock.calls.map(([, error]) => error.code) };
  }

  it.each([
    ['gives back the difference if less was used', { tokens: 120 }, { requests: 1, tokens: 120, slots: 0 }],
    ['charges the difference if more was used', { tokens: 450 }, { requests: 1, tokens: 450, slots: 0 }],
    [
      'gives everything back if nothing was used',
      { requests: 0, tokens: 0 },
      { requests: 0, tokens: 0, slots: 0 },
    ],
    ['keeps the cost if the result is undefined', undefined, { requests: 1, tokens: 300, slots: 0 }],
  ])('%s', async (_, final, expected) => {
    const { limiter } = model();
    expect(await settled(limiter, () => final)).toEqual({ used: expected, errors: [] });
  });

  it('can correct the charge of individual policies if the cost was given as a number', async () => {
    const { limiter } = model();
    const result = await settled(limiter, () => ({ tokens: 9 }), 3);
    expect(result).toEqual({ used: { requests: 3, tokens: 9, slots: 0 }, errors: [] });
  });

  it('makes one call to the store, whether more or less was used', async () => {
    for (const final of [{ tokens: 450 }, { tokens: 2, requests: 3 }, 7, 0]) {
      const { limiter, verbs } = recorded({ requests: '10/h fixed-window', tokens: '1000/h fixed-window' });
      await settled(limiter, () => final);
      expect(verbs.slice(0, -1)).toEqual(['take', 'settle']);
    }
  });

  it('makes no call to the store if exactly the cost was used', async () => {
    const { limiter, verbs } = recorded('10/h fixed-window');
    await settled(limiter, () => 3, 3);
    expect(verbs.slice(0, -1)).toEqual(['take']);
  });

  it('gives back the charge of this request, not the oldest charge', async () => {
    const clock = manualClock(0);
    const limiter = createLimiter('5/10min sliding-log', { store: memory({ clock }), name: 'logins' });
    const guard = guardOf({ limiter, key, settle: () => 0 });
    limiter.take('k', 4);
    for (let minute = 0; minute < 12; minute++) {
      const verdict = await guard(request());
      await verdict.settle?.(done);
      clock.advance(60_000);
    }
    expect(limiter.peek('k').remaining).toBe(5);
  });

  it.each([
    ['an unknown policy', { tokns: 1 }],
    ['a negative cost for a policy', { tokens: -1 }],
  ])('with %s keeps the cost, releases the place and reports ERR_COST', async (_, final) => {
    const { limiter } = model();
    const result = await settled(limiter, () => final);
    expect(result).toEqual({ used: { requests: 1, tokens: 300, slots: 0 }, errors: ['ERR_COST'] });
  });

  it('reports ERR_COST for a limiter without `settle`, and still releases the place', async () => {
    const limiter = { ...model().limiter, settle: undefined };
    const result = await settled(limiter, () => ({ tokens: 120 }));
    expect(result).toEqual({ used: { requests: 1, tokens: 300, slots: 0 }, errors: ['ERR_COST'] });
  });
});

describe('a class', () => {
  const classes = { batch: { keep: 0.3 } };
  const withClass = () => recorded('10/h fixed-window', classes).limiter;

  it.each([
    ['a name', 'batch'],
    ['a function', () => 'batch'],
    ['a promise', () => Promise.resolve('batch')],
  ] as [string, Options['class']][])(
    'given as %s cannot use the units that it must keep free for other requests',
    async (_, name) => {
      const limiter = withClass();
      const batch = guardOf({ limiter, key, class: name });
      for (let i = 0; i < 7; i++) expect((await batch(request())).refusal).toBeUndefined();
      expect((await batch(request())).refusal?.status).toBe(429);
      expect((await guardOf({ limiter, key })(request())).refusal).toBeUndefined();
    },
  );

  it('applies to requests that are limited by their address', () => {
    const guard = guardOf({ limiter: withClass(), class: 'batch', cost: 8 });
    expect((guard(request()) as Verdict).refusal?.status).toBe(429);
  });

  it('applies to all limits of a list', async () => {
    const limiters = [withClass(), withClass()];
    const limits = limiters.map((limiter, i) => ({ limiter, key, cost: i === 0 ? 1 : 8 }));
    expect((await guardOf({ class: 'batch', limits })(request())).refusal?.status).toBe(429);
    expect((await guardOf({ limits })(request())).refusal).toBeUndefined();
  });

  it('that the limiter does not have is rejected, and nothing is charged', () => {
    const limiter = withClass();
    const guard = guardOf({ limiter, key, class: () => 'bulk' });
    expect(() => guard(request())).toThrow(expect.objectContaining({ code: 'ERR_CHOICE' }));
    expect(used(limiter)).toEqual({ default: 0 });
  });
});
