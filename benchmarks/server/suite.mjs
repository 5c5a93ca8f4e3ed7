/**
 * The server's three doors, next to redis-server that does the same by a script: requests per second, p99, and the CPU
 * time that a request costs the server. Clients are redis-benchmark, wrk and h2load. Fresh processes each time,
 * contenders take turns, medians count.
 */
import { takeTurns } from '../turns.mjs';
import { h2load, KEY, redisBenchmark, wrk } from './load.mjs';
import { startRedis, startSluice } from './servers.mjs';
import { describe } from './tables.mjs';

const CONNECTIONS = 50;
/** Requests before anything is measured: servers run for long. */
const WARM_UP = 300_000;
/** Burst, count, seconds: one a second of which a million pass at once; one a day. */
const OPEN = [1_000_000, 1_000_000, 1_000_000];
const FULL = [0, 1, 86_400];

/** The same question, asked of either server. */
const CALLS = {
  'CL.THROTTLE': { start: startSluice, words: () => ['CL.THROTTLE', KEY, ...OPEN, 1] },
  THROTTLE: { start: startSluice, words: () => ['THROTTLE', KEY, 'api'] },
  EVALSHA: { start: startRedis, words: ({ script }) => ['EVALSHA', script, 1, KEY, ...OPEN, 1] },
  INCR: { start: startRedis, words: () => ['INCR', KEY] },
  'CL.THROTTLE, denied': { start: startSluice, words: () => ['CL.THROTTLE', KEY, ...FULL, 1] },
  'EVALSHA, denied': { start: startRedis, words: ({ script }) => ['EVALSHA', script, 1, KEY, ...FULL, 1] },
};

const PIPELINES = [1, 16, 64];

export async function run({ quick }) {
  const rounds = quick ? 1 : 3;
  const scale = quick ? 0.01 : 1;
  const resp = {};
  for (const pipeline of PIPELINES) {
    const requests = Math.ceil((pipeline === 1 ? 60_000 : 300_000) * scale);
    const options = { requests, connections: CONNECTIONS, pipeline };
    resp[pipeline] = await takeTurns(`pipeline ${pipeline}`, Object.keys(CALLS), rounds, (name) =>
      askResp(CALLS[name], options, Math.ceil(WARM_UP * scale)),
    );
  }
  const doors = await takeTurns('doors', ['http', 'grpc'], rounds, (door) => askDoor(door, scale));
  const redis = await startRedis();
  await redis.stop();
  return describe({ resp, doors, rounds, connections: CONNECTIONS, version: redis.version });
}

async function askResp({ start, words }, options, warmup) {
  const server = await start();
  try {
    const ask = (more) => redisBenchmark(server.ports.resp, { ...options, ...more }, words(server));
    await ask({ requests: warmup, pipeline: 16 });
    const before = server.cpu();
    const found = await ask();
    const cpu = (server.cpu() - before) / options.requests;
    await checkAnswers(server, 'resp', warmup + options.requests);
    return { ...found, cpu };
  } finally {
    await server.stop();
  }
}

async function askDoor(door, scale) {
  const server = await startSluice();
  const port = server.ports[door];
  const ask = (share) =>
    door === 'http'
      ? wrk(port, { seconds: Math.max(1, Math.round(4 * share * scale)), connections: CONNECTIONS })
      : h2load(port, { requests: Math.ceil(40_000 * share * scale), connections: 10, streams: 10 });
  try {
    await ask(0.5);
    const [before, earlier] = [server.cpu(), await server.answered(door)];
    const found = await ask(1);
    const { good, bad } = await server.answered(door);
    if (bad > 0) throw new Error(`${door}: ${bad} answers were errors`);
    return { ...found, cpu: (server.cpu() - before) / (good - earlier.good) };
  } finally {
    await server.stop();
  }
}

/** An error is quick to say: what was asked must be answered well. redis-benchmark asks for CONFIG first, twice. */
async function checkAnswers(server, door, asked) {
  if (server.answered === undefined) return;
  const { good, bad } = await server.answered(door);
  if (good < asked || bad > 4) throw new Error(`${good} of ${asked} answers were good, ${bad} were errors`);
}
