/**
 * Leases at their worst. Nodes take a little, so that each holds some of what the store has got back meanwhile; then all that
 * they hold and all that the store has left is spent at once. A bucket that was not made smaller for it lets too much pass.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createLimiter, gcra, leased, memory, StoreUnavailable, tokenBucket } from '../../src/index.ts';
import { random } from 'sluice-test-support/random.ts';
import { Book, type Instant, instant, steadily, steady } from './book.ts';
import { guarded, settle, type Take } from './bound-scenes.ts';
import type { Backend, Scene } from './scene.ts';
import { type Trouble, troubleBy } from './trouble.ts';

const NODES = 4;
const LANES = 3;
/** Milliseconds. A lease lasts a quarter of it, far longer than the spending takes. */
const [LIMIT, PER] = [800, 4000];
const LEASE = PER / 4;
/** Of what comes back, the part that is taken before. */
const LITTLE = 0.65;

/** `clock`: by which the store decides. */
export function spentAtOnce(backend: Backend, clock: () => Instant = instant): Scene {
  const scene = `${backend.name}: leases spent at once`;
  const { losses } = backend.trouble;
  return async (stage) => {
    const connections = Array.from({ length: NODES }, () => backend.connect());
    const stores = connections.map((one) => leased(one.store({ deadline: 200 }), { nodes: NODES }));
    const tables = [
      gcra({ limit: LIMIT, per: PER }),
      tokenBucket({ capacity: LIMIT, refill: LIMIT, every: PER }),
    ].map((policy) =>
      stores.map((store) => createLimiter(policy, { store, name: `${scene} ${policy.algorithm.name}` })),
    );

    const lane = async (number: number): Promise<void> => {
      const draw = random(stage.seed + 71 * number);
      const book = new Book({ burst: LIMIT, rate: LIMIT / PER, kept: LEASE, grain: 1, late: 0 });

      async function take(
        limiter: Take,
        key: string,
        cost: number,
        mode: 'whole' | 'partial',
      ): Promise<void> {
        const asked = clock();
        const { allowed, taken } = await limiter.take(key, { cost, mode });
        stage.checked(scene);
        if (taken > 0) book.add(asked, clock(), taken);
        if (!allowed) stage.denied(scene);
      }
      /** Whatever a node can give at once, and one more. */
      async function spend(limiter: Take, key: string): Promise<void> {
        for (;;) {
          const asked = clock();
          const answer = limiter.take(key);
          const { allowed } = answer instanceof Promise ? await answer : answer;
          stage.checked(scene);
          if (allowed) book.add(asked, clock(), 1);
          else stage.denied(scene);
          if (!allowed || answer instanceof Promise) return;
        }
      }
      for (let round = 0; !stage.isOver(); round++) {
        const [key, nodes] = [`${number} ${round}`, tables[draw(tables.length)]];
        const until = steady() + 1.2 * LEASE + draw(LEASE);
        for (let last = steady(); steady() < until && !stage.isOver(); ) {
          await sleep(20 + draw(20));
          const units = Math.max(1, Math.round((LITTLE * (steady() - last) * LIMIT) / PER / NODES));
          last = steady();
          const all = nodes.flatMap((node) => Array.from({ length: units }, () => node));
          await Promise.all(all.map((node) => guarded(stage, scene, () => take(node, key, 1, 'whole'))));
        }
        await Promise.all([
          guarded(stage, scene, () => take(nodes[0], key, LIMIT, 'partial')),
          ...nodes.map((node) => guarded(stage, scene, () => spend(node, key))),
        ]);
        settle(stage, scene, book, losses);
      }
    };
    await Promise.all(Array.from({ length: LANES }, (_, i) => lane(i)));
    for (const store of stores) await store.close();
    for (const connection of connections) await connection.close();
  };
}

export interface InMemory {
  readonly trouble: Trouble;
  readonly scene: Scene;
}

/** In memory nothing takes long, so that even a little too much is seen, however busy the machine is. */
export function spentInMemory(): InMemory {
  const rows = memory();
  let loss = 0;
  const backend: Backend = {
    name: 'memory',
    isInOrder: true,
    trouble: troubleBy(() => ({
      'lost answers': {
        async act(draw) {
          loss = 0.2;
          await sleep(500 + draw(500));
          loss = 0;
        },
      },
    })),
    connect: () => ({
      store: () => ({
        ...rows,
        async apply(hit) {
          const decision = rows.apply(hit);
          if (Math.random() < loss) throw new StoreUnavailable('deadline');
          return decision;
        },
      }),
      close: () => {},
    }),
    rows: async () => 0,
    stop: async () => {},
  };
  return { trouble: backend.trouble, scene: spentAtOnce(backend, () => steadily(steady())) };
}
