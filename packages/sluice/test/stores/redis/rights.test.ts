import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLimiter, type Decision, type Limiter, SluiceError } from '../../../src/index.ts';
import type { Hit, Plan } from '../../../src/store.ts';
import { type OnFailure, redis, type RedisClient } from '../../../src/stores/redis/index.ts';
import { conformance } from '../../../src/testing/index.ts';
import { reading } from 'sluice-test-support/docs/reading.ts';
import { CLIENTS, ioredis } from 'sluice-test-support/redis/clients.ts';
import { redisServer, type Server } from 'sluice-test-support/redis/server.ts';
import { outcome, outcomes, until } from 'sluice-test-support/redis/watch.ts';

const PAGE = new URL(
  '../../../../../docs/decisions/0017-evalsha-and-not-redis-functions.md',
  import.meta.url,
);
/** The permissions that a user needs, according to decision 17. */
const RIGHTS = /needs permission for ([^.]*)\./
  .exec(readFileSync(PAGE, 'utf8'))![1]
  .match(/\b[A-Z]{3,}\b/g)!
  .map((command) => command.toLowerCase());

/** The statement that an operator copies from the page about the error. */
const GRANT = reading('docs/errors/ERR_PERMISSION.md')('', 'ACL SETUSER');

/** The ready check is disabled because it would need permission for INFO. */
const LOGIN = { username: 'sluice', password: 'secret', enableReadyCheck: false };

let server: Server;
let admin: Redis;
let user: Redis;

async function allow(rights: readonly string[]): Promise<void> {
  await admin.call(
    'ACL',
    'SETUSER',
    'sluice',
    'reset',
    'on',
    '>secret',
    '~*',
    ...rights.map((right) => `+${right}`),
  );
}

beforeAll(async () => {
  server = await redisServer();
  admin = ioredis(server.port);
  await allow(RIGHTS);
  user = ioredis(server.port, LOGIN);
});

afterAll(async () => {
  user.disconnect();
  admin.disconnect();
  await server.stop();
});

describe('a user with the documented permissions', () => {
  let stores = 0;
  const claims = conformance((clock) => {
    const store = redis(user, { onFailure: 'throw', clock, deadline: '30s' });
    const own = ++stores;
    const plans = new Map<Plan, Plan>();
    const planOf = (plan: Plan): Plan => {
      plans.set(plan, plans.get(plan) ?? { ...plan, name: `${own} ${plan.name}` });
      return plans.get(plan)!;
    };
    return { ...store, apply: (hit: Hit) => store.apply({ ...hit, plan: planOf(hit.plan) }) };
  });
  for (const { name, run } of claims) test(name, run);

  test('is created by the statement on the error page', async () => {
    const statement = GRANT.trim().replace('<user>', 'copied').replace('<name of the limiter>', 'paged');
    await admin.call('ACL', 'SETUSER', 'copied', 'on', '>secret');
    const [command, ...words] = statement.split(' ');
    await admin.call(command, ...words);
    const client = ioredis(server.port, { ...LOGIN, username: 'copied' });
    const limiter = createLimiter('5/h', { store: redis(client, { deadline: '30s' }), name: 'paged' });
    expect((await limiter.take('a')).remaining).toBe(4);
    client.disconnect();
  });

  test('may send batched calls', async () => {
    const limiter = createLimiter('5/h', {
      store: redis(user, { onFailure: 'throw', deadline: '30s' }),
      name: 'together',
    });
    const decisions = await Promise.all(Array.from({ length: 10 }, (_, i) => limiter.take(`key ${i}`)));
    expect(decisions.every(({ remaining }) => remaining === 4)).toBe(true);
  });
});

describe('a missing permission', () => {
  const without = (right: string): string[] => RIGHTS.filter((other) => other !== right);
  const limiterOn = (client: RedisClient, onFailure: OnFailure = 'allow'): Limiter<Promise<Decision>> =>
    createLimiter('10/min', { store: redis(client, { deadline: '10s', onFailure }), name: 'missing' });

  test.each(['allow', 'deny', 'throw'] as const)(
    'for EVALSHA makes all of 1,000 checks reject, even with onFailure %s',
    async (onFailure) => {
      await allow(without('evalsha'));
      const limiter = limiterOn(user, onFailure);
      const results = await outcomes(1000, () => limiter.take('a'));
      expect(results.filter(({ error }) => error instanceof SluiceError)).toHaveLength(1000);
      expect(results[0].error).toMatchObject({ code: 'ERR_PERMISSION', option: 'redis.client' });
      expect(results[0].error?.message).toContain('ACL SETUSER <user> +evalsha');
    },
  );

  test.each([
    ['eval', '+eval'],
    ['get', '+get +mget +set'],
    ['set', '+get +mget +set'],
    ['time', '+get +mget +set'],
  ])('for %s causes an error that says which commands to allow', async (right, advice) => {
    await admin.script('FLUSH');
    await allow(without(right));
    const { error } = await outcome(() => limiterOn(user).take(`without ${right}`));
    expect(error).toMatchObject({ code: 'ERR_PERMISSION' });
    expect(error?.message).toContain(advice);
  });

  test('to access the keys causes an error that says which keys to allow', async () => {
    await allow(RIGHTS);
    await admin.call('ACL', 'SETUSER', 'sluice', 'resetkeys', '~other:*');
    const { error } = await outcome(() => limiterOn(user).take('a'));
    expect(error).toMatchObject({ code: 'ERR_PERMISSION' });
    expect(error?.message).toContain('~<name of the limiter>:*');
  });

  test('no longer fails checks once the permission is granted', async () => {
    await allow(without('evalsha'));
    const limiter = limiterOn(user);
    expect((await outcome(() => limiter.take('granted'))).error).toMatchObject({ code: 'ERR_PERMISSION' });
    await allow(RIGHTS);
    expect(await limiter.take('granted')).toMatchObject({ allowed: true, remaining: 9, source: 'store' });
  });

  test.each(Object.entries(CLIENTS))('is reported through %s', async (_, connect) => {
    const strict = await redisServer();
    const control = ioredis(strict.port);
    const connected = await connect(strict.port);
    try {
      await control.acl('SETUSER', 'default', '-eval', '-evalsha');
      const { error } = await outcome(() => limiterOn(connected.client).take('a'));
      expect(error).toBeInstanceOf(SluiceError);
      expect(error?.message).toContain('ACL SETUSER <user> +evalsha');
    } finally {
      await connected.close();
      control.disconnect();
      await strict.stop();
    }
  });

  test.each<[string, (port: number) => RedisClient]>([
    ['ioredis', (port) => ioredis(port, { username: 'sluice', password: 'wrong' })],
    ['node-redis', (port) => createClient({ url: `redis://sluice:wrong@127.0.0.1:${port}` })],
  ])('has the same error code as a wrong password, through %s', async (_, make) => {
    const client = make(server.port);
    const { error } = await outcome(() => limiterOn(client).take('a'));
    expect(error).toMatchObject({ code: 'ERR_PERMISSION' });
    expect(error?.message).toContain('does not accept the client');
    (client as { disconnect?(): void }).disconnect?.();
  });

  test('is not hidden by a breaker that an outage has opened', async () => {
    let flaky = await redisServer();
    const client = ioredis(flaky.port);
    try {
      const store = redis(client, { deadline: 200, onFailure: 'allow' });
      const limiter = createLimiter('10/min', { store, name: 'after' });
      await until(async () => (await limiter.take('a')).source === 'store');
      await flaky.stop();
      await until(async () => (await limiter.take('a')).source === 'fallback');
      await outcomes(10, () => limiter.take('a'));
      flaky = await redisServer({
        port: flaky.port,
        args: '--user default on nopass ~* +@all -evalsha'.split(' '),
      });
      await until(async () => (await outcome(() => limiter.take('a'))).error instanceof SluiceError);
      const later = await outcomes(10, () => limiter.take('a'));
      expect(later.filter(({ error }) => error instanceof SluiceError)).toHaveLength(10);
    } finally {
      client.disconnect();
      await flaky.stop();
    }
  });
});
