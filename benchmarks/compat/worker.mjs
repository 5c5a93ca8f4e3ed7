/**
 * A process that measures one side of one drop-in. Usage: worker.mjs <place> <shape> <name> <side> <scale> <port>
 * It first fills keys to measure their bytes, then makes calls one after the other to measure their cost.
 */
import { setImmediate } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { keyOf } from '../memory/workloads.mjs';
import { dropIns, shapes } from './drop-ins.mjs';

const [place, shape, name, side, scaleText, port] = process.argv.slice(2);
const places = { memory: inMemory, redis: onRedis };

/** Makes calls, which must all pass. A figure is worthless if the limiter denied calls or counted nothing. */
async function ask({ check, passed }, keys, calls) {
  for (let i = 0; i < calls; i++) {
    const answer = check(keys[i % keys.length]);
    if (!passed(typeof answer?.then === 'function' ? await answer : answer))
      throw new Error(`${name}, ${side}: the limiter denied a call`);
  }
}

async function measure(limiter, { keys: count, actions, calls }, { held, spent }) {
  const scale = Number(scaleText);
  const scaled = (value) => (value === 1 ? 1 : Math.ceil(value * scale));
  const keys = Array.from({ length: scaled(count) }, (_, index) => keyOf(index));
  // The first calls load and compile code, here and on the server, and that memory does not belong to any key. V8 also discards
  // and recompiles optimized code when a log grows, so one key is filled beforehand.
  const first = place === 'memory' ? Math.max(50, scaled(actions)) : Math.min(50, scaled(calls));
  await ask(limiter, [keyOf(count)], first);
  const empty = await held();
  if (limiter.record) for (const key of keys) await limiter.record(key, scaled(actions));
  else await ask(limiter, keys, keys.length * scaled(actions));
  const bytes = ((await held()) - empty) / keys.length / (dropIns[name].subjects ?? 1);
  await ask(limiter, keys, scaled(calls / 4));
  const before = await spent();
  await ask(limiter, keys, scaled(calls));
  const after = await spent();
  const costs = Object.keys(after).map((cost) => [cost, (after[cost] - before[cost]) / scaled(calls)]);
  return { bytes, ...Object.fromEntries(costs) };
}

async function inMemory(make, limits, workload) {
  return measure(await make(limits), workload, {
    async held() {
      // The promises of the last call must release their memory first.
      await setImmediate();
      global.gc();
      global.gc();
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    },
    spent() {
      const { user, system } = process.cpuUsage();
      return { cpu: user + system };
    },
  });
}

async function onRedis(make, limits, workload) {
  const [client, control] = [new Redis(port, '127.0.0.1'), new Redis(port, '127.0.0.1')];
  await client.ping();
  const trips = countTrips(client.stream);
  const read = async (section, field) =>
    Number(new RegExp(`^${field}:(\\S+)`, 'm').exec(await control.info(section))[1]);
  return measure(await make(limits, client), workload, {
    // Returns the server's memory without the buffers of its connections, whose size varies.
    async held() {
      const buffers = (await control.client('LIST')).matchAll(/tot-mem=(\d+)/g);
      const used = await read('memory', 'used_memory');
      return [...buffers].reduce((rest, [, bytes]) => rest - Number(bytes), used);
    },
    async spent() {
      const user = await read('cpu', 'used_cpu_user_main_thread');
      const system = await read('cpu', 'used_cpu_sys_main_thread');
      return { server: (user + system) * 1e6, trips: trips() };
    },
  });
}

/**
 * Counts round trips. The first write, and every write after an answer, starts a new round trip. Several writes without an answer
 * between them are one round trip.
 */
function countTrips(stream) {
  let [trips, isAnswered] = [0, true];
  const { write } = stream;
  stream.write = (...words) => {
    if (isAnswered) trips++;
    isAnswered = false;
    return write.apply(stream, words);
  };
  stream.prependListener('data', () => {
    isAnswered = true;
  });
  return () => trips;
}

const { limits, ...workload } = shapes[place][shape];
const found = await places[place](dropIns[name][place][side], limits, workload);
// Timers of the originals may still be running and would keep the process alive.
process.send(found, () => process.exit());
