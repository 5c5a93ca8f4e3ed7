/** Tests a cluster in which one node hangs. Keys on the other nodes must not be affected. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLimiter, type Decision } from '../../../src/index.ts';
import { type BreakerEvent, redis } from '../../../src/stores/redis/index.ts';
import { slotOf } from '../../../src/stores/redis/hash-slots.ts';
import { type Cluster, CLUSTER_CLIENTS, startCluster } from './cluster.ts';
import { outcome, type Outcome, punctually, until } from 'sluice-test-support/redis/watch.ts';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster();
}, 60_000);
afterAll(() => cluster.stop());

const KEYS = Array.from({ length: 60 }, (_, i) => `key ${i}`);

test('the store computes the same slots as Redis', async () => {
  const [{ control }] = cluster.nodes;
  for (const key of ['', 'a', 'api:{alice}', 'api:{}', '{a}{b}', 'a{b', 'api:{Grüße 🙂}'])
    expect(slotOf(key)).toBe(Number(await control.cluster('KEYSLOT', key)));
});

test.each(['ioredis', 'iovalkey', 'node-redis', 'valkey-glide'])(
  'with %s, the store still decides checks on healthy nodes while one node hangs',
  { timeout: 60_000 },
  (name) =>
    // A replica takes over after five seconds without an answer from its master.
    punctually(50, async () => {
      await until(() => cluster.isWell(), 30_000);
      const masters = await cluster.masters();
      const connected = await CLUSTER_CLIENTS[name](masters.map(({ server }) => server.port));
      const events: BreakerEvent[] = [];
      const store = redis(connected.client, {
        deadline: 50,
        onFailure: 'deny',
        onEvent: (event) => events.push(event),
      });
      const limiter = createLimiter('1000000/s', { store, name: 'api' });
      const nodes = await Promise.all(KEYS.map((key) => cluster.masterOf(`api:{${key}}`)));
      const hung = nodes[0];
      try {
        await until(async () => (await Promise.all(KEYS.map((key) => limiter.take(key)))).every(isStores));
        events.length = 0;
        hung.server.process.kill('SIGSTOP');
        const [healthy, others]: Outcome<Decision>[][] = [[], []];
        const end = performance.now() + 1500;
        while (performance.now() < end) {
          void KEYS.map(async (key, i) => {
            const check = await outcome(() => limiter.take(key));
            (nodes[i] === hung ? others : healthy).push(check);
          });
          await sleep(100);
        }
        await sleep(200);
        expect(healthy.length).toBeGreaterThan(200);
        expect(healthy.filter(({ value }) => value === undefined || !isStores(value))).toEqual([]);
        expect(others.every(({ value }) => value?.source === 'fallback')).toBe(true);
        if (name === 'valkey-glide') return;
        // Only the breaker of this node is open, and checks of its keys are answered without delay.
        expect(events).toMatchObject([
          { type: 'open', node: expect.stringContaining(`:${hung.server.port}`) },
        ]);
        expect(others.slice(-10).every(({ took }) => took < 50)).toBe(true);
      } finally {
        hung.server.process.kill('SIGCONT');
        await connected.close();
      }
    }),
);

function isStores({ source }: Decision): boolean {
  return source === 'store';
}
