/** The interfaces that all scenarios of a soak share. */
import type { Decision, Millis, Store } from '../../src/index.ts';
import type { ManualClock } from '../../src/testing/index.ts';
import { steady } from './ledger.ts';
import type { FaultInjector } from './fault-injection.ts';

/** The run that a scenario is part of, and where it reports results. */
export interface Run {
  readonly seed: number;
  /** Whether the scenario has to end. */
  isOver(): boolean;
  /** Counts decisions that were checked. */
  checked(scenario: string, count?: number): void;
  /** Counts denials among the checked decisions. Without denials, no limit was reached. */
  denied(scenario: string, count?: number): void;
  /**
   * Counts a check that failed because the store was unavailable. `asked`: the time of the check by the steady clock; default
   * now.
   */
  unavailable(scenario: string, asked?: number): void;
  /** Reports how many rows a store keeps now, and how many it may keep. */
  rows(scenario: string, count: number, most: number): void;
  /** Milliseconds by which the machine has delayed this process so far. */
  late(): number;
  /** Reports something that must never happen. */
  violation(scenario: string, what: string): void;
}

/** Checks one property until the run is over. It reports under the name 'store: property'. */
export type Scenario = (run: Run) => Promise<void>;

/** A connection to a backend, as a separate process would have it. */
export interface Connection {
  store(options: StoreOptions): Store<Promise<Decision>>;
  close(): void | Promise<void>;
}

/** Measures how long something takes, without the time by which the machine delayed this process. */
export function stopwatch(run: Run): () => number {
  const [began, late] = [steady(), run.late()];
  return () => steady() - began - (run.late() - late);
}

export interface StoreOptions {
  readonly deadline: Millis;
  /** Replaces the server's time. */
  readonly clock?: ManualClock | undefined;
}

/** A server, or a substitute for one, that faults are injected into. */
export interface Backend {
  readonly name: string;
  readonly injector: FaultInjector;
  connect(): Connection;
  /** Whether hits of one tick are decided in their order, even during faults. */
  readonly isInOrder: boolean;
  /** How many rows the backend keeps for limiters of this name. */
  rows(name: string): Promise<number>;
  stop(): Promise<void>;
}
