/** All drop-ins and the load for each of them. */
import { limiters } from './limiters.mjs';
import { stores } from './stores.mjs';

export const dropIns = { ...limiters, ...stores };

const HOUR = 3_600_000;

/**
 * The load of each benchmark. To measure bytes, each of `keys` keys gets `actions` hits. Then `calls` calls are timed. No limit
 * is reached.
 */
export const shapes = {
  redis: {
    keys: { limits: { limit: 100, window: HOUR }, keys: 1000, actions: 1, calls: 3000 },
    log: { limits: { limit: 20_000, window: HOUR }, keys: 1, actions: 10_000, calls: 200 },
  },
  memory: {
    keys: { limits: { limit: 100, window: HOUR }, keys: 100_000, actions: 1, calls: 200_000 },
    log: { limits: { limit: 20_000, window: HOUR }, keys: 4, actions: 10_000, calls: 2000 },
  },
};
