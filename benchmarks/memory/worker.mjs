/** A process that measures one thing of one contender and sends what it found: worker.mjs <scenario> <contender> <argument> <scale> */
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

/** Long enough for a steady figure; a contender that needs longer per check simply gets fewer checks. */
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
  // A figure of a limiter that did not limit is worth nothing.
  const expected = open || contender.isClock ? checks : 0;
  if (allowed !== expected) throw new Error(`${name} allowed ${allowed} of ${checks}, not ${expected}`);
  return { nanoseconds };
}

/**
 * `external` holds the typed arrays already. The keys are the harness's and are there before. Dead arrays are given back
 * in the background after a collection; the next one waits for that.
 */
function heldBytes() {
  global.gc();
  global.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** At the full count, and the worst at `steps` points on the way from half of it: tables grow in leaps. */
async function bytesPerKey({ limits, keys }, steps) {
  const contender = await made(limits, keys.length);
  const order = inOrder(keys.length);
  const half = keys.length / 2;
  // The first check loads and compiles; what that leaves behind is no key's.
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
// Timers of peers may still run, and would keep the process.
process.send(found, () => process.exit());
