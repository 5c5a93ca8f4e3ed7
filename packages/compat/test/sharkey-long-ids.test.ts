/** The ids of actors come from clients and can be very long, so a process must not use much memory for them. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { createSkRateLimiterService } from '../src/sharkey.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** The size of the heap in megabytes. */
function heap(): number {
  collect();
  return process.memoryUsage().heapUsed / 1e6;
}

test('the Sharkey drop-in does not remember the factors of 1,000 actors with ids of 100 kB', async () => {
  const service = createSkRateLimiterService({ factor: () => 1 });
  const limit = { type: 'bucket', key: 'k', size: 2 } as const;
  await service.limit(limit, 'warm-up');
  const before = heap();
  for (let i = 0; i < 1000; i++)
    expect((await service.limit(limit, `${i} ${'x'.repeat(100_000)}`)).remaining).toBe(1);
  // All ids together are 100 MB.
  expect(heap() - before).toBeLessThan(20);
  expect((await service.limit(limit, 'warm-up')).blocked).toBe(false);
});
