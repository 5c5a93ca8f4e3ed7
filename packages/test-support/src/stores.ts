/**
 * Creates every store, with the clock of the test that uses it. The factories are arguments, because the library's own tests pass
 * the factories from its sources, and the tests of other packages pass those from its build.
 */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { Decision, memory, Store } from 'sluice';
import type { ipc } from 'sluice/ipc';
import type { redis } from 'sluice/redis';
import type { sharedMemory } from 'sluice/shared-memory';
import type { Hit, Plan } from 'sluice/store';
import type { ManualClock } from 'sluice/testing';
import { afterAll, inject } from 'vitest';

/** Creates a store. The store's decisions may be promises, so tests that run on all stores await them. */
export type MakeStore = (clock: ManualClock) => Store;

export interface StoreFactories {
  readonly memory: typeof memory;
  readonly sharedMemory: typeof sharedMemory;
  readonly ipc: typeof ipc;
  readonly redis: typeof redis;
}

type StoreName = 'memory' | 'shared memory' | 'ipc' | 'redis 7' | 'valkey';

/** Number of stores created so far in this process. It gives each store its own keys or its own socket. */
let stores = 0;

export function storesOf(make: StoreFactories): Readonly<Record<StoreName, MakeStore>> {
  /**
   * Creates stores on one of the shared servers, with a deadline that no test reaches. Tests of faults set their own deadlines.
   */
  function onServer(port: 'redisPort' | 'valkeyPort'): MakeStore {
    let client: Redis | undefined;
    afterAll(() => client?.disconnect());
    return (clock) => {
      client ??= new Redis(inject(port), '127.0.0.1');
      return apart(make.redis(client, { onFailure: 'throw', clock, deadline: '30s' }));
    };
  }

  /** Creates two stores. One store serves a socket. The other store, which is returned, sends its hits to that socket. */
  function overSocket(clock: ManualClock): Store<Promise<Decision>> {
    const path = join(tmpdir(), `sluice-${process.pid}-${++stores}.sock`);
    const server = make.ipc({
      onFailure: 'throw',
      path,
      store: make.memory({ clock }),
      deadline: '30s',
    });
    const client = make.ipc({ onFailure: 'throw', path, serve: false, deadline: '30s' });
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

  return {
    memory: (clock) => make.memory({ clock }),
    'shared memory': (clock) => make.sharedMemory({ clock, maxKeys: 1000 }),
    ipc: overSocket,
    'redis 7': onServer('redisPort'),
    valkey: onServer('valkeyPort'),
  };
}

/** Prefixes a store's keys, so that they differ from those of other stores on the same server. */
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
