import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createLimiter,
  type Decision,
  fixedWindow,
  gcra,
  type Limiter,
  slidingLog,
  type StoreFault,
  StoreUnavailable,
} from '../../../src/index.ts';
import {
  type BreakerEvent,
  type OnFailure,
  type RedisClient,
  redis,
} from '../../../src/stores/redis/index.ts';
import { CLIENTS, type Connected, ioredis } from 'sluice-test-support/redis/clients.ts';
import { redisServer, type Server } from 'sluice-test-support/redis/server.ts';
import { outcome, rejections, unpunctuality, until } from 'sluice-test-support/redis/watch.ts';

/** Deadline of all checks here, and how much later they may end if timers of this machine fire on time. */
const DEADLINE = 50;
const SLACK = 10;
/** How long a store waits for its first answer if the client itself waits for the server, in milliseconds. */
const START = 2000;

/** A server that can be made to reject commands. */
interface Sulk {
  readonly port: number;
  /** Makes the server reject commands. Clients are already connected. */
  refuse(): Promise<unknown>;
  relent(): Promise<unknown>;
  stop(): Promise<unknown>;
}

/** Starts a server that rejects commands after `refuse` was called, until `relent` is called. */
async function told(
  args: readonly string[],
  refuse: (control: ReturnType<typeof ioredis>) => Promise<unknown>,
  relent: (control: ReturnType<typeof ioredis>) => Promise<unknown>,
): Promise<Sulk> {
  const server = await redisServer({ args });
  const control = ioredis(server.port);
  return {
    port: server.port,
    refuse: () => refuse(control),
    relent: () => relent(control),
    async stop() {
      control.disconnect();
      await server.stop();
    },
  };
}

const SULKS: readonly (readonly [string, StoreFault, () => Promise<Sulk>])[] = [
  [
    'READONLY',
    'read-only',
    async () => {
      const master = await redisServer();
      const replica = await told(
        [],
        async (control) => {
          await control.replicaof('127.0.0.1', master.port);
          await until(async () => (await control.info('replication')).includes('master_link_status:up'));
        },
        (control) => control.replicaof('NO', 'ONE'),
      );
      return { ...replica, stop: () => Promise.all([replica.stop(), master.stop()]) };
    },
  ],
  ['LOADING', 'loading', loading],
  [
    'BUSY',
    'busy',
    async () => {
      const sulk = await told(
        ['--busy-reply-threshold', '5'],
        (control) => until(async () => String((await outcome(() => control.ping())).error).includes('BUSY')),
        (control) => control.script('KILL'),
      );
      const blocker = ioredis(sulk.port);
      return {
        ...sulk,
        refuse() {
          void outcome(() => blocker.eval('while true do end', 0));
          return sulk.refuse();
        },
        async stop() {
          blocker.disconnect();
          await sulk.stop();
        },
      };
    },
  ],
  [
    'OOM',
    'out-of-memory',
    () =>
      told(
        [],
        (control) => control.config('SET', 'maxmemory', '1'),
        (control) => control.config('SET', 'maxmemory', '0'),
      ),
  ],
];

/** A server that is loading a file for as long as needed, because loading each key is delayed. */
async function loading(): Promise<Sulk> {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-loading-'));
  let server = await redisServer({ args: ['--enable-debug-command', 'yes', '--rdbcompression', 'no'] });
  const { port } = server;
  // Loading takes 10 ms for each of 8,000 keys; the server handles requests after each of them.
  const args = ['--dir', dir, '--key-load-delay', '10000', '--loading-process-events-interval-bytes', '1024'];
  const control = ioredis(port, { enableReadyCheck: false });
  return {
    port,
    async refuse() {
      const [, own] = await control.config('GET', 'dir');
      await control.debug('POPULATE', '8000', 'key', '1024');
      await control.save();
      cpSync(join(own, 'dump.rdb'), join(dir, 'dump.rdb'));
      await server.stop();
      server = await redisServer({ port, args });
      await until(async () => String((await outcome(() => control.get('a'))).error).includes('LOADING'));
    },
    relent: () => control.config('SET', 'key-load-delay', '0'),
    async stop() {
      control.disconnect();
      await server.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** The other clients, which report the same error differently. */
const OTHERS = Object.entries(CLIENTS).filter(([name]) => name !== 'ioredis');

describe.each(SULKS)('the server error %s', (_, fault, sulkOf) => {
  let sulk: Sulk;
  let others: Connected[] = [];
  const clients: ReturnType<typeof ioredis>[] = [];
  const unhandled = rejections();

  beforeAll(async () => {
    sulk = await sulkOf();
    for (let i = 0; i < 5; i++) clients.push(ioredis(sulk.port, { enableReadyCheck: false }));
    others = await Promise.all(OTHERS.map(([, connect]) => connect(sulk.port)));
    await Promise.all(clients.map((client) => client.ping()));
    await sulk.refuse();
    // A client that lost its connection has reconnected.
    await until(() => clients.every(({ status }) => status === 'ready'));
  }, 60_000);
  afterAll(async () => {
    for (const client of clients) client.disconnect();
    for (const other of others) await other.close();
    await sulk.stop();
    await unhandled.stop();
    expect(unhandled.seen).toEqual([]);
  });

  function limiterWith(
    client: RedisClient,
    onFailure: OnFailure,
    onEvent?: (event: BreakerEvent) => void,
  ): Limiter<Promise<Decision>> {
    const store = redis(client, { deadline: DEADLINE, onFailure, onEvent });
    return createLimiter(gcra({ limit: 10, per: '1h' }), { store, name: 'api' });
  }

  /**
   * Takes until the server itself has rejected a check. Every check must end in time, but on a busy machine, the server's
   * rejection may arrive after the deadline of the check.
   */
  async function refused(client: RedisClient, welcome: readonly StoreFault[]): Promise<void> {
    await until(async () => {
      // Each attempt uses a new limiter, because the breaker of the previous limiter may be open.
      const limiter = limiterWith(client, 'throw');
      const late = unpunctuality();
      const results = await Promise.all(['a', 'b', 'c'].map((key) => outcome(() => limiter.take(key))));
      const lateness = late.stop();
      for (const { error, took } of results) {
        expect(error).toBeInstanceOf(StoreUnavailable);
        expect(error).toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' });
        const longest = welcome.includes('deadline') ? START : DEADLINE;
        expect(took).toBeLessThanOrEqual(longest + SLACK + 2 * lateness);
      }
      const faults = results.map(({ error }) => (error as StoreUnavailable).fault);
      const others = faults.filter((one) => !welcome.includes(one));
      expect(others.filter((one) => one !== 'deadline' && one !== 'circuit-open')).toEqual([]);
      return others.length === 0;
    });
  }

  test(`becomes a StoreUnavailable with fault '${fault}', in time`, () => refused(clients[0], [fault]));

  test.concurrent.each(OTHERS)(`is reported in the same way through %s`, (name) => {
    const { client } = others[OTHERS.findIndex(([other]) => other === name)];
    // Clients that wait until the server has loaded have not sent anything by the deadline.
    const welcome: StoreFault[] =
      fault === 'loading'
        ? [fault, 'deadline', 'connection']
        : // valkey-glide does not connect to a server that is a replica.
          fault === 'read-only' && name === 'valkey-glide'
          ? [fault, 'connection']
          : [fault];
    return refused(client, welcome);
  });

  test.each([
    ['allow', () => 'allow' as const, { allowed: true, taken: 1 }],
    ['deny', () => 'deny' as const, { allowed: false, taken: 0 }],
    ['a local limiter', () => createLimiter(gcra({ limit: 7, per: '1h' })), { allowed: true, limit: 7 }],
  ])('is answered in time with onFailure %s', async (name, onFailure, expected) => {
    const index = ['allow', 'deny', 'a local limiter'].indexOf(name) + 1;
    const limiter = limiterWith(clients[index], onFailure());
    const late = unpunctuality();
    const results = await Promise.all(['a', 'b', 'c'].map((key) => outcome(() => limiter.take(key))));
    const lateness = late.stop();
    for (const { value, took } of results) {
      expect(value).toMatchObject({ ...expected, source: 'fallback' });
      expect(took).toBeLessThanOrEqual(START + SLACK + 2 * lateness);
    }
  });

  test('opens the breaker at most once, and not for longer than the fault lasts', async () => {
    const events: BreakerEvent[] = [];
    const limiter = limiterWith(clients[4], 'deny', (event) => events.push(event));
    const start = performance.now();
    while (performance.now() - start < 500) {
      expect((await limiter.take('a')).source).toBe('fallback');
      await sleep(2);
    }
    // If the server rejects hits immediately, the breaker may also stay closed.
    expect(['', 'open']).toContain(events.map(({ type }) => type).join(' '));
    // On a busy machine, the rejection may arrive too late five times in a row.
    if (events.length > 0) expect([fault, 'deadline']).toContain((events[0] as { fault: StoreFault }).fault);
    await sulk.relent();
    const took = await until(async () => (await limiter.take('a')).source === 'store');
    expect(took).toBeLessThanOrEqual(1000);
    expect(['', 'open close']).toContain(events.map(({ type }) => type).join(' '));
  });
});

describe('a key that holds a value of another type', () => {
  let server: Server;
  let client: ReturnType<typeof ioredis>;
  beforeAll(async () => {
    server = await redisServer();
    client = ioredis(server.port);
  });
  afterAll(async () => {
    client.disconnect();
    await server.stop();
  });

  const KINDS = {
    gcra: gcra({ limit: 10, per: '1h' }),
    'sliding-log': slidingLog({ limit: 10, per: '1h' }),
    both: [slidingLog({ limit: 10, per: '1h' }), fixedWindow({ limit: 10, per: '1d' })],
  };

  test.each(Object.entries(KINDS))(
    "causes a fault 'wrong-type' that affects only this key and does not open the breaker: %s",
    async (name, policies) => {
      await client.lpush(`${name}:{bad}`, 'an element');
      const events: BreakerEvent[] = [];
      const store = redis(client, {
        onFailure: 'throw',
        deadline: '5s',
        onEvent: (event) => events.push(event),
      });
      const limiter = createLimiter(policies, { store, name });
      for (let i = 0; i < 10; i++) {
        const [good, bad, better] = await Promise.all(
          ['good', 'bad', 'better'].map((key) => outcome(() => limiter.take(key))),
        );
        expect(good.value).toMatchObject({ allowed: true, remaining: 9 - i });
        expect(better.value).toMatchObject({ allowed: true, remaining: 9 - i });
        expect(bad.error).toMatchObject({ code: 'ERR_STORE_UNAVAILABLE', fault: 'wrong-type' });
      }
      expect(events).toEqual([]);
      expect(await client.lrange(`${name}:{bad}`, 0, -1)).toEqual(['an element']);

      const lenient = createLimiter(policies, {
        store: redis(client, { deadline: '5s', onFailure: 'allow' }),
        name,
      });
      expect(await lenient.take('bad')).toMatchObject({ allowed: true, source: 'fallback' });
      const strict = createLimiter(policies, {
        store: redis(client, { deadline: '5s', onFailure: 'deny' }),
        name,
      });
      expect(await strict.take('bad')).toMatchObject({ allowed: false, source: 'fallback' });
    },
  );

  test.each(Object.entries(KINDS))(
    'is treated as new if the value is a string that another program stored: %s',
    async (name, policies) => {
      for (const text of ['', 'x', 'hello', '42', '\0'.repeat(200), 'z'.repeat(1000)]) {
        await client.set(`${name} text:{a}`, text);
        const limiter = createLimiter(policies, {
          store: redis(client, { onFailure: 'throw', deadline: '5s' }),
          name: `${name} text`,
        });
        expect(await limiter.take('a')).toMatchObject({ allowed: true, remaining: 9, source: 'store' });
      }
    },
  );
});
