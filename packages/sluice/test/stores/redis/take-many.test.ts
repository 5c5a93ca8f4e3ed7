/** Tests takes from several keys that one script call decides, with several processes on a real Redis. */
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLimiter, fixedWindow, leased, slidingLog } from '../../../src/index.ts';
import { redis } from '../../../src/stores/redis/index.ts';
import { admitters, sum } from '../admitters.ts';
import { redisServer, type Server } from 'sluice-test-support/redis/server.ts';

let server: Server;
let control: Redis;
beforeAll(async () => {
  server = await redisServer();
  control = new Redis(server.port);
}, 30_000);
afterAll(async () => {
  control.disconnect();
  await server.stop();
});

/** The commands that clients send while `during` runs, without those that scripts call. */
async function commandsDuring(during: () => Promise<void>): Promise<string[]> {
  const monitor = await new Redis(server.port).monitor();
  const commands: string[] = [];
  monitor.on('monitor', (_time: string, [command]: string[], source: string) => {
    if (source !== 'lua') commands.push(command.toLowerCase());
  });
  await during();
  await control.echo('end');
  while (!commands.includes('echo')) await once(monitor, 'monitor');
  monitor.disconnect();
  return commands.filter((command) => command.startsWith('eval'));
}

describe('takeMany calls of four processes (64 in flight each) for users of one team', () => {
  const CALLS = 200;
  const LIMIT = 300;
  const run = admitters(4, () => [String(server.port)]);
  const round = (name: string, user: number, team: number) => run(name, CALLS, user, team);

  test('are admitted up to exactly the limit of the team, and only admitted calls charge the users and the organization', async () => {
    for (let i = 0; i < 5; i++) {
      const answers = await round(`limit ${i}`, 1e6, LIMIT);
      expect(sum(answers, ({ admitted }) => admitted)).toBe(LIMIT);
      expect(sum(answers, ({ atomic }) => atomic)).toBe(4 * CALLS);
      const store = redis(control, { deadline: '20s', onFailure: 'throw' });
      const users = createLimiter(
        { user: fixedWindow({ limit: 1e6, per: '1d', align: 'first' }) },
        { store, name: `users limit ${i}` },
      );
      const orgs = createLimiter(
        { org: slidingLog({ limit: 1e6, per: '1d' }) },
        { store, name: `orgs limit ${i}` },
      );
      let charged = 0;
      for (let n = 0; n < CALLS; n++) charged += 1e6 - (await users.peek(`user ${n}`)).remaining;
      expect([charged, 1e6 - (await orgs.peek('org')).remaining]).toEqual([LIMIT, LIMIT]);
      await store.close();
    }
  }, 60_000);

  test('are denied only if one of their own items exceeds its limit', async () => {
    // Every process calls once for every user, whose limit is 1. The team's limit admits one call of each user. If a call that is
    // denied by its user's limit charged the team, even for a moment, the team's limit would deny other calls.
    for (let i = 0; i < 5; i++) {
      const answers = await round(`room ${i}`, 1, CALLS);
      expect(sum(answers, ({ admitted }) => admitted)).toBe(CALLS);
      expect(sum(answers, ({ denials }) => denials['user'] ?? 0)).toBe(3 * CALLS);
    }
  }, 60_000);

  test('send one EVALSHA per call', async () => {
    const commands = await commandsDuring(async () => void (await round('watched', 1e6, LIMIT)));
    expect(commands).toEqual(Array.from({ length: 4 * CALLS }, () => 'evalsha'));
  }, 60_000);
});

test('a script that Redis has forgotten is sent again, and nothing is charged twice', async () => {
  const store = redis(control, { deadline: '20s', onFailure: 'throw' });
  const limiter = createLimiter('10/h', { store, name: 'forgotten' });
  const take = () => limiter.takeMany([{ key: 'a' }, { key: 'b' }]);
  await take();
  await control.script('FLUSH');
  const commands = await commandsDuring(async () => void (await take()));
  expect(commands).toEqual(['evalsha', 'eval']);
  expect((await limiter.peek('a')).remaining).toBe(8);
  await store.close();
});

test('a key that holds a value of another type fails the call, and nothing is charged', async () => {
  const store = redis(control, { deadline: '20s', onFailure: 'throw' });
  const limiter = createLimiter('10/h', { store, name: 'typed' });
  await control.sadd('typed:{b}', 'member');
  await expect(limiter.takeMany([{ key: 'a' }, { key: 'b' }])).rejects.toThrow(/WRONGTYPE|wrong kind/);
  expect((await limiter.peek('a')).remaining).toBe(10);
  await store.close();
});

test('plans with calendar windows are decided in one step even if this process and the server disagree about the time by a year', async () => {
  const store = redis(control, { deadline: '20s', onFailure: 'throw' });
  const policy = fixedWindow({ limit: 3, align: 'month' });
  const months = createLimiter(policy, { store, name: 'months' });
  const rates = createLimiter('10/h', { store, name: 'rates' });
  const real = Date.now;
  Date.now = () => real() - 400 * 86_400_000;
  try {
    const items = [{ key: 'a' }, { limiter: rates, key: 'a', cost: 2 }];
    expect(await months.takeMany(items)).toMatchObject({ allowed: true, taken: 3, atomic: true });
  } finally {
    Date.now = real;
  }
  expect((await months.peek('a')).remaining).toBe(2);
  await store.close();
});

test('with a remembered denial, takeMany is denied without charging any key', async () => {
  const store = redis(control, { deadline: '20s', onFailure: 'throw', denyCache: true });
  const [wide, narrow] = [5, 1].map((n) => createLimiter(`${n}/h`, { store, name: `cached ${n}` }));
  const take = () => wide.takeMany([{ key: 'a' }, { limiter: narrow, key: 'a' }]);
  expect([await take(), await take()]).toMatchObject([
    { allowed: true, atomic: true },
    { allowed: false, atomic: true },
  ]);
  const { allowed, decisions } = await take();
  expect([allowed, ...decisions.map(({ source }) => source)]).toEqual([false, 'store', 'deny-cache']);
  expect((await wide.peek('a')).remaining).toBe(4);
  await store.close();
});

test('on a leased store, takeMany decides items one by one, except for costs by policy, which the store decides in one step', async () => {
  const inner = redis(control, { deadline: '20s', onFailure: 'throw' });
  const store = leased(inner, { nodes: 1 });
  const limiter = createLimiter({ requests: '10000/h', tokens: '100000/h' }, { store, name: 'leased' });
  const plain = await limiter.takeMany([{ key: 'a' }, { key: 'b' }]);
  const byPolicy = [
    { key: 'a', cost: { tokens: 20 } },
    { key: 'b', cost: { tokens: 30 } },
  ];
  expect([plain.atomic, (await limiter.takeMany(byPolicy)).atomic]).toEqual([false, true]);
  await store.close();
});
