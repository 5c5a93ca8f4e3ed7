/** Builds the image of deploy/Dockerfile without a container engine, and starts the server in it. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { root } from '../../../test-support/src/packed.ts';
import { freePort, take, temporaryFile } from '../serving.ts';
import { asUser, buildImage, type Image } from './dockerfile.ts';

/** Node's permission model lets the server read all files and write none, like a read-only root file system. */
const NO_WRITES = [
  Number(process.versions.node.split('.')[0]) < 24 ? '--experimental-permission' : '--permission',
  '--allow-fs-read=*',
  '--allow-worker',
  ...(Number(process.versions.node.split('.')[0]) >= 25 ? ['--allow-net'] : []),
];

describe('the image', () => {
  let image: Image;
  beforeAll(() => {
    // `npm test` has built the repository already, with the same commands as the stage "build".
    image = buildImage(join(root, 'deploy/Dockerfile'), root, { build: root });
  });
  afterAll(() => rmSync(image.folder, { recursive: true, force: true }));

  test('contains the production dependencies and no others', () => {
    const modules = readdirSync(join(image.cwd, 'node_modules'));
    expect(modules).toEqual(expect.arrayContaining(['@grpc', '@opentelemetry', 'ioredis', 'pg', 'yaml']));
    for (const name of ['typescript', 'vitest', 'vite', 'fast-check']) expect(modules).not.toContain(name);
    expect(existsSync(join(image.cwd, 'packages/sluice-server/dist/page/index.html'))).toBe(true);
  });

  test('runs as an unprivileged user, which is specified as a number', () => {
    expect(image.user).toMatch(/^[1-9]\d*:[1-9]\d*$/);
  });

  test('serves all listeners without writing a file, and its health check succeeds only while the server runs', async () => {
    const [http, grpc, resp, probe] = [
      await freePort(),
      await freePort(),
      await freePort(),
      await freePort(),
    ];
    expect(Object.keys(image.env)).toEqual(expect.arrayContaining(['SLUICE_CONFIG', 'SLUICE_PROBE_HTTP']));
    const env = {
      PATH: process.env['PATH'],
      ...image.env,
      SLUICE_CONFIG: readable(temporaryFile('limits: { api: 5/h }')),
      SLUICE_HTTP: `127.0.0.1:${http}`,
      SLUICE_GRPC: `127.0.0.1:${grpc}`,
      SLUICE_RESP: `127.0.0.1:${resp}`,
      SLUICE_PROBE_HTTP: `127.0.0.1:${probe}`,
      SLUICE_STORE: `redis://127.0.0.1:${inject('redisPort')}`,
      SLUICE_KEY_PREFIX: `image-${process.pid}:`,
      SLUICE_DEADLINE: '10s',
    };
    const isHealthy = () =>
      spawnSync(process.execPath, image.healthcheck, { cwd: image.cwd, env, ...asUser }).status === 0;
    expect(isHealthy()).toBe(false);
    const server = spawn(process.execPath, [...NO_WRITES, ...image.command], {
      cwd: image.cwd,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      ...asUser,
    });
    let output = '';
    server.stdout.on('data', (chunk) => (output += String(chunk)));
    server.stderr.on('data', (chunk) => (output += String(chunk)));
    const gone = new Promise((resolve) => server.once('close', resolve));
    try {
      await expect.poll(() => output, { timeout: 30_000 }).toContain(`"address":"127.0.0.1:${resp}"`);
      await expect.poll(isHealthy).toBe(true);
      expect(await take(`http://127.0.0.1:${http}`, 'api', 'x')).toMatchObject({
        source: 'store',
        remaining: 4,
      });
      expect((await fetch(`http://127.0.0.1:${http}/`)).status).toBe(200);
    } finally {
      server.kill('SIGTERM');
      expect(await gone).toBe(0);
    }
    expect(output).not.toContain('ERR_ACCESS_DENIED');
    expect(isHealthy()).toBe(false);
  });
});

test('.dockerignore does not exclude any file of the repository', () => {
  const args = ['ls-files', '--cached', '--ignored', '--exclude-from=.dockerignore'];
  expect(execFileSync('git', args, { cwd: root, encoding: 'utf8' })).toBe('');
});

/** Makes a temporary file readable for the image's user. */
function readable(file: string): string {
  execFileSync('chmod', ['-R', 'a+rX', join(file, '..')]);
  return file;
}
