/**
 * A process that measures one figure of one contender and sends the result. Usage: worker.mjs <scenario> <contender> <argument>
 * <scale>
 */
import { contenders } from './contenders.mjs';
import { checkAll } from './loop.mjs';
import { pauses } from './pauses.mjs';
import { bytes, flat, inOrder, waves, workloads } from './workloads.mjs';

const [scenario, name, argument, scale] = process.argv.slice(2);
const scenarios = {
  speed: () => speed(workloads[argument].make(Number(scale)), argument !== 'denied'),
  flat: () => speed(flat(Number(argument), Number(scale)), true),
  bytes: () => bytesPerKey(bytes(Number(scale)), Number(argument)),
  async pauses() {
    const workload = waves(Number(scale));
    return pauses(await made(workload.limits, workload.total), workload);
  },
};
const made = (limits, keys) => contenders[name].make({ ...limits, keys });

/**
 * Maximum duration of a measurement, in milliseconds, which is long enough for a stable figure. A contender with slower checks
 * makes fewer of them.
 */
const PATIENCE = 500;

async function speed({ limits, keys, fill, warmUp, order, whole }, open) {
  const contender = await made(limits, keys.length);
  if (fill) await checkAll(contender, keys, fill);
  await checkAll(contender, keys, warmUp, whole ? Infinity : PATIENCE / 2);
  global.gc();
  const { checks, allowed, nanoseconds } = await checkAll(
    contender,
    keys,
    order,
    whole ? Infinity : PATIENCE,
  );
  // A figure is worthless if the limiter did not limit.
  const expected = open || contender.isClock ? checks : 0;
  if (allowed !== expected) throw new Error(`${name} allowed ${allowed} of ${checks}, not ${expected}`);
  return { nanoseconds };
}

/**
 * Bytes that are held after a garbage collection. `external` already includes typed arrays. The keys belong to the harness and
 * exist before the measurement. Unused arrays are freed in the background after a garbage collection, so the next collection
 * waits for that.
 */
function heldBytes() {
  global.gc();
  global.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/**
 * Bytes per key at the full number of keys, and the maximum at `steps` points between half of it and all of it, because tables
 * grow in leaps.
 */
async function bytesPerKey({ limits, keys }, steps) {
  const contender = await made(limits, keys.length);
  const order = inOrder(keys.length);
  const half = keys.length / 2;
  // The first check loads and compiles code, and that memory does not belong to any key.
  await checkAll(contender, keys, order.subarray(0, 1));
  const before = heldBytes();
  const each = [];
  let done = 0;
  for (let step = 0; step <= steps; step++) {
    const upTo = steps === 0 ? keys.length : half + Math.round((half * step) / steps);
    await checkAll(contender, keys, order.subarray(done, upTo));
    done = upTo;
    each.push((heldBytes() - before) / upTo);
  }
  return { bytes: each.at(-1), worst: Math.max(...each) };
}

const found = await scenarios[scenario]();
// Timers of peers may still be running and would keep the process alive.
process.send(found, () => process.exit());
