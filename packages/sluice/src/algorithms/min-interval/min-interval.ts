/** The least time between two actions: gcra with a burst of one. */
import type { Policy } from '../../contract.ts';
import { type Duration, duration } from '../../duration.ts';
import { known } from '../../options.ts';
import { evenly } from '../gcra/gcra.ts';

export interface MinIntervalOptions {
  readonly every: Duration;
}

export function minInterval(options: MinIntervalOptions): Policy {
  const { every } = known('minInterval', options, ['every']);
  return evenly(duration('minInterval.every', every), 1);
}
