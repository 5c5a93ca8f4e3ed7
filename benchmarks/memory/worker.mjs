/** A process that measures one figure of one contender and sends the result: worker.mjs <scenario> <contender> <argument> <scale> */
import { callOf, contenders, ownLimiter } from './contenders.mjs';
import { checkAll } from './loop.mjs';
import { pauses } from './pauses.mjs';
import { bytes, keyOf, sameObject, waves, workloads } from './workloads.mjs';

const [scenario, name, argument, factor] = process.argv.slice(2);
const scale = Number(factor);
const scenarios = {
  speed: () => speed(workloads[argument].make(scale), argument !== 'denied'),
  same: () => speed(sameObject(scale), true),
  // The argument says whether other algorithms are also used in the process.
  async mixed() {
    const workload = workloads.one.make(scale);
    return timed(await ownLimiter(name, workload.limits, argument === 'beside'), workload, true);
  },
  async calls() {
    const workload = workloads.one.make(scale);
    return timed(await callOf(name, workload.limits), workload, true);
  },
  bytes: () => bytesPerKey(bytes(scale), Number(argument)),
  async pauses() {
    const workload = waves(scale);
    return pauses(await made(workload.limits, workload.total), workload);
  },
};
const made = (limits, keys) => contenders[name].make({ ...limits, keys });

/**
 * Maximum duration of a measurement, in milliseconds, which is long enough for a stable figure. A contender with slower checks
 * makes fewer of them.
 */
const PATIENCE = 500;

const speed = async (workload, open) => timed(await made(workload.limits, workload.keys), workload, open);

async function timed(contender, { keyAt, fill = 0, checks, whole }, open) {
  await checkAll(contender, keyOf, 0, fill);
  const warmUp = checks >> 2;
  await checkAll(contender, keyAt, 0, warmUp, whole ? Infinity : PATIENCE / 2);
  global.gc();
  const found = await checkAll(contender, keyAt, warmUp, warmUp + checks, whole ? Infinity : PATIENCE);
  // A figure is worthless if the limiter did not limit.
  const expected = open || contender.isClock ? found.checks : 0;
  if (found.allowed !== expected)
    throw new Error(`${name} allowed ${found.allowed} of ${found.checks}, not ${expected}`);
  return { nanoseconds: found.nanoseconds };
}

/**
 * Returns the bytes in use after two garbage collections. The first collection frees unused arrays in the background, and the
 * second one waits for that. `external` already includes the typed arrays. A key is a new string for each check, as in a real
 * request, so the string counts as used memory if the contender keeps it.
 */
function heldBytes() {
  global.gc();
  global.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/**
 * Returns the bytes per key when all keys exist, and the maximum at `steps` points while the second half of the keys is added,
 * because tables grow in leaps.
 */
async function bytesPerKey({ limits, keyAt, keys }, steps) {
  const contender = await made(limits, keys);
  const half = keys / 2;
  // The first checks load and compile code, and that memory must not be attributed to keys.
  await checkAll(contender, keyAt, 0, 1);
  const before = heldBytes();
  const each = [];
  let done = 0;
  for (let step = 0; step <= steps; step++) {
    const upTo = steps === 0 ? keys : half + Math.round((half * step) / steps);
    await checkAll(contender, keyAt, done, upTo);
    done = upTo;
    each.push((heldBytes() - before) / upTo);
  }
  return { bytes: each.at(-1), worst: Math.max(...each) };
}

const found = await scenarios[scenario]();
// Timers of peers may still be running and would keep the process alive.
process.send(found, () => process.exit());
