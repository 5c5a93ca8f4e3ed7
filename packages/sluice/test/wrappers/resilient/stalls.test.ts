/** Tests stores that stall while callers hold places. Every place must be freed, and there must never be too many holders. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { casStore, concurrency, createLimiter, type Decision, type Store } from '../../../src/index.ts';
import type { CasService } from '../../../src/store.ts';
import { ipc } from '../../../src/stores/ipc/index.ts';
import { postgres } from '../../../src/stores/postgres/index.ts';
import { redis } from '../../../src/stores/redis/index.ts';
import type { ResilientOptions } from '../../../src/wrappers/resilient/resilient.ts';
import { checker, socketPath } from '../../stores/ipc/processes.ts';
import { postgresServer } from 'sluice-test-support/postgres/server.ts';
import { ioredis, ONCE } from 'sluice-test-support/redis/clients.ts';
import { proxyTo } from '../../stores/redis/proxy.ts';
import { redisServer } from 'sluice-test-support/redis/server.ts';
import { outcome, outcomes, until } from 'sluice-test-support/redis/watch.ts';

const DEADLINE = 100;

interface Backend {
  /** A store over a connection that can be stalled. */
  store(options: ResilientOptions): Store<Promise<Decision>>;
  /** A store over a connection that is not stalled, if there is one. */
  direct(): Store<Promise<Decision>>;
  stall(isStalled: boolean): void;
  stop(): Promise<void>;
}

/** A service that applies each write, but delays its answer while it is stalled. */
function heldBack() {
  const values = new Map<string, { value: Uint8Array; version: number }>();
  let version = 0;
  let gate: Promise<void> | undefined;
  let open = (): void => {};
  const service: CasService<number> = {
    get: (key) => values.get(key),
    async put(key, value, expected) {
      const isNewest = values.get(key)?.version === expected;
      if (isNewest) values.set(key, { value, version: ++version });
      await gate;
      return isNewest;
    },
  };
  return {
    service,
    stall: (isStalled: boolean): void => {
      open();
      gate = isStalled ? new Promise((resolve) => (open = resolve)) : undefined;
    },
  };
}

const BACKENDS: Readonly<Record<string, () => Promise<Backend>>> = {
  async Redis() {
    const server = await redisServer();
    const proxy = await proxyTo(server.port);
    const clients = [ioredis(proxy.port), ioredis(server.port)];
    return {
      store: (options) => redis(clients[0], options),
      direct: () => redis(clients[1], { deadline: '10s', onFailure: 'throw' }),
      stall(isStalled) {
        proxy.paused = isStalled;
      },
      async stop() {
        for (const client of clients) client.disconnect();
        await proxy.stop();
        await server.stop();
      },
    };
  },
  async casStore() {
    const { service, stall } = heldBack();
    return {
      store: (options) => casStore(service, options),
      direct: () => casStore(service, { deadline: '10s', onFailure: 'throw' }),
      stall,
      async stop() {},
    };
  },
  async Postgres() {
    const server = await postgresServer();
    const proxy = await proxyTo(server.port);
    const far = server.pool({ connectionString: server.url.replace(`:${server.port}/`, `:${proxy.port}/`) });
    return {
      store: (options) => postgres(far, options),
      direct: () => postgres(server.pool(), { deadline: '10s', onFailure: 'throw' }),
      stall(isStalled) {
        proxy.paused = isStalled;
      },
      async stop() {
        await server.stop();
        await proxy.stop();
      },
    };
  },
  async ipc() {
    const path = socketPath();
    const serving = await checker({ path });
    const stores: Store<Promise<Decision>>[] = [];
    const made = (options: ResilientOptions): Store<Promise<Decision>> => {
      const store = ipc({ onFailure: 'throw', path, serve: false, ...options });
      stores.push(store);
      return store;
    };
    return {
      store: made,
      direct: () => made({ deadline: '10s', onFailure: 'throw' }),
      stall: (isStalled) => void serving.child.kill(isStalled ? 'SIGSTOP' : 'SIGCONT'),
      async stop() {
        for (const store of stores) await store.close();
        const gone = once(serving.child, 'exit');
        serving.child.kill('SIGKILL');
        await gone;
      },
    };
  },
};

const SLOTS = concurrency({ limit: 20, lease: '60s' });

describe.each(Object.entries(BACKENDS))('%s that stalls for half a second', (_, open) => {
  test('has freed all 20 places within a second after the stall', { timeout: 60_000 }, async () => {
    const backend = await open();
    const store = backend.store({ deadline: DEADLINE, onFailure: 'throw' });
    const limiter = createLimiter(SLOTS, { store, name: 'slots' });
    const witness = createLimiter(SLOTS, { store: backend.direct(), name: 'slots' });
    const left = async (): Promise<number> => (await witness.peek('a')).remaining;
    try {
      await until(async () => (await outcome(() => limiter.peek('a'))).value !== undefined);
      const held = await outcomes(8, () => limiter.take('a'));
      expect(held.every(({ value }) => value?.allowed)).toBe(true);
      backend.stall(true);
      const stalled = sleep(500);
      // Causes late charges, releases whose answer is late, and releases that are not sent.
      await outcomes(8, () => limiter.take('a'));
      await outcomes(8, () => limiter.release('a'));
      await stalled;
      backend.stall(false);
      expect(await until(async () => (await left()) === 20, 5000)).toBeLessThan(1000);
      await sleep(200);
      // Charges that are late because the machine is busy are undone as well.
      for (let taken = 0; taken < 3; taken++)
        await until(async () => (await outcome(() => limiter.take('a'))).value?.source === 'store');
      expect(await until(async () => (await left()) === 17, 5000)).toBeLessThan(1000);
    } finally {
      await store.close();
      await backend.stop();
    }
  });
});

/** A generator of numbers from 0 to 1 that returns the same numbers for the same seed. */
function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const SEEDS = Array.from({ length: 6 }, (_, i) => 100 * Number(process.env['SEED'] ?? 1) + i);

describe('random stalls and disconnects', () => {
  test.each(SEEDS)(
    'with seed %i never lead to more than 5 held places in Redis, and leave no place held if there are no disconnects',
    {
      timeout: 60_000,
    },
    async (seed) => {
      const next = random(seed);
      const pick = <T>(items: readonly T[]): T => items[Math.floor(next() * items.length)];
      // After a lost reply it is unknown whether a place was released, so with cuts, places may stay held until their leases end.
      const cuts = seed % 2 === 1;
      const slots = concurrency({ limit: 5, lease: '60s' });
      const server = await redisServer();
      const nodes = await Promise.all(
        (['throw', 'deny', 'allow', 'local', createLimiter(slots)] as const).map(async (onFailure) => {
          const proxy = await proxyTo(server.port);
          const client = ioredis(proxy.port, ONCE);
          const store = redis(client, { deadline: 40, onFailure });
          return { proxy, client, store, limiter: createLimiter(slots, { store, name: 'slots' }) };
        }),
      );
      let [holding, most, admitted, isOver] = [0, 0, 0, false];

      async function hold(limiter: (typeof nodes)[number]['limiter']): Promise<void> {
        const { value: decision } = await outcome(() =>
          next() < 0.5 ? limiter.take('a') : limiter.acquire('a', { timeout: 30 }),
        );
        if (!decision?.allowed) {
          await sleep(5);
          return;
        }
        const isCounted = decision.source === 'store';
        if (isCounted) {
          admitted++;
          most = Math.max(most, ++holding);
        }
        await sleep(20 * next());
        if (isCounted) holding--;
        await outcome(() => limiter.release('a', { of: decision }));
      }

      try {
        const workers = nodes.flatMap(({ limiter }) =>
          Array.from({ length: 4 }, async () => {
            while (!isOver) await hold(limiter);
          }),
        );
        for (let i = 0; i < 25; i++) {
          const { proxy } = pick(nodes);
          const fault = next();
          if (cuts && fault < 0.3) {
            proxy.mute = true;
            await sleep(60 * next());
            proxy.mute = false;
            proxy.cut();
          } else if (fault < 0.7) {
            proxy.paused = true;
            await sleep(150 * next());
            proxy.paused = false;
          } else {
            server.process.kill('SIGSTOP');
            await sleep(120 * next());
            server.process.kill('SIGCONT');
          }
          await sleep(60 * next());
        }
        isOver = true;
        await Promise.all(workers);
        expect(most).toBeLessThanOrEqual(5);
        // With cuts, the places that stay held soon leave none for other callers.
        expect(admitted).toBeGreaterThan(cuts ? 0 : 20);
        const control = createLimiter(slots, {
          store: redis(nodes[0].client, { deadline: '10s', onFailure: 'throw' }),
          name: 'slots',
        });
        if (!cuts)
          expect(await until(async () => (await control.peek('a')).remaining === 5, 5000)).toBeLessThan(1000);
      } finally {
        isOver = true;
        for (const { proxy, client, store } of nodes) {
          await store.close();
          client.disconnect();
          await proxy.stop();
        }
        await server.stop();
      }
    },
  );
});
