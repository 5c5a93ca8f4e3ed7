/** Tests takes from several keys that are decided in one step, with several stores and processes on a real Postgres. */
import type pg from 'pg';
import sqlOf from 'postgres';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLimiter, fixedWindow, penalty, slidingLog } from '../../../src/index.ts';
import { postgres, type PostgresOptions } from '../../../src/stores/postgres/index.ts';
import { admitters, sum } from '../admitters.ts';
import { type PostgresServer, postgresServer } from 'sluice-test-support/postgres/server.ts';

let server: PostgresServer;
let pool: pg.Pool;
beforeAll(async () => {
  server = await postgresServer();
  pool = server.pool();
}, 60_000);
afterAll(() => server?.stop());

const patient = { deadline: '20s', onFailure: 'throw' } as const;

type Query = (text: string, values: unknown[]) => Promise<{ rows: Record<string, unknown>[] }>;

/** A store whose statements are recorded. `before` runs before each statement is sent. */
function watchedStore(before: (text: string) => unknown = () => {}, options: PostgresOptions = {}) {
  const kinds: string[] = [];
  const query: Query = async (text, values) => {
    kinds.push(kindOf(text));
    await before(kindOf(text));
    return pool.query(text, values);
  };
  return { kinds, store: postgres({ query }, { ...patient, ...options }) };
}

function kindOf(text: string): string {
  if (text.includes('complete')) return 'write all';
  if (text.includes("SELECT key, ''")) return 'insert empty';
  return text.startsWith('SELECT') ? 'read' : 'other';
}

const rowsLike = async (pattern: string) =>
  (await pool.query(`SELECT key, version, value FROM sluice WHERE key LIKE $1 ORDER BY key`, [pattern])).rows;

describe('takeMany calls of two processes (64 in flight each) for users of one team', () => {
  const CALLS = 200;
  const LIMIT = 300;
  const run = admitters(2, () => [String(server.port), 'pg']);
  const round = (name: string, user: number, team: number) => run(name, CALLS, user, team);

  test('are admitted up to exactly the limit of the team, and only admitted calls charge the users and the organization', async () => {
    for (let i = 0; i < 3; i++) {
      const answers = await round(`limit ${i}`, 1e6, LIMIT);
      expect(sum(answers, ({ admitted }) => admitted)).toBe(LIMIT);
      expect(sum(answers, ({ atomic }) => atomic)).toBe(2 * CALLS);
      const store = postgres(pool, patient);
      const users = createLimiter(
        { user: fixedWindow({ limit: 1e6, per: '1d', align: 'first' }) },
        { store, name: `users limit ${i}` },
      );
      const orgs = createLimiter(
        { org: slidingLog({ limit: 1e6, per: '1d' }) },
        { store, name: `orgs limit ${i}` },
      );
      const peeks = await Promise.all(Array.from({ length: CALLS }, async (_, n) => users.peek(`user ${n}`)));
      const charged = peeks.reduce((total, { remaining }) => total + 1e6 - remaining, 0);
      expect([charged, 1e6 - (await orgs.peek('org')).remaining]).toEqual([LIMIT, LIMIT]);
      await store.close();
    }
  }, 60_000);

  test('are denied only if one of their own items exceeds its limit', async () => {
    // Both processes call once for every user, whose limit is 1. The team's limit admits one call of each user. If a call that is
    // denied by its user's limit charged the team, even for a moment, the team's limit would deny other calls.
    for (let i = 0; i < 3; i++) {
      const answers = await round(`room ${i}`, 1, CALLS);
      expect(sum(answers, ({ admitted }) => admitted)).toBe(CALLS);
      expect(sum(answers, ({ denials }) => denials['user'] ?? 0)).toBe(CALLS);
    }
  }, 60_000);
});

describe('takeMany on Postgres', () => {
  test('needs three statements for new keys, and one for known keys, whether they are admitted or denied', async () => {
    const { kinds, store } = watchedStore();
    const limiter = createLimiter('2/h', { store, name: 'statements' });
    const take = () => limiter.takeMany([{ key: 'a' }, { key: 'b' }]);
    expect(await take()).toMatchObject({ allowed: true, atomic: true });
    expect(kinds.splice(0)).toEqual(['read', 'insert empty', 'write all']);
    expect(await take()).toMatchObject({ allowed: true, atomic: true });
    expect(kinds.splice(0)).toEqual(['write all']);
    expect(await take()).toMatchObject({ allowed: false, atomic: true });
    expect(kinds.splice(0)).toEqual(['read']);
  });

  test('decides all calls of one tick that share a key in a single write', async () => {
    const { kinds, store } = watchedStore();
    const limiter = createLimiter('30/h', { store, name: 'tick' });
    const calls = Array.from({ length: 40 }, async (_, i) =>
      limiter.takeMany([{ key: `user ${i}` }, { key: 'team' }]),
    );
    const decisions = await Promise.all(calls);
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(30);
    expect(kinds).toEqual(['read', 'insert empty', 'write all']);
  });

  test('works with postgres.js', async () => {
    const sql = sqlOf(server.url);
    const limiter = createLimiter('1/h', { store: postgres(sql, patient), name: 'postgres.js' });
    const take = () => limiter.takeMany([{ key: 'a "\\{},' }, { key: 'b'.repeat(300) }]);
    expect([await take(), await take()]).toMatchObject([
      { allowed: true, atomic: true },
      { allowed: false, atomic: true },
    ]);
    await sql.end();
  });

  test.each(['insert empty', 'write all'])(
    'decides again if another store takes one of the units before the statement "%s"',
    async (kind) => {
      const name = `conflict ${kind}`;
      const other = createLimiter('2/h', { store: postgres(server.pool(), patient), name });
      let taken = false;
      const { store } = watchedStore(async (next) => {
        if (taken || next !== kind) return;
        taken = true;
        expect((await other.take('b')).allowed).toBe(true);
      });
      const limiter = createLimiter('2/h', { store, name });
      const take = () => limiter.takeMany([{ key: 'a' }, { key: 'b' }]);
      expect(await take()).toMatchObject({ allowed: true, decisions: [{ remaining: 1 }, { remaining: 0 }] });
      expect(await take()).toMatchObject({ allowed: false, decisions: [{ remaining: 1 }, { remaining: 0 }] });
      expect((await other.peek('a')).remaining).toBe(1);
    },
  );

  test('charges nothing if another store takes the last unit between the read and the write', async () => {
    const other = createLimiter('1/h', { store: postgres(server.pool(), patient), name: 'last' });
    let taken = false;
    const { store } = watchedStore(async (kind) => {
      if (taken || kind !== 'write all') return;
      taken = true;
      // The row exists already, because it was inserted empty.
      expect((await other.take('b')).allowed).toBe(true);
    });
    const limiter = createLimiter('1/h', { store, name: 'last' });
    expect(await limiter.takeMany([{ key: 'a' }, { key: 'b' }])).toMatchObject({ allowed: false, taken: 0 });
    expect((await limiter.peek('a')).remaining).toBe(1);
  });

  test('denies if an item that costs nothing is blocked between the read and the write', async () => {
    const other = createLimiter('5/h', { store: postgres(server.pool(), patient), name: 'free' });
    await other.take('b');
    let blocked = false;
    const { store } = watchedStore(async (kind) => {
      if (blocked || kind !== 'write all') return;
      blocked = true;
      await other.block('b', '1h');
    });
    const limiter = createLimiter('5/h', { store, name: 'free' });
    const decision = await limiter.takeMany([{ key: 'a' }, { key: 'b', cost: 0 }]);
    expect(decision).toMatchObject({ allowed: false, policy: 'block' });
    expect((await limiter.peek('a')).remaining).toBe(5);
  });

  test('notices units that another store has given back, before it denies', async () => {
    const [limiter, other] = [1, 2].map(() =>
      createLimiter('1/h', { store: postgres(server.pool(), patient), name: 'given back' }),
    );
    const items = [{ key: 'a' }, { key: 'b' }];
    expect((await limiter.takeMany(items)).allowed).toBe(true);
    await other.reset('a');
    await other.reset('b');
    expect((await limiter.takeMany(items)).allowed).toBe(true);
  });

  test('writes nothing for a denial, unless a penalty counts it', async () => {
    const { kinds, store } = watchedStore();
    const plain = createLimiter('1/h', { store, name: 'denied plain' });
    const strict = createLimiter(
      { rate: '1/h', jail: penalty({ after: 2, within: '1h', block: '1d' }) },
      { store, name: 'denied strict' },
    );
    await strict.take('b');
    const take = () => plain.takeMany([{ key: 'a' }, { limiter: strict, key: 'b' }]);
    const before = await rowsLike('denied%');
    kinds.length = 0;
    expect((await take()).policy).toBe('rate');
    expect(kinds.splice(0)).toEqual(['read', 'write all']);
    const after = await rowsLike('denied%');
    expect(after.map(({ key }) => key)).toEqual(before.map(({ key }) => key));
    expect(after).not.toEqual(before);
    await take();
    expect((await take()).policy).toBe('jail');

    await plain.take('c');
    const rows = await rowsLike('denied%');
    expect((await plain.takeMany([{ key: 'c' }, { key: 'd' }])).allowed).toBe(false);
    expect(await rowsLike('denied%')).toEqual(rows);
  });

  test.each(['read committed', 'repeatable read', 'serializable'])(
    'denies if a transaction that it waits for has used the last unit (%s)',
    async (level) => {
      const isolated = server.pool({
        options: `-c default_transaction_isolation=${level.replace(' ', '\\ ')}`,
      });
      const name = level.replace(' ', '-');
      const limiter = createLimiter('2/h', { store: postgres(isolated, patient), name });
      const take = () => limiter.takeMany([{ key: 'a' }, { key: 'b' }]);
      await take();
      await limiter.take('c', { cost: 2 });
      const holder = await pool.connect();
      await holder.query('BEGIN');
      await holder.query(
        `UPDATE sluice SET version = version + 1, value = (SELECT value FROM sluice WHERE key = '${name}:c')
       WHERE key = '${name}:b'`,
      );
      const waiting = take();
      const blocked = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'`;
      await expect.poll(async () => (await pool.query(blocked)).rowCount).toBe(1);
      await holder.query('COMMIT');
      holder.release();
      expect(await waiting).toMatchObject({
        allowed: false,
        decisions: [{ remaining: 1 }, { remaining: 0 }],
      });
      expect((await limiter.peek('a')).remaining).toBe(1);
    },
  );

  test('does not wait for a call whose rows are locked, if it uses other rows', async () => {
    const limiter = createLimiter('5/h', { store: postgres(pool, patient), name: 'locked' });
    await limiter.takeMany([{ key: 'a' }, { key: 'b' }]);
    const holder = await pool.connect();
    await holder.query('BEGIN');
    await holder.query(`SELECT FROM sluice WHERE key = 'locked:b' FOR UPDATE`);
    let isDone = false;
    const waiting = Promise.resolve(limiter.takeMany([{ key: 'a' }, { key: 'b' }])).finally(() => {
      isDone = true;
    });
    expect((await limiter.takeMany([{ key: 'c' }, { key: 'd' }])).allowed).toBe(true);
    expect(isDone).toBe(false);
    await holder.query('ROLLBACK');
    holder.release();
    expect(await waiting).toMatchObject({ allowed: true, decisions: [{ remaining: 3 }, { remaining: 3 }] });
  });
});

test.each(['read committed', 'serializable'])(
  'two stores with overlapping lists of keys never charge only a part of a list, at the isolation level %s',
  async (level) => {
    const isolated = { options: `-c default_transaction_isolation=${level.replace(' ', '\\ ')}` };
    const limiters = [1, 2].map(() =>
      createLimiter('40/h', { store: postgres(server.pool(isolated), patient), name: `overlap ${level}` }),
    );
    const lists = [
      ['a', 'b', 'c'],
      ['c', 'a'],
      ['b', 'c'],
      ['b', 'a'],
    ];
    const charged: Record<string, number> = { a: 0, b: 0, c: 0 };
    await Promise.all(
      limiters.flatMap((limiter) =>
        lists.flatMap((keys) =>
          [1, 2, 3, 4].map(async () => {
            for (let i = 0; i < 6; i++) {
              const { allowed } = await limiter.takeMany(keys.map((key) => ({ key })));
              for (const key of allowed ? keys : []) charged[key]++;
            }
          }),
        ),
      ),
    );
    for (const key of ['a', 'b', 'c'])
      expect(40 - (await limiters[0].peek(key)).remaining).toBe(charged[key]);
    // Every pair of keys is in a list, so at least two of the keys are used up.
    expect(Object.values(charged).filter((count) => count === 40).length).toBeGreaterThanOrEqual(2);
  },
  60_000,
);
