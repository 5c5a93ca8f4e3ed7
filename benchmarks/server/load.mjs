/**
 * Runs load generators from other projects. Each reports requests per second and the 99th percentile of the latency in
 * milliseconds.
 */
import { execFile } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ECHO, requestMessage } from './grpc.mjs';

const run = promisify(execFile);
/** Number of keys that redis-benchmark uses. It chooses one at random for each request. */
const KEYS = 10_000;
export const KEY = 'k:__rand_int__';
/** The body of a take over HTTP. */
export const TAKE = '{"limit":"api","key":"k:1"}';

export async function redisBenchmark(port, { requests, connections, pipeline }, words) {
  const flags = { '-p': port, '-n': requests, '-c': connections, '-P': pipeline, '-r': KEYS };
  const { stdout } = await run(
    'redis-benchmark',
    [...Object.entries(flags).flat(), '--csv', ...words].map(String),
  );
  const cells = stdout.trim().split('\n').at(-1).split('","');
  return { perSecond: Number(cells[1]), p99: Number(cells[6]) };
}

/** Sends the same message each time, so all requests use one key. */
export function h2load(listener, port, { requests, connections, streams }) {
  const { path, flags, message } = MESSAGES[listener];
  return inFolder(async (folder) => {
    const [data, log] = [join(folder, 'message'), join(folder, 'log')];
    writeFileSync(data, message);
    const sizes = ['-n', requests, '-c', connections, '-m', streams, '-d', data, `--log-file=${log}`];
    const { stdout } = await run('h2load', [
      ...sizes.map(String),
      ...flags,
      `http://127.0.0.1:${port}${path}`,
    ]);
    const [, perSecond] = /, ([\d.]+) req\/s/.exec(stdout);
    const lines = readFileSync(log, 'utf8').trim().split('\n');
    const took = lines.map((line) => Number(line.split('\t')[2])).toSorted((a, b) => a - b);
    return { perSecond: Number(perSecond), p99: took[Math.floor(took.length * 0.99)] / 1000 };
  });
}

/** Returns the message in gRPC framing: a zero byte (no compression), the length, and the message. */
function framed(message) {
  return Buffer.from([0, 0, 0, 0, message.length, ...message]);
}

const MESSAGES = {
  http: {
    path: '/v1/take',
    flags: ['--h1', '-H', 'content-type: application/json'],
    message: TAKE,
  },
  grpc: {
    path: ECHO.path,
    flags: ['-H', 'content-type: application/grpc', '-H', 'te: trailers'],
    message: framed(requestMessage('bench', 'user', 'k:1')),
  },
};

async function inFolder(work) {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-load-'));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
