/** The servers that are compared, each in its own process. Sluice and Redis are started as users start them, all in memory. */
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startServer as startRedisServer } from '../redis/server.mjs';

const COMMAND = fileURLToPath(new URL('../../packages/sluice-server/bin/sluice.js', import.meta.url));
const FLOOR = new URL('floor.mjs', import.meta.url);
const SCRIPT = readFileSync(new URL('gcra.lua', import.meta.url), 'utf8');

/** These limits deny no request. */
const LIMITS = `
limits:
  api: 1000000/1000000s
domain: bench
descriptors:
  - key: user
    rate_limit: { unit: hour, requests_per_unit: 4000000000 }
`;

export async function startSluice() {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-'));
  const file = join(folder, 'limits.yaml');
  writeFileSync(file, LIMITS);
  const listeners = ['http', 'grpc', 'resp'].flatMap((listener) => [`--${listener}`, '127.0.0.1:0']);
  const args = [COMMAND, 'serve', '--config', file, '--log-format', 'json', ...listeners];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ports = await portsOf(child);
  return {
    ports,
    cpu: () => cpuOf(child.pid),
    /** Number of answers that the server itself counted, by listener. */
    async answered(listener) {
      const text = await (await fetch(`http://127.0.0.1:${ports.http}/metrics`)).text();
      const lines = text
        .split('\n')
        .filter((line) => line.startsWith(`sluice_requests_total{listener="${listener}"`));
      const sum = (of) => of.reduce((total, line) => total + Number(line.split(' ').at(-1)), 0);
      const good = lines.filter((line) => /code="(ok|OK|200)"/.test(line));
      return { good: sum(good), bad: sum(lines) - sum(good) };
    },
    async stop() {
      child.kill('SIGKILL');
      await once(child, 'exit');
      rmSync(folder, { recursive: true });
    },
  };
}

/** Reads the ports of the listeners from the output of the server, which prints one address per line. */
async function portsOf(child) {
  const ports = {};
  for await (const chunk of child.stdout) {
    for (const [, listener, port] of String(chunk).matchAll(
      /"listener":"(\w+)","address":"127\.0\.0\.1:(\d+)"/g,
    )) {
      ports[listener] = Number(port);
      if (Object.keys(ports).length === 3) return ports;
    }
  }
  throw new Error('sluice serve ended');
}

/** A server with the fixed answer of floor.mjs. */
export async function startFloor(listener, answer) {
  const child = fork(FLOOR);
  child.send({ listener, answer });
  const [{ port }] = await once(child, 'message');
  return {
    ports: { [listener]: port },
    cpu: () => cpuOf(child.pid),
    async stop() {
      child.kill();
      await once(child, 'exit');
    },
  };
}

export async function startRedis() {
  const server = await startRedisServer();
  const pid = Number((await server.control.info('server')).match(/process_id:(\d+)/)[1]);
  return {
    ports: { resp: server.port },
    version: server.version,
    script: await server.control.script('LOAD', SCRIPT),
    cpu: () => cpuOf(pid),
    stop: () => server.stop(),
  };
}

/** Length of a kernel tick, in microseconds. */
const TICK = 10_000;

/** Microseconds of CPU that the process has used in all of its threads. */
function cpuOf(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13);
  return (Number(user) + Number(system)) * TICK;
}
