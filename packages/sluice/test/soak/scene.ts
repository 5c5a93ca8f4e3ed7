/** What all scenes of a soak share. */
import type { Decision, Millis, Store } from '../../src/index.ts';
import type { ManualClock } from '../../src/testing/index.ts';
import { steady } from './book.ts';
import type { Trouble } from './trouble.ts';

export interface Stage {
  readonly seed: number;
  /** Asked again and again: whether to come to an end. */
  isOver(): boolean;
  /** Decisions that were checked. */
  checked(scene: string, count?: number): void;
  /** Of them denied: without denials no bound was reached. */
  denied(scene: string, count?: number): void;
  /** Answered with a fault, as it must be when the store cannot be asked. `asked`: when, by the steady clock; default now. */
  unavailable(scene: string, asked?: number): void;
  /** Rows that a store keeps now, and the most that there may be. */
  rows(scene: string, count: number, most: number): void;
  /** Milliseconds, so far, for which the machine kept this process waiting. */
  late(): number;
  /** What must never be. */
  wrong(scene: string, what: string): void;
}

/** Runs until the stage is over. Its name in all that it tells is 'store: what is looked at'. */
export type Scene = (stage: Stage) => Promise<void>;

/** What a process of its own would have. */
export interface Connection {
  store(options: StoreOptions): Store<Promise<Decision>>;
  close(): void | Promise<void>;
}

/** Tells how long something took, without the time for which the machine kept everybody waiting. */
export function stopwatch(stage: Stage): () => number {
  const [began, late] = [steady(), stage.late()];
  return () => steady() - began - (stage.late() - late);
}

export interface StoreOptions {
  readonly deadline: Millis;
  /** In place of the server's time. */
  readonly clock?: ManualClock | undefined;
}

/** A server, or what stands for one, that gets into trouble. */
export interface Backend {
  readonly name: string;
  readonly trouble: Trouble;
  connect(): Connection;
  /** Hits of one tick are decided in their order, also in trouble. */
  readonly isInOrder: boolean;
  /** How many rows of limiters of this name it keeps. */
  rows(name: string): Promise<number>;
  stop(): Promise<void>;
}
