import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createLimiter,
  type Decision,
  fixedWindow,
  gcra,
  type Limiter,
  type Policies,
  slidingLog,
  StoreUnavailable,
} from '../../../src/index.ts';
import { type BreakerEvent, redis, type RedisOptions } from '../../../src/stores/redis/index.ts';
import type { Connected } from 'sluice-test-support/redis/clients.ts';
import { type Cluster, CLUSTER_CLIENTS, startCluster } from './cluster.ts';
import {
  inFlight,
  outcome,
  rejections,
  replicated,
  unpunctuality,
  until,
} from 'sluice-test-support/redis/watch.ts';

const NAMES = Object.keys(CLUSTER_CLIENTS);

let cluster: Cluster;
const clients = new Map<string, Connected>();

beforeAll(async () => {
  cluster = await startCluster();
  const ports = cluster.nodes.map(({ server }) => server.port);
  for (const [name, connect] of Object.entries(CLUSTER_CLIENTS)) clients.set(name, await connect(ports));
}, 60_000);

afterAll(async () => {
  for (const connected of clients.values()) await connected.close();
  await cluster.stop();
});

function limiterBy(
  client: string,
  policies: Policies,
  name: string,
  options: RedisOptions = { deadline: '10s', onFailure: 'throw' },
): Limiter<Promise<Decision>> {
  return createLimiter(policies, { store: redis(clients.get(client)!.client, options), name });
}

describe.each(NAMES)('the Redis store on a cluster, through %s,', (client) => {
  test('checks keys of all slots concurrently, and never confuses them', async () => {
    const limiter = limiterBy(client, gcra({ limit: 2, per: '1h' }), `spread ${client}`);
    const log = limiterBy(client, slidingLog({ limit: 2, per: '1h' }), `log ${client}`);
    for (const remaining of [1, 0]) {
      const decisions = await Promise.all(
        Array.from({ length: 500 }, (_, i) => (i % 2 ? log : limiter).take(`key ${i}`)),
      );
      expect(new Set(decisions.map((decision) => decision.remaining))).toEqual(new Set([remaining]));
    }
    const odd = ['', '{', '}', '{}', '{a}{b}', '}{', '\0', '\n', '😀', '\ud83d', 'x'.repeat(1_000_000)];
    const decisions = await Promise.all(odd.map((key) => limiter.take(key)));
    expect(decisions.map((decision) => decision.remaining)).toEqual(odd.map(() => 1));
  });

  test('spreads subjects that contain a closing brace over all masters', async () => {
    const name = `braces ${client}`;
    const limiter = limiterBy(client, gcra({ limit: 2, per: '1h' }), name);
    await Promise.all(Array.from({ length: 90 }, (_, i) => limiter.take(`tenant}${i}`)));
    const counts = await Promise.all(
      (await cluster.masters()).map(async ({ control }) => (await control.keys(`${name}:*`)).length),
    );
    expect(counts.reduce((sum, count) => sum + count)).toBe(90);
    for (const count of counts) expect(count).toBeGreaterThan(10);
  });

  test('admits exactly the limit with 64 checks in flight on one key', async () => {
    for (const [name, policies] of Object.entries({
      gcra: gcra({ limit: 300, per: '1d' }),
      log: slidingLog({ limit: 300, per: '1d' }),
      two: [gcra({ limit: 600, per: '1d' }), fixedWindow({ limit: 300, per: '1d', align: 'first' })],
    })) {
      const limiter = limiterBy(client, policies, `hot ${client} ${name}`);
      let admitted = 0;
      await inFlight(64, 1000, async () => {
        if ((await limiter.take('hot')).allowed) admitted++;
      });
      expect(admitted).toBe(300);
    }
  });

  test('with takeMany, takes units from all keys or from none, even in several slots', async () => {
    const wide = limiterBy(client, gcra({ limit: 50, per: '1d' }), `wide ${client}`);
    const narrow = limiterBy(client, gcra({ limit: 30, per: '1d' }), `narrow ${client}`);
    const items = [{ key: 'user' }, { limiter: narrow, key: 'address' }, { key: 'tenant', cost: 1 }];
    let admitted = 0;
    await inFlight(16, 64, async () => {
      if ((await wide.takeMany(items)).allowed) admitted++;
    });
    // Two concurrent calls may each hold what the other one needs. Calls that are made one at a time get the
    // remaining units.
    while ((await wide.takeMany(items)).allowed) admitted++;
    expect(admitted).toBe(30);
    await until(async () => (await wide.peek('user')).remaining === 20);
    await until(async () => (await wide.peek('tenant')).remaining === 20);
    expect((await narrow.peek('address')).remaining).toBe(0);
  });

  test('decides takeMany in one step if all keys are in one slot', async () => {
    const store = redis(clients.get(client)!.client, { deadline: '10s', onFailure: 'throw' });
    const limits = { requests: 1000, tokens: 50, jobs: 1000 };
    const [requests, tokens, jobs] = Object.entries(limits).map(([kind, limit]) =>
      createLimiter(slidingLog({ limit, per: '1d' }), { store, name: `${kind} ${client}` }),
    );
    const items = (key: string) => [{ key }, { limiter: tokens, key }, { limiter: jobs, key }];
    let admitted = 0;
    await inFlight(16, 100, async () => {
      const { allowed, atomic } = await requests.takeMany(items('one'));
      expect(atomic).toBe(true);
      if (allowed) admitted++;
    });
    expect(admitted).toBe(50);
    expect([(await requests.peek('one')).remaining, (await jobs.peek('one')).remaining]).toEqual([950, 950]);
    const apart = await requests.takeMany([{ key: 'user' }, { limiter: tokens, key: 'team' }]);
    expect(apart).toMatchObject({ allowed: true, atomic: false, taken: 2 });
    await store.close();
  });
});

test('the clients of all libraries together are admitted exactly up to the limit', async () => {
  const policy = gcra({ limit: 1000, per: '1d' });
  let admitted = 0;
  await Promise.all(
    NAMES.map((client) => {
      const limiter = limiterBy(client, policy, 'shared');
      return inFlight(64, 500, async () => {
        if ((await limiter.take('hot')).allowed) admitted++;
      });
    }),
  );
  expect(admitted).toBe(1000);
});

test('no check fails while a slot is being moved', async () => {
  // All keys are in one slot, because the subject is the hash tag.
  const subject = 'moving';
  const slot = Number(await cluster.nodes[0].control.cluster('KEYSLOT', `{${subject}}`));
  const source = await cluster.masterOf(`{${subject}}`);
  const target = (await cluster.masters()).find(({ id }) => id !== source.id)!;
  const LIMIT = 2000;
  let moved = false;
  let checks = 0;
  const failures: string[] = [];
  const admitted = new Map<string, number>();
  const check = async (client: string, limiter: Limiter<Promise<Decision>>): Promise<boolean> => {
    const { value, error } = await outcome(() => limiter.take(subject));
    if (value?.source !== 'store') failures.push(`${client}: ${error?.message}`);
    return value?.allowed === true;
  };
  const checking = Promise.all(
    NAMES.map(async (client) => {
      const limiter = limiterBy(client, gcra({ limit: LIMIT, per: '365d' }), `moved ${client}`);
      let passed = 0;
      await Promise.all(
        Array.from({ length: 16 }, async () => {
          // Runs until the slot has moved, and then long enough to reach the limit.
          for (let after = 0; after < LIMIT / 8; after += moved ? 1 : 0) {
            // New keys are used as well: after the move, they do not exist on the source node.
            if (++checks % 50 === 0)
              await check(client, limiterBy(client, gcra({ limit: 5, per: '1d' }), `new ${checks}`));
            if (await check(client, limiter)) passed++;
          }
        }),
      );
      admitted.set(client, passed);
    }),
  );

  await until(() => checks > 400);
  await target.control.cluster('SETSLOT', slot, 'IMPORTING', source.id);
  await source.control.cluster('SETSLOT', slot, 'MIGRATING', target.id);
  for (;;) {
    const from = checks;
    await until(() => checks > from + 20);
    const keys = await source.control.cluster('GETKEYSINSLOT', slot, 3);
    if (keys.length === 0) break;
    await source.control.migrate('127.0.0.1', target.server.port, '', 0, 5000, 'KEYS', ...keys);
  }
  const from = checks;
  await until(() => checks > from + 200);
  for (const node of [target, source, ...(await cluster.masters())])
    await node.control.cluster('SETSLOT', slot, 'NODE', target.id);
  moved = true;
  await checking;
  expect(failures).toEqual([]);
  expect(Object.fromEntries(admitted)).toEqual(Object.fromEntries(NAMES.map((client) => [client, LIMIT])));
}, 60_000);

test('when a master is killed while checks run, only writes that its replica had not received are lost', async () => {
  const DEADLINE = 50;
  const LIMIT = 5000;
  const unhandled = rejections();
  const subject = 'orphan';
  const policy = gcra({ limit: LIMIT, per: '365d' });
  const master = await cluster.masterOf(`{${subject}}`);
  const infos = await Promise.all(cluster.nodes.map(({ control }) => control.info('replication')));
  const replica =
    cluster.nodes[infos.findIndex((info) => info.includes(`master_port:${master.server.port}`))];
  const rows = NAMES.map((client) => {
    const events: BreakerEvent[] = [];
    const options: RedisOptions = {
      deadline: DEADLINE,
      onFailure: 'throw',
      onEvent: (event) => events.push(event),
    };
    return {
      client,
      limiter: limiterBy(client, policy, `orphan ${client}`, options),
      events,
      /**
       * Times of admissions until the breakers opened, and the numbers of checks with an unknown outcome, of checks that an open
       * breaker rejected, and of admissions after the replica took over.
       */
      before: [] as number[],
      unknown: 0,
      refused: 0,
      after: 0,
    };
  });
  await Promise.all(
    rows.map(({ limiter }) =>
      until(async () => (await outcome(() => limiter.peek(subject))).value?.source === 'store'),
    ),
  );

  const late = unpunctuality();
  let running = true;
  let slowest = 0;
  const errors: unknown[] = [];
  const checking = rows.map((row) =>
    Promise.all(
      Array.from({ length: 16 }, async () => {
        while (running) {
          const { value, error, took } = await outcome(() => row.limiter.take(subject));
          slowest = Math.max(slowest, took);
          if (value?.allowed) row.before.push(performance.now());
          if (error !== undefined) errors.push(error);
          // While the breaker is open, nothing is sent.
          if ((error as StoreUnavailable | undefined)?.fault === 'circuit-open') row.refused++;
          else if (error !== undefined) row.unknown++;
          await sleep(1);
        }
      }),
    ),
  );
  await until(() => rows.every(({ before }) => before.length > 200));
  const known = performance.now();
  await replicated(master.control, replica.control);
  await master.server.stop('SIGKILL');
  // The timeout is shortened only now, because on a busy machine a node may be silent for that long without having failed.
  for (const { id, control } of cluster.nodes)
    if (id !== master.id) await control.config('SET', 'cluster-node-timeout', '1500');
  await until(() => rows.every(({ refused }) => refused > 100));
  running = false;
  await Promise.all(checking);
  const lateness = late.stop();
  // After a stall of this process, checks are allowed as much extra time as the stall took.
  expect(slowest).toBeLessThanOrEqual(DEADLINE + 10 + 2 * lateness);
  expect(errors.every((error) => error instanceof StoreUnavailable)).toBe(true);
  for (const { events } of rows) expect(events[0]?.type).toBe('open');

  // For a short time, no node accepts writes for the slot.
  await until(async () => {
    const { value } = await outcome(() => cluster.masterOf(`{${subject}}`));
    return value !== undefined && value.id !== master.id;
  }, 20_000);
  await until(() => cluster.isWell(), 20_000);
  for (const row of rows) {
    const back = await until(
      async () => (await outcome(() => row.limiter.peek(subject))).value?.source === 'store',
      20_000,
    );
    expect(back, `${row.client} is back`).toBeLessThan(5000);
    const generous = limiterBy(row.client, policy, `orphan ${row.client}`, {
      deadline: '5s',
      onFailure: 'throw',
    });
    const counted = LIMIT - (await generous.peek(subject)).remaining;
    const before = row.before.length;
    const lost = Math.max(0, before - counted);
    // Each check is counted at most once, and what the replica had received is not lost.
    expect(counted).toBeLessThanOrEqual(before + row.unknown);
    expect(lost).toBeLessThanOrEqual(row.before.filter((at) => at > known).length);
    await inFlight(64, LIMIT, async () => {
      if ((await generous.take(subject)).allowed) row.after++;
    });
    expect(before + row.after).toBeLessThanOrEqual(LIMIT + lost);
    expect(before + row.after + row.unknown).toBeGreaterThanOrEqual(LIMIT);
  }
  await unhandled.stop();
  expect(unhandled.seen).toEqual([]);
}, 90_000);
