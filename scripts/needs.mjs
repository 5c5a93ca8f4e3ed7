// @ts-check
// Checks that the system packages that the tests need are installed. As root on Debian or Ubuntu, it installs missing
// packages. Otherwise, it lists them and fails.

import { spawnSync } from 'node:child_process';

/** The Debian package that provides each command. */
const needs = {
  'redis-server': 'redis-server',
  'redis-cli': 'redis-tools',
  'redis-benchmark': 'redis-tools',
  'luac5.1': 'lua5.1',
  memcached: 'memcached',
  // Debian installs mariadbd in a folder that is only in root's PATH.
  'PATH=$PATH:/usr/sbin command -v mariadbd': 'mariadb-server',
  openssl: 'openssl',
  promtool: 'prometheus',
  'systemd-analyze': 'systemd',
  chromium: 'chromium',
  curl: 'curl',
  wrk: 'wrk',
  h2load: 'nghttp2-client',
  // Debian installs these two in a folder that is not in the PATH of every user.
  'PATH=$PATH:/usr/sbin command -v nginx': 'nginx',
  'PATH=$PATH:/usr/sbin command -v haproxy': 'haproxy',
  caddy: 'caddy',
  // Uses the system's Python, because other installations do not see Debian's packages.
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
    // RUNLEVEL=1 keeps apt from starting the services, because tests start their own servers.
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
    spawnSync('sh', ['-c', `apt-get update && ${install}`], { env, stdio: 'ignore' });
  }
  const still = missing.filter(([command]) => !has(command)).map(([command]) => command);
  if (still.length > 0) {
    console.error(`The tests need ${still.join(', ')}. On Debian or Ubuntu, run: sudo ${install}`);
    process.exit(1);
  }
}
