/** Runs the command as a real process, with signals and files. Needs the build. */
import { execFileSync, spawn } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { request as secureRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, inject, onTestFinished, test, vi } from 'vitest';
import type {} from 'sluice-test-support/servers.ts';
import { punctually } from 'sluice-test-support/redis/watch.ts';
import { readArgs } from '../../src/cli/args.ts';
import { createLog } from '../../src/log.ts';
import { SERVE_FLAGS } from '../../src/cli/serve-flags.ts';
import { listenersOf } from '../../src/cli/serve-options.ts';
import { COMMAND, freePort, run, started, take, temporaryFile, temporaryFolder } from '../serving.ts';

vi.setConfig({ testTimeout: 60_000 });

/** Every write to this device fails with ENOSPC. */
const FULL = openSync('/dev/full', 'w');

describe('a failed write to standard output', () => {
  test('ends a tool silently if the reader of the pipe has exited', async () => {
    const tool = run('simulate', '10/s', '--traffic', 'steady:5/s', '--for', '10m');
    tool.process.stdout?.destroy();
    expect(await tool.gone).toBe(0);
    expect(tool.output()).toBe('');
  });

  test('ends a tool with exit code 1 and one line of explanation if the disk is full', async () => {
    const tool = spawn(process.execPath, [COMMAND, 'simulate', '10/s'], { stdio: ['ignore', FULL, 'pipe'] });
    let printed = '';
    tool.stderr?.on('data', (chunk) => (printed += String(chunk)));
    expect(await new Promise((resolve) => tool.once('close', resolve))).toBe(1);
    expect(printed).toMatch(/^sluice: cannot write to standard output: ENOSPC.*\n$/);
  });

  test('does not stop a server if the reader of the pipe has exited', async () => {
    const server = await started('--config', temporaryFile('limits: { api: 3/h }'));
    server.process.stdout?.destroy();
    server.process.stderr?.destroy();
    // The first write fails with EPIPE; the second finds a destroyed stream.
    for (let i = 0; i < 2; i++) {
      server.process.kill('SIGHUP');
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(await take(server.url, 'api', 'k')).toMatchObject({ allowed: true });
    server.process.kill('SIGTERM');
    expect(await server.gone).toBe(0);
  });

  test('does not stop a server if the disk is full, either at the start or later', async () => {
    const port = await freePort();
    const file = temporaryFile('limits: { api: 3/h }');
    const args = [COMMAND, 'serve', '--http', `127.0.0.1:${port}`, '--config', file];
    const server = spawn(process.execPath, args, { stdio: ['ignore', FULL, FULL] });
    onTestFinished(() => void server.kill('SIGKILL'));
    const gone = new Promise((resolve) => server.once('close', resolve));
    const ask = () => take(`http://127.0.0.1:${port}`, 'api', 'k').catch(() => undefined);
    await expect.poll(ask, { timeout: 15_000 }).toMatchObject({ allowed: true });
    for (let i = 0; i < 2; i++) {
      server.kill('SIGHUP');
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(await ask()).toMatchObject({ allowed: true });
    server.kill('SIGTERM');
    expect(await gone).toBe(0);
  });

  test('does not make a logger throw, even if the function that writes its lines throws', () => {
    const log = createLog(() => {
      throw new Error('the disk is full');
    });
    expect(() => log.error('HTTP request failed')).not.toThrow();
    // Cyclic objects and BigInts cannot be serialized as JSON.
    expect(() => createLog(() => {}).info('size', { size: 1n })).not.toThrow();
  });
});

test('sluice serve opens the listeners given by flags, or all three listeners if no flag is given', () => {
  const portsOf = (...argv: string[]) =>
    Object.entries(
      listenersOf(
        readArgs(argv, SERVE_FLAGS, {}),
        {},
        createLog(() => {}),
      ),
    ).map(([name, listener]) => [name, listener?.address]);
  const local = (port: number) => ({ host: '127.0.0.1', port });
  expect(portsOf()).toEqual([
    ['http', local(8080)],
    ['grpc', local(8081)],
    ['resp', local(6380)],
  ]);
  expect(portsOf('--resp', '127.0.0.1:7')).toEqual([['resp', local(7)]]);
});

describe('exit codes and messages:', () => {
  test('sluice check reports that a file is valid, and exits with code 0', async () => {
    const { output, gone } = run('check', temporaryFile('limits: { a: 1/s }\n---\ndomain: d\n'));
    expect(await gone).toBe(0);
    expect(output()).toMatch(/: valid \(1 limits, 1 domains\)\n$/);
  });

  test('sluice check accepts several files that define the same domain if --merge-domains is set', async () => {
    const files = ['a', 'b'].map((key) => temporaryFile(`domain: d\ndescriptors: [{ key: ${key} }]`));
    expect(await run('check', ...files).gone).toBe(1);
    const { output, gone } = run('check', '--merge-domains', ...files);
    expect(await gone).toBe(0);
    expect(output()).toContain('(0 limits, 1 domains)');
  });

  test('sluice check prints the line and column of each fault, and exits with code 1', async () => {
    const file = temporaryFile('limits:\n  a: 1/x\n  b: { polices: 1/s }\n');
    const { output, gone } = run('check', file);
    expect(await gone).toBe(1);
    const lines = output().trim().split('\n');
    expect(lines.map((line) => line.replace(`${file}:`, '').slice(0, 5))).toEqual([
      '2:6: ',
      '3:8: ',
      '3:6: ',
    ]);
  });

  test.each([
    [['check']],
    [['chekc', 'x']],
    [['serve']],
    [['serve', '--conf', 'x']],
    [['serve', '--config', 'x', '--http', 'y']],
  ])('sluice exits with code 2 for the invalid arguments %j', async (args) => {
    const { output, gone } = run(...args);
    expect(await gone).toBe(2);
    expect(output()).toMatch(/^sluice: .+[.?] Run `sluice( \w+)? --help( --all)?` for usage\.\n$/);
  });

  test('sluice serve exits with a one-line message for an invalid file, a port in use or an invalid store', async () => {
    const good = temporaryFile('limits: { a: 1/s }');
    const { port } = await started('--config', good);
    for (const [code, ...args] of [
      [1, '--config', temporaryFile('limits: { a: 1/x }')],
      [1, '--config', good, '--http', `127.0.0.1:${port}`],
      [1, '--config', good, '--grpc', `127.0.0.1:${port}`],
      [1, '--config', good, '--probe-http', `127.0.0.1:${port}`],
      [2, '--config', good, '--store', 'mysql://x'],
      [2, '--config', good, '--store', 'memory', '--leased', '4'],
    ] as const) {
      const { output, gone } = run('serve', '--log-level', 'error', ...args);
      expect(await gone).toBe(code);
      expect(output().trim().split('\n')).toHaveLength(1);
      expect(output()).not.toMatch(/ {4}at /);
    }
  });
});

describe('configuration files', () => {
  test('are reloaded when they change, and unchanged limits keep their state', async () => {
    const file = temporaryFile('limits: { a: 5/h, b: 5/h }');
    const server = await started('--config', file);
    for (const limit of ['a', 'b']) await take(server.url, limit, 'x');
    writeFileSync(file, 'limits: { a: 5/h, b: 10/h, c: 1/h }');
    await server.says('"message":"configuration loaded"');
    expect(await take(server.url, 'a', 'x')).toMatchObject({ remaining: 3 });
    expect(await take(server.url, 'b', 'x')).toMatchObject({ limit: 10 });
    expect(await take(server.url, 'c', 'x')).toMatchObject({ remaining: 0 });
  });

  test('that become invalid are reported with line and column, and the previous configuration stays in use', async () => {
    const file = temporaryFile('limits: { a: 5/h }');
    const server = await started('--config', file);
    writeFileSync(file, 'limits: { a: 5/h, b: nonsense }');
    await server.says('"message":"invalid configuration"');
    await server.says('"line":1,"column":22');
    expect(await take(server.url, 'a', 'x')).toMatchObject({ remaining: 4 });
    expect(await (await fetch(`${server.url}/metrics`)).text()).toContain(
      'sluice_config_last_reload_successful 0',
    );
    writeFileSync(file, '');
    await server.says('the file is empty');
    unlinkSync(file);
    await server.says('cannot be read');
    expect(await take(server.url, 'a', 'x')).toMatchObject({ remaining: 3 });
    writeFileSync(file, 'limits: { a: 7/h }');
    await server.says('"message":"configuration loaded"');
    expect(await take(server.url, 'a', 'x')).toMatchObject({ limit: 7 });
  });

  test('are reloaded each time an editor replaces them by renaming another file', async () => {
    const file = temporaryFile('limits: { a: 1/h }');
    const server = await started('--config', file);
    for (const limit of [20, 30]) {
      writeFileSync(`${file}.tmp`, `limits: { a: ${limit}/h }`);
      renameSync(`${file}.tmp`, file);
      await server.says('"message":"configuration loaded"');
      expect(await take(server.url, 'a', String(limit))).toMatchObject({ limit });
    }
  });

  test('are reloaded each time Kubernetes swaps a symbolic link', async () => {
    const folder = temporaryFolder();
    const write = (version: string, limit: number) => {
      mkdirSync(join(folder, version));
      writeFileSync(join(folder, version, 'limits.yaml'), `limits: { a: ${limit}/h }`);
      symlinkSync(version, join(folder, '..data_tmp'));
      renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
    };
    write('..1', 10);
    symlinkSync('..data/limits.yaml', join(folder, 'limits.yaml'));
    const server = await started('--config', join(folder, 'limits.yaml'));
    for (const limit of [20, 30]) {
      write(`..${limit}`, limit);
      await server.says('"message":"configuration loaded"');
      expect(await take(server.url, 'a', String(limit))).toMatchObject({ limit });
    }
  });

  test('in a folder are reloaded when a file changes or is added', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'a.yaml'), 'limits: { a: 1/h }');
    const server = await started('--config', folder);
    writeFileSync(join(folder, 'b.yaml'), 'limits: { b: 2/h }');
    await server.says('"limits":2');
    expect(await take(server.url, 'b', 'x')).toMatchObject({ limit: 2 });
  });

  test('that define the same domain are merged with --merge-domains, both at startup and when they are reloaded', async () => {
    const rule = (key: string, count: number) =>
      `domain: d\ndescriptors: [{ key: ${key}, rate_limit: { unit: day, requests_per_unit: ${count} } }]`;
    const files = [temporaryFile(rule('a', 1)), temporaryFile(rule('b', 2))];
    const server = await started('--merge-domains', '--no-watch', ...files.flatMap((f) => ['--config', f]));
    const config = async () => (await fetch(`${server.url}/rlconfig`)).text();
    expect(await config()).toMatch(/^d\.a: .*=1,.*\nd\.b: .*=2,/);
    writeFileSync(files[1], rule('c', 3));
    server.process.kill('SIGHUP');
    await server.says('"message":"configuration loaded","limits":0,"domains":1,');
    expect(await config()).toMatch(/^d\.a: .*=1,.*\nd\.c: .*=3,/);
  });

  test('are reloaded only on SIGHUP if --no-watch is set', async () => {
    const file = temporaryFile('limits: { a: 1/h }');
    const server = await started('--config', file, '--no-watch');
    writeFileSync(file, 'limits: { a: 2/h }');
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(await take(server.url, 'a', 'x')).toMatchObject({ limit: 1 });
    server.process.kill('SIGHUP');
    await server.says('"message":"configuration loaded"');
    expect(await take(server.url, 'a', 'y')).toMatchObject({ limit: 2 });
  });
});

describe('the server over TLS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-tls-'));
  certify(folder);
  afterAll(() => rmSync(folder, { recursive: true }));

  test('accepts only clients with a certificate if --tls-client-ca is set', async () => {
    const server = await started(
      '--config',
      temporaryFile('limits: { a: 9/h }'),
      '--tls-cert',
      join(folder, 'server.crt'),
      '--tls-key',
      join(folder, 'server.key'),
      '--tls-client-ca',
      join(folder, 'ca.crt'),
    );
    const read = (file: string) => readFileSync(join(folder, file));
    const ask = (certificate: object) =>
      new Promise<number | string>((resolve) => {
        const { port } = server;
        const options = { host: '127.0.0.1', port, path: '/healthcheck', ca: read('ca.crt'), ...certificate };
        const operation = secureRequest(options, (response) => resolve(response.statusCode ?? 0));
        operation.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'error'));
        operation.end();
      });
    expect(await ask({ cert: read('client.crt'), key: read('client.key') })).toBe(200);
    expect(await ask({})).toMatch(/ERR_SSL|ECONNRESET|EPIPE/);
  });

  /** Creates a certificate authority, and certificates that it issues for a server and a client. */
  function certify(place: string): void {
    const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: place, stdio: 'pipe' });
    const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
    openssl('req', '-x509', ...ec, '-keyout', 'ca.key', '-out', 'ca.crt', '-subj', '/CN=ca');
    for (const name of ['server', 'client']) {
      openssl(
        'req',
        '-new',
        ...ec.slice(0, 5),
        '-keyout',
        `${name}.key`,
        '-out',
        `${name}.csr`,
        '-subj',
        `/CN=${name}`,
      );
      writeFileSync(join(place, 'ext'), 'subjectAltName=IP:127.0.0.1');
      openssl(
        'x509',
        '-req',
        '-in',
        `${name}.csr`,
        '-CA',
        'ca.crt',
        '-CAkey',
        'ca.key',
        '-CAcreateserial',
        '-days',
        '2',
        '-extfile',
        'ext',
        '-out',
        `${name}.crt`,
      );
    }
  }
});

test('the server reads a token file again when it changes', async () => {
  const tokens = temporaryFile('# ours\nold\n', 'tokens');
  const server = await started('--config', temporaryFile('limits: { a: 9/h }'), '--http-token-file', tokens);
  const ask = async (token: string) =>
    (await fetch(`${server.url}/rlconfig`, { headers: { authorization: `Bearer ${token}` } })).status;
  expect([await ask('old'), await ask('new'), await ask('#')]).toEqual([200, 401, 401]);
  writeFileSync(tokens, 'new\n');
  await new Promise((resolve) => setTimeout(resolve, 1100));
  expect([await ask('old'), await ask('new')]).toEqual([401, 200]);
});

describe('with Redis,', () => {
  const url = `redis://127.0.0.1:${inject('redisPort')}`;
  const store = ['--store', url, '--deadline', '10s'];

  test('two servers share a limit', async () => {
    const file = temporaryFile(`limits: { shared-${process.pid}: 10/h }`);
    const servers = await Promise.all([1, 2].map(() => started('--config', file, ...store)));
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, i) =>
        take((servers[i % 2] as { url: string }).url, `shared-${process.pid}`, 'x'),
      ),
    );
    expect(answers.filter(({ allowed }) => allowed)).toHaveLength(10);
  });

  // The units of a lease fade while a server holds them, so the server loses more of them if the machine stalls.
  let tries = 0;
  test('a server returns its leases on SIGTERM', () =>
    punctually(300, async () => {
      const name = `leased-${process.pid}-${++tries}`;
      const file = temporaryFile(`limits: { ${name}: 10000/h }`);
      const first = await started('--config', file, ...store, '--leased', '2');
      for (let i = 0; i < 40; i++) await Promise.all([1, 2, 3, 4, 5].map(() => take(first.url, name, 'x')));
      first.process.kill('SIGTERM');
      expect(await first.gone).toBe(0);
      const second = await started('--config', file, ...store, '--leased', '2');
      const response = await fetch(`${second.url}/v1/peek`, {
        method: 'POST',
        body: JSON.stringify({ limit: name, key: 'x' }),
      });
      const { remaining, limit } = (await response.json()) as { remaining: number; limit: number };
      expect(limit - remaining).toBeLessThanOrEqual(220);
    }));
});
