import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLimiter, type Hit, type Plan } from '../../src/index.ts';
import { redis } from '../../src/stores/redis/index.ts';
import { conformance } from '../../src/testing/index.ts';
import { ioredis, ONCE } from './clients.ts';
import { redisServer, type Server } from './server.ts';

const PAGE = new URL('../../../../docs/decisions/0017-evalsha-and-not-redis-functions.md', import.meta.url);
/** What the page says that a user needs. */
const RIGHTS = /needs the right to run ([^.]*)\./
  .exec(readFileSync(PAGE, 'utf8'))![1]
  .match(/\b[A-Z]{3,}\b/g)!
  .map((command) => command.toLowerCase());

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
  // Its ready check would ask for INFO.
  const login = { username: 'sluice', password: 'secret', enableReadyCheck: false };
  user = ioredis(server.port, { ...ONCE, ...login });
});

afterAll(async () => {
  user.disconnect();
  admin.disconnect();
  await server.stop();
});

describe('a user with the rights that the page names', () => {
  let stores = 0;
  const claims = conformance((clock) => {
    const store = redis(user, { clock, deadline: '30s' });
    const own = ++stores;
    const plans = new Map<Plan, Plan>();
    const planOf = (plan: Plan): Plan => {
      plans.set(plan, plans.get(plan) ?? { ...plan, name: `${own} ${plan.name}` });
      return plans.get(plan)!;
    };
    return { ...store, apply: (hit: Hit) => store.apply({ ...hit, plan: planOf(hit.plan) }) };
  });
  for (const { name, run } of claims) test(name, run);

  test('may let keys travel together', async () => {
    const limiter = createLimiter('5/h', { store: redis(user, { deadline: '30s' }), name: 'together' });
    const decisions = await Promise.all(Array.from({ length: 10 }, (_, i) => limiter.take(`key ${i}`)));
    expect(decisions.every(({ remaining }) => remaining === 4)).toBe(true);
  });
});
