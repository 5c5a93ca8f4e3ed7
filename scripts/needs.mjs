// @ts-check
// What the tests need beyond npm: found, or installed with apt where that is possible; otherwise said, and failed.

import { spawnSync } from 'node:child_process';

/** Debian's package for each command. */
const needs = {
  'redis-server': 'redis-server',
  'redis-cli': 'redis-tools',
  'redis-benchmark': 'redis-tools',
  'luac5.1': 'lua5.1',
  memcached: 'memcached',
  openssl: 'openssl',
  chromium: 'chromium',
  curl: 'curl',
  wrk: 'wrk',
  h2load: 'nghttp2-client',
  // Of the system: other Pythons do not see Debian's packages.
  "/usr/bin/python3 -c 'import grpc'": 'python3-grpcio',
};

/** @param {string} command */
const has = (command) =>
  spawnSync('sh', ['-c', command.includes(' ') ? command : `command -v ${command}`]).status === 0;

const missing = Object.entries(needs).filter(([command]) => !has(command));
if (missing.length > 0) {
  const packages = [...new Set(missing.map(([, name]) => name))];
  const install = `apt-get install -y --no-install-recommends ${packages.join(' ')}`;
  if (process.getuid?.() === 0 && has('apt-get')) {
    // The service that the package would start is not wanted: tests start servers of their own.
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
    spawnSync('sh', ['-c', `apt-get update && ${install}`], { env, stdio: 'ignore' });
  }
  const still = missing.filter(([command]) => !has(command)).map(([command]) => command);
  if (still.length > 0) {
    console.error(`The tests need ${still.join(' and ')}. On Debian or Ubuntu: sudo ${install}`);
    process.exit(1);
  }
}
