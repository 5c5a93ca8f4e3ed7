/**
 * Measures limiters on a separate Redis server: checks per second, latency, CPU microseconds of the server per check, and bytes
 * per key. Every figure comes from new processes on an empty database. Contenders take turns, and the median of the rounds is
 * reported.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { median } from '../report.mjs';
import { contenders, peerNames } from './contenders.mjs';
import { answerOf } from '../turns.mjs';
import { goals } from './goals.mjs';
import { startServer } from './server.mjs';
import { describe } from './tables.mjs';
import { workloads } from './workloads.mjs';

const WORKER = new URL('worker.mjs', import.meta.url);
const SERVER_TIME = new URL('server-time.mjs', import.meta.url);
/** Number of short turns in which the server's time is measured. */
const TURNS = 100;
const SLUICES = ['sluice', 'sluice-node', 'sluice-three'];
const limiters = [...SLUICES, ...peerNames, 'bare'];
const everyone = [...limiters, 'ping'];
const MANY = 256;
/** Milliseconds of latency injected between a client and the server. */
const ROUND_TRIPS = [0, 2, 5];

export async function run({ quick }) {
  const server = await startServer();
  try {
    return await measureAll(server, quick ? 0.01 : 1, quick ? 1 : 3);
  } finally {
    await server.stop();
  }
}

async function measureAll(server, scale, rounds) {
  const measure = (scenario, names, rest = [], { processes = 1, times = rounds } = {}) =>
    takeTurns({ server, scale, scenario, rest, processes }, names, times);

  const load = {};
  for (const workload of Object.keys(workloads)) {
    const names = workload === 'live' ? everyone : limiters;
    const times = workload === 'live' ? rounds : 1;
    load[workload] = {
      alone: await measure('load', names, [workload, 1], { times }),
      many: await measure('load', names, [workload, MANY], { times }),
    };
  }
  const two = {
    alone: await measure('load', everyone, ['live', 1], { processes: 2, times: 1 }),
    many: await measure('load', everyone, ['live', MANY], { processes: 2, times: 1 }),
  };
  const bytes = await measure('bytes', limiters, [], { times: 1 });
  const logs = ['sluice-log', 'rolling'];
  const log = { room: await measure('log', logs, ['room']), full: await measure('log', logs, ['full']) };

  const spent = {};
  for (const roundTrip of ROUND_TRIPS)
    spent[roundTrip] = await measure('spent', ['sluice', 'sluice-deny'], [roundTrip, MANY]);

  progress('server time');
  await server.control.flushall();
  const time = await answerOf(SERVER_TIME, server.port, Math.ceil(TURNS * scale));
  progress('');

  const found = { load, two, time, bytes, log, spent };
  return describe({ ...found, goals: goals(found), version: server.version, rounds });
}

/** Returns the median of each figure for each contender. Every contender runs once per round. */
async function takeTurns(task, names, rounds) {
  const found = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 1; round <= rounds; round++) {
    for (const name of names) {
      progress(
        `${task.scenario} ${task.rest.join(' ')} ×${task.processes} ${round}/${rounds} ${contenders[name].label}`,
      );
      found[name].push(await measureOne(task, name));
    }
  }
  progress('');
  const medianOf = (all) =>
    Object.fromEntries(Object.keys(all[0]).map((figure) => [figure, median(all.map((one) => one[figure]))]));
  return Object.fromEntries(names.map((name) => [name, medianOf(found[name])]));
}

/** A single progress line that is overwritten. */
function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}

/**
 * Measures one contender. All processes start together once all of them are ready, and the server's counters are reset at that
 * moment.
 */
async function measureOne({ server, scale, scenario, rest, processes }, name) {
  await server.control.flushall();
  const before = await server.usedMemory();
  const task = [scenario, name, server.port, scale, ...rest].map(String);
  const workers = Array.from({ length: processes }, () => fork(WORKER, task));
  const ends = workers.map((worker) => once(worker, 'exit'));
  const answer = (worker) =>
    Promise.race([
      once(worker, 'message').then(([message]) => message),
      once(worker, 'exit').then(() => Promise.reject(new Error(`worker ${task.join(' ')} gave no answer`))),
    ]);
  await Promise.all(workers.map(answer));
  await server.control.config('RESETSTAT');
  const answers = workers.map(answer);
  for (const worker of workers) worker.send('go');
  const found = await Promise.all(answers);
  const { calls, usec } = await server.spent();
  await Promise.all(ends);

  const sum = (figure) => found.reduce((total, one) => total + one[figure], 0);
  return {
    ...found[0],
    perSecond: sum('perSecond'),
    latency: sum('latency') / processes,
    calls,
    server: usec / sum('checks'),
    bytes: await server.keySize(),
    held: ((await server.usedMemory()) - before) / sum('checks'),
  };
}
