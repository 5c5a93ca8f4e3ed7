/** Every store, one entry each, with the clock of the test that uses it. */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, inject } from 'vitest';
import { type Decision, type Hit, memory, type Plan, type Store } from '../../src/index.ts';
import { ipc } from '../../src/stores/ipc/index.ts';
import { redis } from '../../src/stores/redis/index.ts';
import { sharedMemory } from '../../src/stores/shared-memory/index.ts';
import type { ManualClock } from '../../src/testing/index.ts';

/** A limiter on any store. Tests that run over all stores await its answers. */
export type MakeStore = (clock: ManualClock) => Store;

export const STORES: Readonly<Record<string, MakeStore>> = {
  memory: (clock) => memory({ clock }),
  'shared memory': (clock) => sharedMemory({ clock, maxKeys: 1000 }),
  ipc: overSocket,
  'redis 7': onServer('redisPort'),
  valkey: onServer('valkeyPort'),
};

/** A separate store on the shared server. A slow answer is not a failure here: fault tests cover the deadline. */
function onServer(port: 'redisPort' | 'valkeyPort'): MakeStore {
  let client: Redis | undefined;
  afterAll(() => client?.disconnect());
  return (clock) => {
    client ??= new Redis(inject(port), '127.0.0.1');
    return apart(redis(client, { onFailure: 'throw', clock, deadline: '30s' }));
  };
}

let stores = 0;

/** One store serves, and the other one is its client. */
function overSocket(clock: ManualClock): Store<Promise<Decision>> {
  const path = join(tmpdir(), `sluice-${process.pid}-${++stores}.sock`);
  const server = ipc({ onFailure: 'throw', path, store: memory({ clock }), deadline: '30s' });
  const client = ipc({ onFailure: 'throw', path, serve: false, deadline: '30s' });
  let served: Promise<unknown> | undefined;
  return {
    clock: client.clock,
    async apply(hit) {
      served ??= server.apply({ ...hit, verb: 'peek' });
      await served;
      return client.apply(hit);
    },
    async close() {
      await client.close();
      await server.close();
    },
  };
}

/** Separates a store's keys from those of other stores on the same server. */
function apart(store: Store<Promise<Decision>>): Store<Promise<Decision>> {
  const own = `${process.pid} ${++stores}`;
  const plans = new WeakMap<Plan, Plan>();
  const planOf = (plan: Plan): Plan => {
    const known = plans.get(plan) ?? { ...plan, name: `${own} ${plan.name}` };
    plans.set(plan, known);
    return known;
  };
  const apply = (hit: Hit) => store.apply({ ...hit, plan: planOf(hit.plan) });
  return { ...store, backend: undefined, apply };
}

/** The same keys through another store object, as in another process: its limiters do not know those on the first one. */
export function another<R extends Decision | Promise<Decision>>(store: Store<R>): Store<R> {
  return { ...store, backend: undefined, apply: (hit) => store.apply(hit), close() {} };
}
