/** Runs the conformance claims, which every store must satisfy, over HTTP against a server on a store in memory and on Redis. */
import { Redis } from 'ioredis';
import { type Decision, memory, type Store } from 'sluice';
import { redis } from 'sluice/redis';
import { remote } from 'sluice/remote';
import type { Hit } from 'sluice/store';
import { conformance, type ManualClock } from 'sluice/testing';
import { afterAll, beforeAll, describe, inject, test } from 'vitest';
import { openHttp } from '../../src/listeners/http/http.ts';
import type { Listener } from '../../src/listeners/listener.ts';
import { openedForFile } from '../listeners/listeners.ts';

const client = new Redis(inject('redisPort'), '127.0.0.1', { lazyConnect: true });
afterAll(() => client.disconnect());
/** Number of claims so far. It gives each claim its own keys, because the Redis server is shared with other tests. */
let claims = 0;

const STORES: Readonly<Record<string, (clock: ManualClock) => Store>> = {
  memory: (clock) => memory({ clock }),
  redis(clock) {
    const store = redis(client, { clock, onFailure: 'throw', deadline: '30s' });
    const own = `${process.pid} ${++claims} `;
    const apply = (hit: Hit): Promise<Decision> =>
      store.apply({ ...hit, plan: { ...hit.plan, name: own + hit.plan.name } });
    return { ...store, apply };
  },
};

describe.each(Object.entries(STORES))('remote, to a server on %s,', (_, make) => {
  let listener: Listener;
  let store: Store;
  beforeAll(async () => {
    // All claims use one server, which decides with the store of the claim that is running.
    const current: Store = { clock: memory().clock, apply: (hit) => store.apply(hit), close() {} };
    const own = { store: current, remote: true, adminWithoutToken: true };
    ({ listener } = await openedForFile(openHttp, 'limits: { api: 1/s }', own));
  });
  afterAll(() => listener.drain(0));

  function overHttp(clock: ManualClock): Store<Promise<Decision>> {
    store = make(clock);
    const url = `http://127.0.0.1:${listener.address.port}`;
    return remote(url, { onFailure: 'throw', deadline: '30s' });
  }
  for (const { name, run } of conformance(overHttp)) test(name, run);
});
