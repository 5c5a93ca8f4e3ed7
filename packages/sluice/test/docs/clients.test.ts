/**
 * Runs the clients in examples/clients against a server, and checks that they print what their comments promise (`→ text`) and that
 * docs/guides/other-languages.md shows their code. Needs the build, python3, curl and redis-cli. The Go client runs if Go is
 * installed; its syntax is always checked.
 */
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { format } from '@wasm-fmt/gofmt';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { root } from 'sluice-test-support/packed.ts';
import { reading } from 'sluice-test-support/docs/reading.ts';

const folder = join(root, 'examples/clients');
const textOf = (file: string): string => readFileSync(join(folder, file), 'utf8');
const hasGo = spawnSync('go', ['version']).status === 0;

/** The program that runs each file, and its arguments before the file. */
const CLIENTS: readonly [file: string, program: string, ...args: string[]][] = [
  ['client.py', 'python3'],
  ['curl.sh', 'sh'],
  ['redis-cli.sh', 'sh'],
  ['ioredis.mjs', process.execPath],
  ...(hasGo ? [['client.go', 'go', 'run'] as [string, string, string]] : []),
];

/** Replaces the seconds until a retry, which are fewer on a slow machine. */
const anySeconds = (text: string): string => text.replace(/\b(?:[12]\d|30)(?= s$|$)/gm, 'some');

const server = spawn(
  process.execPath,
  [
    join(root, 'packages/sluice-server/bin/sluice.js'),
    'serve',
    '--config',
    join(folder, 'limits.yaml'),
    '--allow-admin-without-token',
    '--http',
    '127.0.0.1:0',
    '--resp',
    '127.0.0.1:0',
  ],
  { stdio: ['ignore', 'pipe', 'inherit'] },
);
let env: NodeJS.ProcessEnv = {};

beforeAll(async () => {
  let printed = '';
  const portOf = (listener: string): string | undefined =>
    new RegExp(`"listener":"${listener}","address":"127\\.0\\.0\\.1:(\\d+)"`).exec(printed)?.[1];
  server.stdout.on('data', (chunk) => (printed += String(chunk)));
  await vi.waitUntil(() => portOf('resp') !== undefined, { timeout: 30_000 });
  env = {
    ...process.env,
    SLUICE_URL: `http://127.0.0.1:${portOf('http')}`,
    SLUICE_RESP_PORT: portOf('resp'),
  };
}, 40_000);
afterAll(async () => {
  const gone = once(server, 'exit');
  server.kill('SIGKILL');
  await gone;
});

test.each(CLIENTS)(
  '%s prints what its comments promise',
  { timeout: 60_000 },
  async (file, program, ...args) => {
    for (const limit of ['api', 'tokens'])
      await fetch(`${env['SLUICE_URL']}/v1/reset`, {
        method: 'POST',
        body: JSON.stringify({ limit, key: 'alice' }),
      });
    const { stdout } = await promisify(execFile)(program, [...args, join(folder, file)], { env });
    const promised = [...textOf(file).matchAll(/^\s*(?:#|\/\/) → (.*)$/gm)].map(([, line]) => line);
    expect(promised.length).toBeGreaterThan(2);
    expect(anySeconds(stdout.replaceAll(/ +$/gm, '').trim())).toBe(anySeconds(promised.join('\n')));
  },
);

test('client.go has valid syntax and is formatted by gofmt', () => {
  const code = textOf('client.go');
  expect(format(code)).toBe(code);
  expect(() => format(code.replace(') {', ' {'))).toThrow("missing ','");
});

const block = reading('docs/guides/other-languages.md');

test.each([
  ['limits.yaml', block('yaml', 'limits:')],
  ['client.py', block('python', 'def call')],
  ['client.py', block('python', 'decision["allowed"]')],
  ['client.py', block('python', '"settle"')],
  ['client.go', block('go', 'func Call')],
  ['curl.sh', block('sh', 'curl')],
  ['redis-cli.sh', block('sh', 'redis-cli')],
])('%s contains the code that the guide shows', (file, code) => {
  expect(textOf(file)).toContain(code.trimEnd());
});
