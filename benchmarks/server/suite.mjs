/**
 * Measures the server's listeners: requests per second, p99, and CPU time of the server per request. RESP is compared with
 * redis-server, which does the same with a script; HTTP and gRPC are compared with fixed answers (listeners.mjs). The clients are
 * redis-benchmark and h2load. The processes of the contenders run side by side and take short turns, because the speed of the
 * machine drifts. The medians are reported.
 */
import { median } from '../report.mjs';
import { measureListeners } from './listeners.mjs';
import { KEY, redisBenchmark } from './load.mjs';
import { startRedis, startSluice } from './servers.mjs';
import { describe } from './tables.mjs';

const CONNECTIONS = 50;
/** Warm-up requests sent before measuring, because production servers are long-running. */
const WARM_UP = 300_000;
/** Burst, count and seconds of two limits: one request per second with a burst of a million, and one request per day. */
const OPEN = [1_000_000, 1_000_000, 1_000_000];
const FULL = [0, 1, 86_400];

/** Calls to either server, by name. `beside` names the call to redis-server with which a call to Sluice is compared. */
const CALLS = {
  'CL.THROTTLE': { start: startSluice, words: () => ['CL.THROTTLE', KEY, ...OPEN, 1], beside: 'EVALSHA' },
  THROTTLE: { start: startSluice, words: () => ['THROTTLE', KEY, 'api'], beside: 'EVALSHA' },
  EVALSHA: { start: startRedis, words: ({ script }) => ['EVALSHA', script, 1, KEY, ...OPEN, 1] },
  INCR: { start: startRedis, words: () => ['INCR', KEY] },
  'CL.THROTTLE, denied': {
    start: startSluice,
    words: () => ['CL.THROTTLE', KEY, ...FULL, 1],
    beside: 'EVALSHA, denied',
  },
  'EVALSHA, denied': { start: startRedis, words: ({ script }) => ['EVALSHA', script, 1, KEY, ...FULL, 1] },
};

const PIPELINES = [1, 16, 64];

export async function run({ quick }) {
  const sizes = quick
    ? { sets: 1, turns: 1, listenerSets: 1, listenerTurns: 1, scale: 0.01 }
    : { sets: 4, turns: 6, listenerSets: 3, listenerTurns: 6, scale: 1 };
  const { resp, version } = await measureResp(sizes);
  const listeners = await measureListeners(sizes);
  return describe({ resp, listeners, sizes, connections: CONNECTIONS, version });
}

/** Medians by pipeline and call. */
async function measureResp({ sets, turns, scale }) {
  const names = Object.keys(CALLS);
  const found = Object.fromEntries(
    PIPELINES.map((pipeline) => [pipeline, Object.fromEntries(names.map((name) => [name, []]))]),
  );
  let version;
  for (let set = 0; set < sets; set++) {
    const servers = await Promise.all(names.map((name) => CALLS[name].start()));
    version = servers[names.indexOf('INCR')].version;
    try {
      for (const [i, name] of names.entries()) await askResp(servers[i], name, 16, WARM_UP * scale);
      for (const pipeline of PIPELINES) {
        const requests = (pipeline === 1 ? 20_000 : 100_000) * scale;
        for (let turn = 0; turn < turns; turn++)
          for (const [i, name] of names.entries())
            found[pipeline][name].push(await askResp(servers[i], name, pipeline, requests));
      }
      for (const server of servers) await checkAnswers(server);
    } finally {
      await Promise.all(servers.map((server) => server.stop()));
    }
  }
  const resp = mapped(found, (calls) =>
    mapped(calls, (all, name) => ({ ...mediansOf(all), times: timesOf(all, calls[CALLS[name].beside]) })),
  );
  return { resp, version };
}

async function askResp(server, name, pipeline, requests) {
  const before = server.cpu();
  const options = { requests, connections: CONNECTIONS, pipeline };
  const answer = await redisBenchmark(server.ports.resp, options, CALLS[name].words(server));
  server.asked = (server.asked ?? 0) + requests;
  server.turns = (server.turns ?? 0) + 1;
  return { ...answer, cpu: (server.cpu() - before) / requests };
}

/** Requests per second as a multiple of the other server's in the same turn. Undefined if there is no other server. */
function timesOf(all, others) {
  return others && median(all.map(({ perSecond }, turn) => perSecond / others[turn].perSecond));
}

function mediansOf(all) {
  return mapped(all[0], (_, figure) => median(all.map((one) => one[figure])));
}

function mapped(object, change) {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value, key)]));
}

/**
 * Throws unless every request got a correct answer, because errors are fast and would improve the figures. A few errors are
 * expected, because redis-benchmark first sends CONFIG twice.
 */
async function checkAnswers(server) {
  if (server.answered === undefined) return;
  const { good, bad } = await server.answered('resp');
  if (good < server.asked || bad > 4 * server.turns)
    throw new Error(`${good} of ${server.asked} answers were good, ${bad} were errors`);
}
