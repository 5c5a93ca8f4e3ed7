/**
 * The worst case for leases. Nodes take a few units, so that each holds leases while the store replenishes; then all leases and
 * all units left in the store are spent together. If the burst of a bucket were not reduced for leases, too many units would be
 * admitted.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createLimiter, gcra, leased, memory, StoreUnavailable, tokenBucket } from '../../src/index.ts';
import { random } from 'sluice-test-support/random.ts';
import { Ledger, type Instant, instant, steadily, steady } from './ledger.ts';
import { expectAnswer, checkLedger, type Take } from './limit-scenarios.ts';
import type { Backend, Scenario } from './scenario.ts';
import { type FaultInjector, faultInjector } from './fault-injection.ts';

const NODES = 4;
const LANES = 3;
/** LIMIT is in units, PER in milliseconds. A lease lasts a quarter of PER, far longer than the spending takes. */
const [LIMIT, PER] = [800, 4000];
const LEASE = PER / 4;
/** Fraction of the replenished units that nodes take before all leases are spent. */
const EARLY_LOAD = 0.65;

/** `clock` is the clock by which the store decides. */
export function spendsAllLeases(backend: Backend, clock: () => Instant = instant): Scenario {
  const scenario = `${backend.name}: all leases spent together`;
  const { losses } = backend.injector;
  return async (run) => {
    const connections = Array.from({ length: NODES }, () => backend.connect());
    const stores = connections.map((one) => leased(one.store({ deadline: 200 }), { nodes: NODES }));
    const tables = [
      gcra({ limit: LIMIT, per: PER }),
      tokenBucket({ capacity: LIMIT, refill: LIMIT, every: PER }),
    ].map((policy) =>
      stores.map((store) => createLimiter(policy, { store, name: `${scenario} ${policy.algorithm.name}` })),
    );

    const lane = async (number: number): Promise<void> => {
      const draw = random(run.seed + 71 * number);
      const ledger = new Ledger({ burst: LIMIT, rate: LIMIT / PER, kept: LEASE, grain: 1, late: 0 });

      async function take(
        limiter: Take,
        key: string,
        cost: number,
        mode: 'whole' | 'partial',
      ): Promise<void> {
        const asked = clock();
        const { allowed, taken } = await limiter.take(key, { cost, mode });
        run.checked(scenario);
        if (taken > 0) ledger.add(asked, clock(), taken);
        if (!allowed) run.denied(scenario);
      }
      /** Takes all units that a node holds, and one more. */
      async function spend(limiter: Take, key: string): Promise<void> {
        for (;;) {
          const asked = clock();
          const answer = limiter.take(key);
          const { allowed } = answer instanceof Promise ? await answer : answer;
          run.checked(scenario);
          if (allowed) ledger.add(asked, clock(), 1);
          else run.denied(scenario);
          if (!allowed || answer instanceof Promise) return;
        }
      }
      for (let round = 0; !run.isOver(); round++) {
        const [key, nodes] = [`${number} ${round}`, tables[draw(tables.length)]];
        const until = steady() + 1.2 * LEASE + draw(LEASE);
        for (let last = steady(); steady() < until && !run.isOver(); ) {
          await sleep(20 + draw(20));
          const units = Math.max(1, Math.round((EARLY_LOAD * (steady() - last) * LIMIT) / PER / NODES));
          last = steady();
          const all = nodes.flatMap((node) => Array.from({ length: units }, () => node));
          await Promise.all(
            all.map((node) => expectAnswer(run, scenario, () => take(node, key, 1, 'whole'))),
          );
        }
        await Promise.all([
          expectAnswer(run, scenario, () => take(nodes[0], key, LIMIT, 'partial')),
          ...nodes.map((node) => expectAnswer(run, scenario, () => spend(node, key))),
        ]);
        checkLedger(run, scenario, ledger, losses);
      }
    };
    await Promise.all(Array.from({ length: LANES }, (_, i) => lane(i)));
    for (const store of stores) await store.close();
    for (const connection of connections) await connection.close();
  };
}

export interface InMemory {
  readonly injector: FaultInjector;
  readonly scenario: Scenario;
}

/** In memory, all answers are fast, so that even a few units above the limit are detected on a busy machine. */
export function leasesInMemory(): InMemory {
  const rows = memory();
  let loss = 0;
  const backend: Backend = {
    name: 'memory',
    isInOrder: true,
    injector: faultInjector(() => ({
      'lost answers': {
        async inject(draw) {
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
  return { injector: backend.injector, scenario: spendsAllLeases(backend, () => steadily(steady())) };
}
