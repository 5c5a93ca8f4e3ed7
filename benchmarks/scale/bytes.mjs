/** Measures the bytes that a key needs in shared memory. Usage: bytes.mjs <keys> <entries of logs> */
import { createLimiter, gcra } from 'sluice';
import { sharedMemory } from 'sluice/shared-memory';
import { keyOf } from '../memory/workloads.mjs';

const [count, logEntries] = process.argv.slice(2).map(Number);
const options = logEntries > 0 ? { maxKeys: count, logEntries } : { maxKeys: count };
const keys = Array.from({ length: count }, (_, index) => keyOf(index));
const resident = () => {
  global.gc();
  return process.memoryUsage().rss;
};

const store = sharedMemory(options);
const limiter = createLimiter(gcra({ limit: 1000, per: '1d' }), { store, name: 'bytes' });
// Warm up first, so that the memory used for loading and compiling code is not attributed to keys.
for (let i = 0; i < Math.min(count, 10_000); i++) limiter.peek(keys[i]);
const before = resident();
for (const key of keys) limiter.take(key);
// Stripes do not fill evenly, so a few keys may have been evicted.
const found = {
  reserved: store.handle.byteLength / count,
  resident: (resident() - before) / store.size,
  kept: store.size / count,
};
process.send(found, () => process.exit());
