/**
 * Starts every example as a reader would, with the built packages. An example that reads PORT is a server: it prints
 * `listening on <url>`, and the test repeats the first curl request in its header comment until the server rejects it. Any
 * other example exits by itself and prints what its comments promise (`// → text`).
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, describe, expect, inject, it } from 'vitest';
import { root } from 'sluice-test-support/packed.ts';

const folder = join(root, 'examples');
const textOf = (file: string) => readFileSync(join(folder, file), 'utf8');
const examples = readdirSync(folder).filter((file) => file.endsWith('.mjs'));
const servers = examples.filter((file) => textOf(file).includes("process.env['PORT']"));
const stories = examples.filter((file) => !servers.includes(file) && file !== 'demo.mjs');

/** More requests than any example admits before it starts to deny. */
const ENOUGH = 100;

/** The request of a curl command, limited to the options that the examples use. */
function requestOf(line: string, origin: string): Request {
  const words = [...line.matchAll(/'([^']*)'|[^\s;&']+/g)].map((match) => match[1] ?? match[0]);
  const after = (flag: string) => words.flatMap((word, i) => (word === flag ? [words[i + 1] ?? ''] : []));
  const url = words.find((word) => word.startsWith('localhost:3000')) ?? '';
  const headers = new Headers({ connection: 'close' });
  for (const [name = '', value = ''] of after('-H').map((header) => header.split(': ')))
    headers.set(name, value);
  const [body] = after('-d');
  if (body !== undefined) headers.set('content-type', 'application/x-www-form-urlencoded');
  const method = after('-X')[0] ?? (body === undefined ? 'GET' : 'POST');
  return new Request(url.replace('localhost:3000', origin), { method, headers, body: body ?? null });
}

describe('an example', () => {
  let child: ChildProcess | undefined;
  /** Folder for temporary files of the examples. */
  const TMPDIR = mkdtempSync(join(tmpdir(), 'sluice-examples-'));
  afterEach(() => child?.kill('SIGTERM'));
  afterAll(() => rmSync(TMPDIR, { recursive: true, force: true }));

  function started(file: string): Promise<string> {
    const server = spawn(process.execPath, [join(folder, file)], {
      env: { ...process.env, PORT: '0', TMPDIR },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child = server;
    return new Promise((resolve, reject) => {
      let printed = '';
      const read = (chunk: unknown): void => {
        printed += String(chunk);
        const [, url] = /listening on (\S+)\s/.exec(printed) ?? [];
        if (url !== undefined) resolve(new URL(url).origin);
      };
      server.stdout.on('data', read);
      server.stderr.on('data', read);
      server.on('exit', () => reject(new Error(`${file} exited after printing:\n${printed}`)));
    });
  }

  it('can import the packages that npm run build has built', () => {
    for (const name of ['sluice', 'sluice-server'])
      expect(existsSync(join(root, 'packages', name, 'dist/index.js'))).toBe(true);
  });

  it.each(servers)(
    'serves requests, and denies requests above the limit: %s',
    { timeout: 60_000 },
    async (file) => {
      const origin = await started(file);
      const [line = ''] = /curl .*/.exec(textOf(file)) ?? [];
      const statuses: number[] = [];
      let last: Response;
      do {
        last = await fetch(requestOf(line, origin));
        statuses.push(last.status);
        await last.arrayBuffer();
      } while (last.status !== 429 && statuses.length < ENOUGH);
      // A login with a wrong password first gets a 401.
      expect([200, 401]).toContain(statuses[0]);
      expect(new Set(statuses.slice(0, -1)).size).toBe(1);
      expect(statuses.at(-1)).toBe(429);
      expect(last.headers.get('retry-after')).toMatch(/^\d+$/);
    },
  );

  it.each(stories)(
    'prints the output that its comments promise, and exits: %s',
    { timeout: 60_000 },
    async (file) => {
      const before = readdirSync(TMPDIR);
      const redis = `redis://127.0.0.1:${inject('redisPort')}/13`;
      const env = { ...process.env, NO_COLOR: '1', REDIS_URL: redis, TMPDIR };
      const { stdout } = await promisify(execFile)(process.execPath, [join(folder, file)], {
        env,
        timeout: 50_000,
      });
      const promised = [...textOf(file).matchAll(/\/\/ → (.*)$/gm)].map((match) => match[1]);
      expect(promised.length).toBeGreaterThan(0);
      expect(stdout.trimEnd().split('\n')).toEqual(promised);
      expect(readdirSync(TMPDIR)).toEqual(before);
    },
  );

  it('named llm-processes.mjs prints the figures that the guide shows', () => {
    const printed = [...textOf('llm-processes.mjs').matchAll(/^\/\/ → (.*)$/gm)].map(
      ([, line = '']) => line.match(/\d+/g)?.map(Number) ?? [],
    );
    const guide = readFileSync(join(root, 'docs/guides/llm-tokens.md'), 'utf8');
    const shown = [...guide.matchAll(/^\| \d+ \|(.*)\|$/gm)].map(([, cells = '']) =>
      cells.split('|').map((cell) => Number(cell.replaceAll(',', ''))),
    );
    expect(printed).toHaveLength(4);
    expect(shown).toEqual(printed);
  });

  it('named demo.mjs shows every algorithm, and exits', { timeout: 60_000 }, async () => {
    const env = { ...process.env, NO_COLOR: '1' };
    const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'demo.mjs')], { env });
    expect(stdout.match(/^.* [.x#]{60,} +\d+ of 31$/gm)).toHaveLength(11);
    expect(stdout).toMatch(/allowed false, retry after \d+ ms\.\s*$/);
  });

  it.each([...servers, ...stories])('is short and has a comment that says how to run it: %s', (file) => {
    expect(textOf(file).split('\n').length - 1).toBeLessThanOrEqual(40);
    expect(textOf(file)).toContain(`node examples/${file}\n`);
  });

  describe('that has requirements', () => {
    /** The output and exit code of an example that fails. */
    async function failure(file: string, env: NodeJS.ProcessEnv) {
      const options = { env: { TMPDIR, ...env }, timeout: 50_000 };
      const started = promisify(execFile)(process.execPath, [file], options);
      const { code, stdout, stderr } = await started.then(
        (printed) => ({ code: 0, ...printed }),
        (error: { code: number; stdout: string; stderr: string }) => error,
      );
      return { code, stdout, stderr };
    }

    const one = (part: string) => expect.stringMatching(new RegExp(`^[^\\n]*${part}[^\\n]*\\n$`));

    it.each([
      ['redis.mjs', 'no server is listening', 'redis://127.0.0.1:1', '127.0.0.1:1'],
      [
        'redis.mjs',
        'the host does not exist',
        'redis://:secret@no-redis.invalid:7000',
        'no-redis.invalid:7000',
      ],
      ['llm-processes.mjs', 'no server is listening', 'redis://127.0.0.1:1', '127.0.0.1:1'],
    ])('prints one line and fails without Redis: %s, %s', async (file, _, REDIS_URL, address) => {
      const { code, stdout, stderr } = await failure(join(folder, file), { REDIS_URL });
      expect({ code, stdout, stderr }).toEqual({
        code: 1,
        stdout: '',
        stderr: one(`${address}\\. .*redis-server`),
      });
      expect(stderr).toMatch(/docker run .*REDIS_URL/);
      expect(stderr).not.toContain('secret');
    });

    it('prints one line and fails without memcached', async () => {
      const found = await failure(join(folder, 'memcached.mjs'), { PATH: TMPDIR });
      expect(found).toEqual({ code: 1, stdout: '', stderr: one('apt-get install') });
    });

    it('prints one line and fails without Deno', async () => {
      const elsewhere = join(TMPDIR, 'elsewhere/examples');
      cpSync(folder, elsewhere, { recursive: true });
      mkdirSync(join(TMPDIR, 'elsewhere/node_modules'));
      symlinkSync(join(root, 'packages/sluice'), join(TMPDIR, 'elsewhere/node_modules/sluice'), 'junction');
      const found = await failure(join(elsewhere, 'deno-kv.mjs'), {});
      expect(found).toEqual({ code: 1, stdout: '', stderr: one('npm ci') });
    });

    it('is listed in the README with its requirements', () => {
      const needs = /\| needs \|.*?\n\n/s.exec(textOf('README.md'))?.[0] ?? '';
      const named = [...needs.matchAll(/^\| (\S+\.mjs) \|/gm)].map((match) => match[1]);
      const needy = examples.filter((file) => /process\.env\['\w+_URL'\]|spawn\('/.test(textOf(file)));
      expect(named.toSorted()).toEqual(needy.toSorted());
    });
  });

  it.each(servers)('says how to send a request to its server: %s', (file) =>
    expect(textOf(file)).toMatch(/^\/\/.*\bcurl /m),
  );

  it('is listed in the README', () => {
    const listed = [...textOf('README.md').matchAll(/\| \[([^\]]+)\]\(\1\) (?=\|)/g)].map(
      (match) => match[1],
    );
    const programs = readdirSync(join(folder, 'clients'))
      .filter((file) => !file.endsWith('.yaml'))
      .map((file) => `clients/${file}`);
    expect(listed.toSorted()).toEqual([...examples, ...programs].toSorted());
  });
});
