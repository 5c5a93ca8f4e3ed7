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

const run = promisify(execFile);
/** Number of keys for redis-benchmark and wrk, which request them in random order. */
const KEYS = 10_000;
export const KEY = 'k:__rand_int__';

export async function redisBenchmark(port, { requests, connections, pipeline }, words) {
  const flags = { '-p': port, '-n': requests, '-c': connections, '-P': pipeline, '-r': KEYS };
  const { stdout } = await run(
    'redis-benchmark',
    [...Object.entries(flags).flat(), '--csv', ...words].map(String),
  );
  const cells = stdout.trim().split('\n').at(-1).split('","');
  return { perSecond: Number(cells[1]), p99: Number(cells[6]) };
}

const WRK = `
wrk.method = 'POST'
wrk.headers['Content-Type'] = 'application/json'
request = function()
  return wrk.format(nil, nil, nil, '{"limit":"api","key":"k:' .. math.random(${KEYS}) .. '"}')
end
done = function(summary, latency)
  io.write('found ', summary.requests / summary.duration * 1e6, ' ', latency:percentile(99) / 1000, '\\n')
end
`;

export function wrk(port, { seconds, connections }) {
  return inFolder(async (folder) => {
    const script = join(folder, 'take.lua');
    writeFileSync(script, WRK);
    const flags = ['-t', '1', '-c', connections, '-d', `${seconds}s`, '-s', script].map(String);
    const { stdout } = await run('wrk', [...flags, `http://127.0.0.1:${port}/v1/take`]);
    const [, perSecond, p99] = /^found (\S+) (\S+)$/m.exec(stdout);
    return { perSecond: Number(perSecond), p99: Number(p99) };
  });
}

/** Runs h2load with a single key, because it sends the same message each time. */
export function h2load(port, { requests, connections, streams }) {
  return inFolder(async (folder) => {
    const [message, log] = [join(folder, 'message'), join(folder, 'log')];
    writeFileSync(message, shouldRateLimit('bench', 'user', 'k:1'));
    const url = `http://127.0.0.1:${port}/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit`;
    const headers = ['-H', 'content-type: application/grpc', '-H', 'te: trailers'];
    const flags = ['-n', requests, '-c', connections, '-m', streams, '-d', message, `--log-file=${log}`];
    const { stdout } = await run('h2load', [...flags.map(String), ...headers, url]);
    const [, perSecond] = /, ([\d.]+) req\/s/.exec(stdout);
    const took = readFileSync(log, 'utf8')
      .trim()
      .split('\n')
      .map((line) => Number(line.split('\t')[2]));
    took.sort((a, b) => a - b);
    return { perSecond: Number(perSecond), p99: took[Math.floor(took.length * 0.99)] / 1000 };
  });
}

/** Encodes a request with one descriptor of one entry in gRPC framing, without compression. */
function shouldRateLimit(domain, key, value) {
  const field = (number, ...parts) => {
    const bytes = Buffer.concat(parts.map((part) => Buffer.from(part)));
    return Buffer.from([(number << 3) | 2, bytes.length, ...bytes]);
  };
  const entry = field(1, field(1, key), field(2, value));
  const message = Buffer.concat([field(1, domain), field(2, entry)]);
  return Buffer.from([0, 0, 0, 0, message.length, ...message]);
}

async function inFolder(work) {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-load-'));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
