import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLimiter, type Decision, gcra, type Limiter, StoreUnavailable } from '../../../src/index.ts';
import { type BreakerEvent, redis } from '../../../src/stores/redis/index.ts';
import { type Connected, ioredis } from 'sluice-test-support/redis/clients.ts';
import { type Sentinel, SENTINEL_CLIENTS, startSentinel } from './sentinel.ts';
import { NAME, redisServer, type Server } from 'sluice-test-support/redis/server.ts';
import { outcome, rejections, replicated, unpunctuality, until } from 'sluice-test-support/redis/watch.ts';

const DEADLINE = 50;

let master: Server;
let replica: Server;
let sentinels: Sentinel[] = [];

beforeAll(async () => {
  const args = ['--repl-diskless-sync-delay', '0'];
  master = await redisServer({ args });
  replica = await redisServer({ args: [...args, '--replicaof', `127.0.0.1 ${master.port}`] });
  const copy = ioredis(replica.port);
  await until(async () => (await copy.info('replication')).includes('master_link_status:up'));
  copy.disconnect();
  sentinels = await Promise.all([1, 2, 3].map(() => startSentinel(master.port, 2)));
  // Waits until the sentinels have found each other and the replica.
  for (const { port } of sentinels) {
    const control = ioredis(port);
    await until(async () => {
      const [state] = (await control.call('SENTINEL', 'MASTERS')) as string[][];
      const of = (field: string): string => state[state.indexOf(field) + 1];
      return of('num-other-sentinels') === '2' && of('num-slaves') === '1';
    }, 20_000);
    control.disconnect();
  }
}, 60_000);

afterAll(async () => {
  await Promise.all([...sentinels, master, replica].map((one) => one.stop()));
});

/** Retries, because the breaker may open once more until the old master has become a replica. */
async function answered(limiter: Limiter<Promise<Decision>>): Promise<Decision> {
  let decision: Decision | undefined;
  await until(async () => {
    decision = (await outcome(() => limiter.peek('a'))).value;
    return decision !== undefined;
  }, 10_000);
  return decision!;
}

interface Row {
  readonly connected: Connected;
  readonly limiter: Limiter<Promise<Decision>>;
  readonly events: BreakerEvent[];
  /**
   * Times of admissions, number of checks with an unknown outcome, and the time of the first admission by the
   * new master.
   */
  readonly admitted: number[];
  unknown: number;
  back: number;
  slowest: number;
  strange: unknown;
}

const isClosed = (events: readonly BreakerEvent[]): boolean => events.at(-1)?.type !== 'open';

describe('a master that is killed while checks run', () => {
  const LIMIT = 1_000_000;
  const rows = new Map<string, Row>();
  const unhandled = rejections();
  /** The replica had received everything that was admitted before this time. */
  let known = Infinity;
  /** When the sentinels had announced a new master. */
  let succeeded = Infinity;
  let lateness = 0;

  beforeAll(async () => {
    for (const [name, connect] of Object.entries(SENTINEL_CLIENTS)) {
      const connected = await connect(sentinels.map(({ port }) => port));
      const events: BreakerEvent[] = [];
      const store = redis(connected.client, {
        onFailure: 'throw',
        deadline: DEADLINE,
        onEvent: (event) => events.push(event),
      });
      const limiter = createLimiter(gcra({ limit: LIMIT, per: '365d' }), { store, name });
      await answered(limiter);
      events.length = 0;
      const counts = { unknown: 0, back: 0, slowest: 0, strange: undefined };
      rows.set(name, { connected, limiter, events, admitted: [], ...counts });
    }
    const all = [...rows.values()];
    const late = unpunctuality();
    let running = true;
    const check = async (row: Row): Promise<void> => {
      const { value, error, took } = await outcome(() => row.limiter.take('a'));
      row.slowest = Math.max(row.slowest, took);
      if (value?.allowed) row.admitted.push(performance.now());
      if (value?.allowed && row.back === 0 && performance.now() > succeeded)
        row.back = performance.now() - succeeded;
      if (error === undefined) return;
      if (!(error instanceof StoreUnavailable)) row.strange = error;
      // While the breaker is open, nothing is sent.
      else if (error.fault !== 'circuit-open') row.unknown++;
    };
    const checking = all.flatMap((row) =>
      Array.from({ length: 8 }, async () => {
        while (running) {
          await check(row);
          await sleep(2);
        }
      }),
    );
    await until(() => all.every(({ admitted }) => admitted.length > 100));
    const [old, next] = [ioredis(master.port), ioredis(replica.port)];
    known = performance.now();
    await replicated(old, next);
    for (const one of [old, next]) one.disconnect();
    await until(() => all.every(({ events }) => isClosed(events)));
    for (const { events } of all) events.length = 0;
    await master.stop('SIGKILL');
    const control = ioredis(sentinels[0].port);
    const named = async (): Promise<number> =>
      Number(((await control.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME)) as string[])[1]);
    await until(async () => (await named()) !== master.port, 120_000);
    control.disconnect();
    succeeded = performance.now();
    await outcome(() => until(() => all.every(({ back }) => back > 0), 15_000));
    running = false;
    await Promise.all(checking);
    lateness = late.stop();
  }, 180_000);

  afterAll(async () => {
    for (const { connected } of rows.values()) await connected.close();
    await unhandled.stop();
    expect(unhandled.seen).toEqual([]);
  });

  test.each(Object.keys(SENTINEL_CLIENTS))(
    'is replaced by its replica, and no check hangs in the meantime, with %s',
    async (name) => {
      const row = rows.get(name)!;
      expect(row.slowest).toBeLessThanOrEqual(DEADLINE + 10 + 2 * lateness);
      expect(row.strange).toBe(undefined);
      expect(row.back, 'back after').toBeGreaterThan(0);
      expect(row.back, 'back after').toBeLessThan(10_000);
      expect(row.events[0].type).toBe('open');
      // The breaker may open once more while the old master becomes a replica.
      expect(row.events.map(({ type }) => type)).toContain('close');

      const counted = LIMIT - (await answered(row.limiter)).remaining;
      const { length } = row.admitted;
      expect(counted).toBeLessThanOrEqual(length + row.unknown);
      const unheard = row.admitted.filter((at) => at > known && at < succeeded);
      expect(length - counted).toBeLessThanOrEqual(unheard.length);
    },
  );
});
