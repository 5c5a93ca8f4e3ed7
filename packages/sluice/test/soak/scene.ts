/** What all scenes of a soak share. */
import { Redis } from 'ioredis';
import type { Trouble } from './trouble.ts';

export interface Stage {
  readonly trouble: Trouble;
  readonly seed: number;
  /** Asked again and again: whether to come to an end. */
  isOver(): boolean;
  /** Decisions that were checked, by scene. */
  checked(scene: string, count?: number): void;
  /** Of them denied, where a bound is watched: without denials it was not reached. */
  denied(scene: string): void;
  /** Answered with a fault, as it must be when the store cannot be asked. */
  unavailable(scene: string): void;
  /** What must never be. */
  wrong(scene: string, what: string): void;
}

/** Runs until the stage is over, and says what it was doing if it falls. */
export type Scene = (stage: Stage) => Promise<void>;

/** As the store's page advises: what got no reply may have been counted, and is not sent again. */
export function connect({ trouble }: Stage): Redis {
  const client = new Redis(trouble.port, '127.0.0.1', { retryStrategy: () => 50, maxRetriesPerRequest: 0 });
  client.on('error', () => {});
  return client;
}
