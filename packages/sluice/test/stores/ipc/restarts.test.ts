import { once } from 'node:events';
import { appendFileSync, statSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  concurrency,
  createLimiter,
  type Decision,
  type Limiter,
  memory,
  penalty,
  slidingLog,
  type Store,
} from '../../../src/index.ts';
import { ipc } from '../../../src/stores/ipc/index.ts';
import { manualClock } from '../../../src/testing/index.ts';
import { type Answer, type Checker, checker, socketPath } from './processes.ts';

const total = (answers: readonly Answer[]) => answers.reduce((sum, { admitted }) => sum + admitted, 0);

/** Ends a process in the given way. Only with 'close' can its store do anything before the process ends. */
async function end({ child }: Checker, how: string): Promise<void> {
  const gone = once(child, 'exit');
  if (how.startsWith('SIG')) child.kill(how as NodeJS.Signals);
  else child.send({ end: how });
  await gone;
}

describe.each(['close', 'exit', 'SIGTERM', 'SIGKILL'])(
  'when processes are stopped by %s',
  { timeout: 60_000 },
  (how) => {
    test('four rolling restarts admit exactly 10 hits at a limit of 10', async () => {
      const options = { path: socketPath(), onFailure: 'deny' };
      const processes = [await checker(options), await checker(options)];
      let admitted = 0;
      for (let restart = 0; restart <= 4; restart++) {
        for (const one of processes)
          admitted += (await one.ask({ limit: 10, key: 'alice', lanes: 2, checks: 10 })).admitted;
        // The oldest process serves.
        const [oldest] = processes.splice(0, 1);
        processes.push(await checker(options));
        await end(oldest, how);
      }
      expect(admitted).toBe(10);
    });

    test('a single process that restarts keeps its counts', async () => {
      const options = { path: socketPath(), onFailure: 'deny' };
      let admitted = 0;
      for (let restart = 0; restart < 4; restart++) {
        const only = await checker(options);
        const answer = await only.ask({ limit: 10, key: 'alice', lanes: 1, checks: 4 });
        expect(answer.sources).toEqual({ store: 4 });
        admitted += answer.admitted;
        await end(only, how);
      }
      expect(admitted).toBe(10);
    });

    test('checks in flight are neither lost nor counted twice', async () => {
      const options = { path: socketPath(), deadline: '20s', onFailure: 'deny' };
      const processes = await Promise.all([1, 2, 3].map(() => checker(options)));
      const first = await checker(options);
      await first.ask({ limit: 10, key: 'warm', lanes: 1, checks: 1 });
      const limit = 4000;
      const answers = Promise.all(
        processes.slice(1).map((one) => one.ask({ limit, key: 'k', lanes: 8, checks: 3000 })),
      );
      await end(processes[0], how);
      const all = await answers;
      const failed = all.reduce((sum, { sources }) => sum + (sources['fallback'] ?? 0), 0);
      expect(total(all)).toBeLessThanOrEqual(limit);
      // A check that was decided but not answered when the process ended was counted, although it failed.
      expect(total(all)).toBeGreaterThanOrEqual(limit - failed);
      expect(failed).toBeLessThanOrEqual(2 * 8);
    });
  },
);

test('no check fails while the serving process is busy for 300 ms at a time', {
  timeout: 60_000,
}, async () => {
  const options = { path: socketPath(), onFailure: 'deny' };
  const server = await checker(options);
  await server.ask({ limit: 5, key: 'warm', lanes: 1, checks: 1 });
  const client = await checker({ ...options, serve: false });
  server.child.send({ end: 'busy' });
  const answer = await client.ask({ limit: 1e6, key: 'k', lanes: 20, checks: 1154 });
  expect(answer.sources).toEqual({ store: 1154 });
});

describe('a process that takes over', () => {
  /** A store with its own rows that serves on the path. It restores the state that its predecessor left beside the socket. */
  async function serving(path: string, clock = manualClock(1_700_000_000_000)) {
    const rows = memory({ clock });
    const store = ipc({ path, store: rows, deadline: '20s' });
    await createLimiter('1/s', { store, name: 'other' }).peek('k');
    return { rows, store };
  }

  test('restores rows of every kind, whether the file contains logged hits or cells', async () => {
    const path = socketPath();
    const clock = manualClock(1_700_000_000_000);
    const limitersOf = (store: Store<Promise<Decision>>): Limiter<Promise<Decision>>[] => [
      createLimiter('10/h', { store, name: 'gcra' }),
      createLimiter(slidingLog({ limit: 20, per: '1h' }), { store, name: 'log' }),
      createLimiter(
        { a: '20/h sliding-window', b: concurrency({ limit: 5, lease: '1h' }) },
        { store, name: 'two' },
      ),
      createLimiter(
        { rate: '1/h', strikes: penalty({ after: 3, within: '1h', block: '1h' }) },
        { store, name: 'strikes' },
      ),
      // These limiters have more than four sets of limits on one row.
      ...[1, 2, 3, 4, 5, 6].map((n) => createLimiter(`${n + 10}/h`, { store, name: 'many' })),
    ];
    const seen = async (store: Store<Promise<Decision>>) => {
      const states: unknown[] = [];
      for (const limiter of limitersOf(store))
        for (const key of ['a', 'b', 'blocked', 'reset']) states.push(await limiter.peek(key));
      return states;
    };
    const first = await serving(path, clock);
    for (const limiter of limitersOf(first.store)) {
      for (const key of ['a', 'a', 'a', 'a', 'b', 'reset']) await limiter.take(key);
      await limiter.block('blocked', '1h');
      await limiter.reset('reset');
    }
    const before = await seen(first.store);
    await first.store.close();
    // The second store reads logged hits and writes cells. The third store reads these cells.
    for (let i = 0; i < 2; i++) {
      const next = await serving(path, clock);
      expect(await seen(next.store)).toEqual(before);
      await next.store.close();
    }
  });

  test('keeps the file short and readable only by its owner', async () => {
    const path = socketPath();
    const first = await serving(path);
    const limiter = createLimiter('1000000/h', { store: first.store, name: 'api' });
    for (let i = 0; i < 1000; i++)
      await Promise.all(Array.from({ length: 100 }, (_, j) => limiter.take(`key ${j}`.padEnd(100, '.'))));
    expect(statSync(`${path}.state`).size).toBeLessThan(5 * 2 ** 20);
    expect(statSync(`${path}.state`).mode & 0o777).toBe(0o600);
    await first.store.close();
    const next = await serving(path);
    expect(
      (await createLimiter('1000000/h', { store: next.store, name: 'api' }).peek('key 7'.padEnd(100, '.')))
        .remaining,
    ).toBe(999_000);
    await next.store.close();
  });

  test('ignores an incomplete last line', async () => {
    const path = socketPath();
    const first = await serving(path);
    await createLimiter('10/h', { store: first.store, name: 'api' }).take('k', 3);
    await first.store.close();
    appendFileSync(`${path}.state`, '[17000000');
    const next = await serving(path);
    expect((await createLimiter('10/h', { store: next.store, name: 'api' }).peek('k')).remaining).toBe(7);
    await next.store.close();
  });

  test('warns and starts from scratch if it cannot read the file', async () => {
    const path = socketPath();
    writeFileSync(`${path}.state`, 'something else\n');
    const warned = once(process, 'warning');
    const next = await serving(path);
    expect((await createLimiter('10/h', { store: next.store, name: 'api' }).take('k')).remaining).toBe(9);
    expect((await warned)[0]).toMatchObject({ name: 'SluiceWarning', code: 'SLUICE_IPC_STATE' });
    await next.store.close();
  });
});

describe('takeMany over ipc', { timeout: 60_000 }, () => {
  const START = 1_700_000_000_000;
  const policies = { rate: '3/h', strikes: penalty({ after: 2, within: '1h', block: '2h' }) };

  function limitersOn(store: Store<Promise<Decision>>): Limiter<Promise<Decision>>[] {
    return ['users', 'teams'].map((name) => createLimiter(policies, { store, name }));
  }

  test('charges all keys or none, and the next serving process knows what was charged and denied', async () => {
    const path = socketPath();
    const clock = manualClock(START);
    const model = memory({ clock });
    const expected = ['users', 'teams'].map((name) => createLimiter(policies, { store: model, name }));
    for (const user of ['ann', 'bob', 'ann', 'bob', 'bob', 'ann']) {
      // Each call is decided by a different process.
      const store = ipc({ path, store: memory({ clock }), onFailure: 'throw', deadline: '20s' });
      const [users, teams] = limitersOn(store);
      const decision = await users.takeMany([{ key: user }, { limiter: teams, key: 'blue' }]);
      expect(decision).toEqual(expected[0].takeMany([{ key: user }, { limiter: expected[1], key: 'blue' }]));
      for (const [i, key] of [user, 'blue'].entries())
        expect(await [users, teams][i].peek(key)).toEqual(expected[i].peek(key));
      await store.close();
    }
    expect(expected[1].peek('blue').policy).toBe('strikes');
  });

  test('is decided in one step by the serving process, for all processes', async () => {
    const path = socketPath();
    const server = ipc({ path, onFailure: 'throw', deadline: '20s' });
    await createLimiter('1/s', { store: server, name: 'warm' }).peek('k');
    const clients = [1, 2, 3].map(() => ipc({ path, serve: false, onFailure: 'throw', deadline: '20s' }));
    const answers = await Promise.all(
      [server, ...clients].flatMap((store) => {
        const [users, teams] = ['5000/h', '100/h'].map((policy, i) =>
          createLimiter(policy, { store, name: `all ${i}` }),
        );
        return Array.from({ length: 50 }, () =>
          users.takeMany([{ key: 'ann' }, { limiter: teams, key: 'blue' }]),
        );
      }),
    );
    expect(answers.every(({ atomic }) => atomic)).toBe(true);
    expect(answers.filter(({ allowed }) => allowed)).toHaveLength(100);
    expect((await createLimiter('5000/h', { store: server, name: 'all 0' }).peek('ann')).remaining).toBe(
      4900,
    );
    for (const store of [...clients, server]) await store.close();
  });

  test('is decided in two steps if the store of the serving process cannot decide in one step', async () => {
    const rows = memory();
    const own: Store<Decision> = {
      clock: rows.clock,
      apply: (hit) => rows.apply(hit),
      close: () => rows.close(),
    };
    const store = ipc({ path: socketPath(), store: own, onFailure: 'throw' });
    const [users, teams] = limitersOn(store);
    const items = [{ key: 'ann' }, { limiter: teams, key: 'blue', cost: 2 }];
    expect(await users.takeMany(items)).toMatchObject({ allowed: true, atomic: false, taken: 3 });
    expect(await users.takeMany(items)).toMatchObject({ allowed: false, atomic: false });
    expect((await users.peek('ann')).remaining).toBe(2);
    await store.close();
  });
});
