/**
 * Measures several nodes, threads and processes on one limit: decisions per second, how often the store is called, and the
 * allowed units compared with the bound. Every figure comes from new processes on an empty store. Contenders take turns, and the
 * medians are reported.
 */
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer } from '../redis/server.mjs';
import { answerOf, takeTurns } from '../turns.mjs';
import { startPostgres } from './postgres.mjs';
import { measure } from './processes.mjs';
import { describe } from './tables.mjs';

const WRAPPERS = ['direct', 'deny-cache', 'leased', 'synced'];
const THREADS = ['memory', 'shared 1', 'shared 2'];
const MOST = 16;

export async function run({ quick }) {
  const scale = quick ? 0.1 : 1;
  const rounds = quick ? 1 : 3;
  const redis = await startServer();
  try {
    const place = {
      address: () => redis.port,
      clear: () => redis.control.flushall(),
      calls: async () => (await redis.spent()).calls,
    };
    const [load, hurry] = [{}, {}];
    for (const nodes of quick ? [1, MOST] : [1, 2, 4, 8, MOST]) {
      const times = nodes === MOST ? rounds : 1;
      const turns = (...phases) =>
        turnsAt(`${phases.join(' ')}, ${nodes} nodes`, WRAPPERS, times, async (contender) => {
          await place.clear();
          return measure(place, contender, nodes, phases, scale);
        });
      load[nodes] = await turns('half', 'twice');
      hurry[nodes] = await turns('flood', 'open');
    }
    const { stores, peers, version } = await measureStores(place, scale, rounds);
    // A round that measures threads is short, so there are more rounds.
    const threadRounds = quick ? 1 : 7;
    const threads = await measureThreads(scale, threadRounds);
    const bytes = await measureBytes(quick ? 10_000 : 1_000_000);
    const versions = `Redis ${redis.version}, Postgres ${version}`;
    return describe({
      load,
      hurry,
      stores,
      peers,
      threads,
      bytes,
      versions,
      most: MOST,
      rounds,
      threadRounds,
    });
  } finally {
    await redis.stop();
  }
}

/** Takes medians, except for units above a limit. Other rounds do not make up for an overrun, so the worst round is reported. */
async function turnsAt(what, names, rounds, measureOne) {
  const worst = Object.fromEntries(names.map((name) => [name, {}]));
  const medians = await takeTurns(what, names, rounds, async (name) => {
    const found = await measureOne(name);
    for (const figure of Object.keys(found).filter((one) => one.endsWith('over')))
      worst[name][figure] = Math.max(worst[name][figure] ?? 0, found[figure]);
    return found;
  });
  return Object.fromEntries(names.map((name) => [name, { ...medians[name], ...worst[name] }]));
}

/** Measures the stores that several processes share, by number of processes. */
async function measureStores(redis, scale, rounds) {
  const server = await startPostgres();
  const none = () => 0;
  const places = {
    direct: redis,
    ipc: { address: () => join(tmpdir(), `sluice-${randomUUID()}.sock`), clear: none, calls: none },
    postgres: { address: () => server.url, clear: server.clear, calls: none },
  };
  try {
    const stores = {};
    for (const processes of [1, 2]) {
      stores[processes] = await turnsAt(`${processes} processes`, Object.keys(places), 1, async (name) => {
        await places[name].clear();
        return measure(places[name], name, processes, ['flood', 'keys'], scale);
      });
    }
    return { stores, peers: await measurePeers(server, scale, rounds), version: server.version };
  } finally {
    await server.stop();
  }
}

/** Measures our store and its peer on the same Postgres, by number of processes. */
async function measurePeers(server, scale, rounds) {
  const place = { address: () => server.url, calls: () => 0 };
  const turns = (processes, ...names) =>
    turnsAt(`Postgres, ${processes} processes`, ['postgres', 'flexible'], rounds, async (contender) => {
      await server.clear();
      return measure(place, contender, processes, names, scale);
    });
  return { 1: await turns(1, 'keys', 'single'), 2: await turns(2, 'keys') };
}

async function measureThreads(scale, rounds) {
  const turns = (workload, names) =>
    turnsAt(`threads ${workload}`, names, rounds, (name) =>
      answerOf(new URL('threads.mjs', import.meta.url), name, workload, scale),
    );
  return {
    hot: await turns('hot', THREADS),
    keys: await turns('keys', THREADS),
    limit: await turns('limit', ['shared 2']),
  };
}

async function measureBytes(keys) {
  const worker = new URL('bytes.mjs', import.meta.url);
  return { full: await answerOf(worker, keys, 0), lean: await answerOf(worker, keys, 1) };
}
