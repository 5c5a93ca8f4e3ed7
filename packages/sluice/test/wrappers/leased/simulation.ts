/**
 * Simulates many nodes, one store, and faults between them, in simulated time. The same seed gives the same result.
 * The wrappers and the store are real; only clocks and messages are simulated.
 */
import { Alarms } from '../../../src/testing/alarms.ts';
import {
  createLimiter,
  type Decision,
  type Limiter,
  type MaybePromise,
  memory,
  type Millis,
  type Policies,
  type Store,
} from '../../../src/index.ts';
import type { Clock, Hit } from '../../../src/store.ts';
import { manualClock } from '../../../src/testing/index.ts';

/** The clock and random numbers of a node. */
export interface Machine {
  readonly clock: Clock;
  readonly random: () => number;
}

/** A node stalls for a while, or forever; or answers to it are lost for a while. */
export interface Fault {
  readonly kind: 'stall' | 'crash' | 'losses';
  readonly node: number;
  readonly at: Millis;
  readonly span: Millis;
}

export interface Scenario {
  readonly seed: number;
  readonly nodes: number;
  readonly policies: Policies;
  readonly length: Millis;
  /** Hits per second at this node and time. */
  readonly load: (node: number, at: Millis) => number;
  /** Cost of each hit; default 1. */
  readonly cost?: (random: () => number) => number;
  /** Latency in one direction, in milliseconds; default 0.5 to 2. */
  readonly delay?: readonly [least: Millis, most: Millis];
  /** Fraction of answers that never arrive; default 0. */
  readonly lost?: number;
  readonly faults?: readonly Fault[];
  /** Wraps the store of a node; by default, each check calls the store. */
  readonly wrap?: (store: Store, machine: Machine) => Store;
  /** Changes a hit before the store applies it, to test what happens if wrappers are wrong. */
  readonly tamper?: (hit: Hit) => Hit;
}

export interface Spend {
  readonly at: Millis;
  readonly cost: number;
  readonly node: number;
}

export interface SimulationResult {
  /** Admitted units, in order of time. */
  readonly spends: readonly Spend[];
  readonly decisions: number;
  /** Messages to the store. */
  readonly calls: number;
  readonly failures: number;
}

/** Milliseconds after which an answer counts as lost. */
const DEADLINE = 200;
/** When a simulation begins. */
export const START = 1_700_000_000_123;

export async function simulate(scenario: Scenario): Promise<SimulationResult> {
  const { seed, nodes, policies, length, load, cost = () => 1, delay = [0.5, 2], lost = 0 } = scenario;
  const { faults = [], wrap = (store) => store, tamper = (hit) => hit } = scenario;
  const alarms = new Alarms();
  let time = START;
  const server = memory({ clock: { now: () => time, after: (span, wake) => alarms.set(time + span, wake) } });
  /** When the store decided. A direct check counts at that time, not when the answer arrives. */
  const decidedAt = new WeakMap<Decision, Millis>();
  const spends: Spend[] = [];
  let decisions = 0;
  let calls = 0;
  let failures = 0;

  function node(index: number): () => void {
    const messages = randomOf(seed * 1000 + index);
    const arrivals = randomOf(seed * 2000 + index);
    const offset = (messages() - 0.5) * 7_200_000;
    let busyUntil = 0;
    const isFault = (kind: Fault['kind']) =>
      faults.find(
        (fault) =>
          fault.kind === kind &&
          fault.node === index &&
          time >= START + fault.at &&
          time < START + fault.at + fault.span,
      );

    /** Runs a function, but later if the node is stalled, and never if it has crashed. */
    function act(what: () => void): void {
      const stall = isFault('stall');
      if (stall !== undefined) busyUntil = START + stall.at + stall.span;
      if (isFault('crash')) return;
      if (time < busyUntil) alarms.set(busyUntil, () => act(what));
      else what();
    }
    const clock: Clock = {
      now: () => time + offset,
      after(span, wake) {
        return alarms.set(time + span, () => act(wake));
      },
    };
    const travel = () => delay[0] + messages() * (delay[1] - delay[0]);

    const remote: Store<Promise<Decision>> = {
      clock,
      apply(hit) {
        calls++;
        const there = travel();
        const back = travel();
        const isLost = messages() < lost;
        return new Promise((resolve, reject) => {
          alarms.set(time + there, () => {
            const decision = server.apply(tamper(hit));
            decidedAt.set(decision, time);
            if (isLost || isFault('losses'))
              alarms.set(time + DEADLINE, () => act(() => reject(new Error('no answer'))));
            else alarms.set(time + back, () => act(() => resolve(decision)));
          });
        });
      },
      close() {},
    };
    const limiter: Limiter<MaybePromise<Decision>> = createLimiter(policies, {
      store: wrap(remote, { clock, random: messages }),
      name: 'simulated',
    });

    function arrive(): void {
      const units = cost(arrivals);
      alarms.set(time + gap(), arrive);
      if (load(index, time - START) === 0) return;
      act(() => {
        const decision = limiter.take('key', units);
        if (!(decision instanceof Promise)) return record(decision, units);
        decision.then(
          (later) => record(later, units),
          () => failures++,
        );
      });
    }
    /** Returns a random time until the next hit, according to the load. If there is no load, the load is checked again soon. */
    function gap(): Millis {
      const rate = load(index, time - START);
      return rate === 0 ? 10 : (-Math.log(1 - arrivals()) * 1000) / rate;
    }
    function record(decision: Decision, units: number): void {
      decisions++;
      if (decision.allowed) spends.push({ at: decidedAt.get(decision) ?? time, cost: units, node: index });
    }
    return arrive;
  }

  for (let i = 0; i < nodes; i++) alarms.set(time, node(i));
  while (alarms.next() <= START + length) {
    time = Math.max(time, alarms.next());
    const before = alarms.next();
    alarms.ring();
    // Promises settle before the clock moves on.
    if (alarms.next() > before) await settled();
  }
  return { spends: spends.toSorted((a, b) => a.at - b.at), decisions, calls, failures };
}

/** Waits until pending promises have settled. */
async function settled(): Promise<void> {
  for (let i = 0; i < 12; i++) await Promise.resolve();
}

/** Units that the policies would have denied at these instants without a wrapper. */
export function overAdmitted(policies: Policies, spends: readonly Spend[]): number {
  const clock = manualClock();
  const direct = createLimiter(policies, { store: memory({ clock }) });
  let over = 0;
  for (const { at, cost } of spends) {
    clock.set(at);
    if (!direct.take('key', cost).allowed) over += cost;
  }
  return over;
}

/**
 * The largest number of units by which any window of any length exceeds `atMost(length)`, or 0. Windows for whose length
 * `atMost` is Infinity are not checked. If `atMost` is never below base + rate · length, most windows can be skipped: they stay
 * below that line.
 */
export function excess(
  spends: readonly Spend[],
  atMost: (window: Millis) => number,
  { base, rate } = { base: -Infinity, rate: 0 },
): number {
  // For each spend, how far the running sum rises above the line, from this spend on.
  const start = spends[0]?.at ?? 0;
  let before = total(spends);
  let highest = -Infinity;
  const highestFrom = spends.map(() => 0);
  for (let i = spends.length - 1; i >= 0; i--) {
    highest = Math.max(highest, before - rate * (spends[i].at - start));
    highestFrom[i] = highest;
    before -= spends[i].cost;
  }
  let most = 0;
  for (let first = 0; first < spends.length; first++) {
    const reach = highestFrom[first] + rate * (spends[first].at - start) - before - base;
    before += spends[first].cost;
    if (reach <= most) continue;
    let sum = 0;
    for (let last = first; last < spends.length; last++) {
      const allowed = atMost(spends[last].at - spends[first].at);
      if (allowed === Infinity) break;
      sum += spends[last].cost;
      if (sum - allowed > most) most = sum - allowed;
    }
  }
  return most;
}

export function total(spends: readonly Spend[]): number {
  return spends.reduce((sum, { cost }) => sum + cost, 0);
}

/** Random numbers from 0 to 1, the same for the same seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
