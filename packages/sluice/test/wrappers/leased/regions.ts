/**
 * Simulates regions in simulated time. The nodes of a region lease from its server, and the servers lease from one central
 * store. The wrappers and the store are real; only clocks and messages are simulated.
 */
import { Alarms } from '../../../src/testing/alarms.ts';
import {
  createLimiter,
  type Decision,
  leased,
  memory,
  type Millis,
  type Policies,
  type Store,
} from '../../../src/index.ts';
import type { Clock, Hit } from '../../../src/store.ts';
import { randomOf, type Spend, START } from './simulation.ts';

export interface Regions {
  readonly seed: number;
  readonly policies: Policies;
  readonly length: Millis;
  readonly regions: number;
  readonly nodesPerRegion: number;
  /** Time of a message between a region and the central store, in one direction. */
  readonly distance: Millis;
  /** Hits per second on all nodes of this region together, at this time. */
  readonly load: (region: number, at: Millis) => number;
  /** Whether messages between this region and the central store are lost at this time. */
  readonly isCutOff?: (region: number, at: Millis) => boolean;
  /** Changes a decision of a regional server on its way to a node, to test what happens if wrappers are wrong. */
  readonly tamper?: (decision: Decision) => Decision;
}

export interface RegionsResult {
  /** Admitted units, in order of time. `node` is the index of the region. */
  readonly spends: readonly Spend[];
  /** Hits of callers in each region. */
  readonly takes: readonly number[];
  /** Number of messages from each region to the central store. */
  readonly calls: readonly number[];
}

/** Time of a message within a region, in one direction. */
const NEAR: readonly [Millis, Millis] = [0.3, 1.5];
/** Milliseconds after which an answer counts as lost. */
const DEADLINE = 1000;
/** After a lost answer, a region sends nothing to the central store for this long, as with an open circuit breaker. */
const PAUSE = 1000;

export async function simulateRegions(scenario: Regions): Promise<RegionsResult> {
  const {
    seed,
    policies,
    length,
    regions,
    nodesPerRegion,
    distance,
    load,
    isCutOff = () => false,
  } = scenario;
  const { tamper = (decision) => decision } = scenario;
  const alarms = new Alarms();
  let time = START;
  const home = memory({ clock: { now: () => time, after: (span, wake) => alarms.set(time + span, wake) } });
  /** When a store decided. A hit that is not spent from the lease of a node counts at that time. */
  const decidedAt = new WeakMap<Decision, Millis>();
  const spends: Spend[] = [];
  const takes = Array.from({ length: regions }, () => 0);
  const calls = Array.from({ length: regions }, () => 0);

  /** A clock of a machine. No two machines agree on the time. */
  function clockOf(random: () => number): Clock {
    const offset = (random() - 0.5) * 7_200_000;
    return { now: () => time + offset, after: (span, wake) => alarms.set(time + span, wake) };
  }

  function regionalServer(region: number): Store {
    const random = randomOf(seed * 100 + region);
    const clock = clockOf(random);
    let pausedUntil = 0;
    const link: Store<Promise<Decision>> = {
      clock,
      apply(hit) {
        if (time < pausedUntil) return Promise.reject(new Error('circuit open'));
        calls[region]++;
        const sent = time;
        const isLost = () => isCutOff(region, time - START);
        return new Promise((resolve, reject) => {
          alarms.set(sent + DEADLINE, () => {
            if (decision === undefined) pausedUntil = time + PAUSE;
            reject(new Error('no answer'));
          });
          let decision: Decision | undefined;
          if (isLost()) return;
          alarms.set(sent + distance * (0.9 + 0.2 * random()), () => {
            const made = home.apply(hit);
            decidedAt.set(made, time);
            if (isLost()) return;
            alarms.set(time + distance * (0.9 + 0.2 * random()), () => {
              decision = made;
              resolve(made);
            });
          });
        });
      },
      close() {},
    };
    return leased(link, { nodes: regions, clock, random });
  }

  function node(region: number, index: number, server: Store): () => void {
    const random = randomOf(seed * 10_000 + region * 100 + index);
    const clock = clockOf(random);
    const travel = () => NEAR[0] + random() * (NEAR[1] - NEAR[0]);
    async function decide(hit: Hit): Promise<Decision> {
      const decision = await server.apply(hit);
      if (!decidedAt.has(decision)) decidedAt.set(decision, time);
      return decision;
    }
    const link: Store<Promise<Decision>> = {
      clock,
      apply: (hit) =>
        new Promise((resolve, reject) => {
          alarms.set(time + travel(), () => {
            decide(hit).then(
              (decision) => {
                const told = tamper(decision);
                decidedAt.set(told, decidedAt.get(decision) as Millis);
                alarms.set(time + travel(), () => resolve(told));
              },
              (error: unknown) => alarms.set(time + travel(), () => reject(error)),
            );
          });
        }),
      close() {},
    };
    const limiter = createLimiter(policies, {
      store: leased(link, { nodes: regions * nodesPerRegion, clock, random }),
      name: 'simulated',
    });
    const perNode = () => load(region, time - START) / nodesPerRegion;
    function record(decision: Decision): void {
      if (decision.allowed) spends.push({ at: decidedAt.get(decision) ?? time, cost: 1, node: region });
    }
    function arrive(): void {
      const rate = perNode();
      alarms.set(time + (rate === 0 ? 10 : (-Math.log(1 - random()) * 1000) / rate), arrive);
      if (rate === 0) return;
      takes[region]++;
      const decision = limiter.take('key');
      if (decision instanceof Promise) decision.then(record, () => {});
      else record(decision);
    }
    return arrive;
  }

  for (let region = 0; region < regions; region++) {
    const server = regionalServer(region);
    for (let i = 0; i < nodesPerRegion; i++) alarms.set(time, node(region, i, server));
  }
  while (alarms.next() <= START + length) {
    time = Math.max(time, alarms.next());
    const before = alarms.next();
    alarms.ring();
    // Promises settle before the clock moves on.
    if (alarms.next() > before) for (let i = 0; i < 20; i++) await Promise.resolve();
  }
  return { spends: spends.toSorted((a, b) => a.at - b.at), takes, calls };
}
