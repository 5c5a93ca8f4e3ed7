/** Tests takeMany in memory, where every call is decided in one step. */
import { describe, expect, test } from 'vitest';
import {
  concurrency,
  createLimiter,
  type Decision,
  type ManyItem,
  memory,
  metered,
  penalty,
  type Store,
} from '../../src/index.ts';
import { manualClock } from '../../src/testing/index.ts';

const START = 1_700_000_000_000;

function stores() {
  const clock = manualClock(START);
  return { clock, store: memory({ clock }) };
}

describe('takeMany on one store', () => {
  test('charges the user, the team and the organization, or none of them', () => {
    const { store } = stores();
    const [users, teams, orgs] = ['user', 'team', 'org'].map((name, i) =>
      createLimiter(`${[10, 3, 100][i]}/h`, { store, name }),
    );
    const items = (user: string): ManyItem<Decision>[] => [
      { key: user },
      { limiter: teams, key: 'blue' },
      { limiter: orgs, key: 'acme', cost: 2 },
    ];
    const answers = ['ann', 'bob', 'ann', 'bob'].map((user) => users.takeMany(items(user)));
    expect(answers.map(({ allowed, taken, atomic }) => [allowed, taken, atomic])).toEqual([
      [true, 4, true],
      [true, 4, true],
      [true, 4, true],
      [false, 0, true],
    ]);
    expect(answers[3].decisions.map(({ allowed, taken, at }) => [allowed, taken, at])).toEqual([
      [true, 0, undefined],
      [false, 0, undefined],
      [true, 0, undefined],
    ]);
    expect(users.peek('ann').remaining).toBe(8);
    expect(users.peek('bob').remaining).toBe(9);
    expect(teams.peek('blue').remaining).toBe(0);
    expect(orgs.peek('acme').remaining).toBe(94);
  });

  test('a denial is counted by the penalty of the item that was denied, and by no other penalty', () => {
    const { store } = stores();
    const policies = { rate: '1/h', strikes: penalty({ after: 2, within: '1h', block: '2h' }) };
    const logins = createLimiter(policies, { store, name: 'logins' });
    const others = createLimiter(policies, { store, name: 'others' });
    const attempt = () => logins.takeMany([{ key: 'ann' }, { limiter: others, key: 'ann' }]);
    expect([attempt(), attempt(), attempt(), attempt()].map(({ allowed }) => allowed)).toEqual([
      true,
      false,
      false,
      false,
    ]);
    expect(logins.peek('ann').policy).toBe('strikes');
    expect(others.peek('ann').policy).toBe('rate');
  });

  test("charges each item's cost for each policy, even if two items have the same key", () => {
    const { store } = stores();
    const limiter = createLimiter(
      { requests: '10/h', tokens: '100/h', strikes: penalty({ after: 5, within: '1h', block: '1h' }) },
      { store, name: 'llm' },
    );
    const { decisions, taken } = limiter.takeMany([
      { key: 'ann', cost: { tokens: 30 } },
      { key: 'ann', cost: { requests: 2, tokens: 0 } },
      { key: 'ann', cost: 3 },
    ]);
    expect(decisions.map(({ policies }) => policies.map((state) => state.taken))).toEqual([
      [1, 30, 0],
      [2, 0, 0],
      [3, 3, 0],
    ]);
    expect(taken).toBe(35);
    expect(limiter.peek('ann').policies.map(({ remaining }) => remaining)).toEqual([4, 67, Infinity]);
    for (const of of decisions) limiter.refund('ann', { of });
    expect(limiter.peek('ann').policies.map(({ remaining }) => remaining)).toEqual([10, 100, Infinity]);
  });

  test('an item passes only if the units of its `keep` are still free after all items with the same key are charged', () => {
    const { store } = stores();
    const limiter = createLimiter('10/h', { store, name: 'kept', classes: { batch: { keep: 0.5 } } });
    const batch = (cost: number) =>
      limiter.takeMany([{ key: 'ann', cost, class: 'batch' }, { key: 'ann' }, { key: 'bob', keep: 9 }])
        .allowed;
    expect([batch(5), batch(4), batch(1)]).toEqual([false, true, false]);
    expect(limiter.peek('ann').remaining).toBe(5);
    expect(limiter.takeMany([{ key: 'ann' }, { key: 'bob' }]).allowed).toBe(true);
  });

  test('an item that costs nothing is charged nothing but can deny', () => {
    const { store } = stores();
    const limiter = createLimiter('1/h', { store, name: 'free' });
    limiter.block('bob', '1h');
    expect(limiter.takeMany([{ key: 'ann' }, { key: 'bob', cost: 0 }]).allowed).toBe(false);
    limiter.unblock('bob');
    const { allowed, decisions } = limiter.takeMany([{ key: 'ann' }, { key: 'bob', cost: 0 }]);
    expect([allowed, ...decisions.map(({ taken }) => taken)]).toEqual([true, 1, 0]);
  });

  test('takes and releases places', () => {
    const { store } = stores();
    const jobs = createLimiter(concurrency({ limit: 1, lease: '1m' }), { store, name: 'jobs' });
    const rate = createLimiter('5/h', { store, name: 'rate' });
    const start = () => rate.takeMany([{ key: 'ann' }, { limiter: jobs, key: 'ann' }]);
    const first = start();
    expect([first.allowed, start().allowed]).toEqual([true, false]);
    expect(first.decisions.map(({ held }) => held)).toEqual([undefined, true]);
    jobs.release('ann', { of: first.decisions[1] });
    expect(start().allowed).toBe(true);
    expect(rate.peek('ann').remaining).toBe(3);
  });

  test('rejects an invalid item before anything is charged', () => {
    const { store } = stores();
    const limiter = createLimiter({ requests: '5/h' }, { store, name: 'checked' });
    const code = (item: object): unknown => {
      try {
        return limiter.takeMany([{ key: 'ann' }, item as ManyItem<Decision>]).allowed;
      } catch (error) {
        return (error as { code?: unknown }).code;
      }
    };
    expect([
      code({ key: 'bob', tier: 'none' }),
      code({ key: 'bob', cost: { tokens: 1 } }),
      code({ key: 'bob', cost: -1 }),
      code({ key: 'bob', keep: 1.5 }),
      code({ key: 'bob', class: 'none' }),
      code({ key: undefined }),
    ]).toEqual(['ERR_TIER', 'ERR_COST', 'ERR_COST', 'ERR_NUMBER', 'ERR_CHOICE', 'ERR_KEY']);
    expect(limiter.peek('ann').remaining).toBe(5);
  });

  test('observers see a denied call as one denial and as peeks at the other keys', () => {
    const { store } = stores();
    const seen: unknown[] = [];
    const observed = metered(store, {
      decided: ({ verb, key }, { allowed }, outcome) => seen.push([verb, key, allowed, outcome]),
    });
    const limiter = createLimiter('1/h', { store: observed, name: 'seen' });
    const asked = [
      limiter.takeMany([{ key: 'a' }, { key: 'b' }]),
      limiter.takeMany([{ key: 'b' }, { key: 'c' }]),
    ];
    expect(asked.map(({ atomic }) => atomic)).toEqual([true, true]);
    expect(seen).toEqual([
      ['take', 'a', true, 'allowed'],
      ['take', 'b', true, 'allowed'],
      ['take', 'b', false, 'denied'],
      ['peek', 'c', true, undefined],
    ]);
  });
});

describe('takeMany is not decided in one step', () => {
  test('if limiters are on different stores, and still charges all or none', () => {
    const [one, two] = [stores(), stores()];
    const wide = createLimiter('5/h', { store: one.store, name: 'wide' });
    const narrow = createLimiter('1/h', { store: two.store, name: 'narrow' });
    const items = [{ key: 'ann' }, { limiter: narrow, key: 'ann' }];
    expect([wide.takeMany(items), wide.takeMany(items)]).toMatchObject([
      { allowed: true, taken: 2, atomic: false },
      { allowed: false, taken: 0, atomic: false },
    ]);
    expect(wide.peek('ann').remaining).toBe(4);
  });

  test('if a key occurs in two tiers, which share a row', () => {
    const { store } = stores();
    const limiter = createLimiter('3/h', { store, name: 'tiers', tiers: { pro: '4/h' } });
    const items = [
      { key: 'ann', cost: 2 },
      { key: 'ann', cost: 2, tier: 'pro' },
    ];
    expect(limiter.takeMany(items)).toMatchObject({ allowed: true, atomic: false });
    expect(limiter.takeMany(items)).toMatchObject({ allowed: false, atomic: false });
    expect(limiter.peek('ann', { tier: 'pro' }).remaining).toBe(0);
  });

  test('if the application has wrapped a limiter or the store, because the wrapper must see every hit', () => {
    const { store } = stores();
    const verbs: string[] = [];
    const watched: Store<Decision> = {
      ...store,
      apply(hit) {
        verbs.push(hit.verb);
        return store.apply(hit);
      },
    };
    const limiter = createLimiter('5/h', { store: watched, name: 'watched' });
    expect(limiter.takeMany([{ key: 'a' }, { key: 'b' }]).atomic).toBe(false);
    expect(verbs).toEqual(['peek', 'peek', 'take', 'take']);
    const plain = createLimiter('5/h', { store, name: 'plain' });
    let takes = 0;
    const wrapped: typeof plain = {
      ...plain,
      take(key, options) {
        takes++;
        return plain.take(key, options);
      },
    };
    expect(plain.takeMany([{ limiter: wrapped, key: 'a', keep: 2 }, { key: 'b' }]).atomic).toBe(false);
    expect(takes).toBe(1);
  });

  test('if the application has wrapped the store, unless all items have one key, for which a single take is enough', () => {
    const { store } = stores();
    const verbs: string[] = [];
    const watched: Store<Decision> = {
      ...store,
      apply(hit) {
        verbs.push(hit.verb);
        return store.apply(hit);
      },
    };
    const limiter = createLimiter('5/h', { store: watched, name: 'one' });
    expect(limiter.takeMany([{ key: 'a' }, { key: 'a', cost: 2 }])).toMatchObject({ taken: 3, atomic: true });
    expect(verbs).toEqual(['take']);
  });
});
