/** Runs commands that readers type on their own machine. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { clientAddress, type TrustProxy } from '../../src/http/index.ts';
import { link } from 'sluice-test-support/packed.ts';
import { freePort } from 'sluice-test-support/redis/server.ts';
import { punctually } from 'sluice-test-support/redis/watch.ts';
import { textOf } from 'sluice-test-support/docs/blocks.ts';
import { commandsIn, reading } from 'sluice-test-support/docs/reading.ts';

const run = promisify(execFile);

/** Runs shell commands and returns what they print. */
async function typed(lines: string, cwd?: string): Promise<string> {
  const { stdout } = await run('sh', ['-ec', lines], { cwd, encoding: 'utf8' });
  return stdout;
}

/** The commands, with a test server in place of the one that they name. */
function addressed(lines: string, theirs: string, port: number): string {
  expect(lines).toContain(theirs);
  return lines.replaceAll(theirs, `http://127.0.0.1:${port}/`);
}

describe('decision record 13', () => {
  const block = reading('docs/decisions/0013-the-clock-is-read-once-per-check.md');
  const line = block('sh', 'node -e');

  test('the command prints the cost of reading the clock', async () => {
    expect(await typed(line)).toMatch(/^\d+\.\d+ ns\n$/);
  });
});

describe('start in five minutes', () => {
  const block = reading('docs/start.md');
  const page = textOf('docs/start.md');
  const install = block('sh', 'npm install');
  const server = block('js', 'app.listen');
  const asking = block('sh', 'curl');
  const shown = block('', 'HTTP/1.1 429');
  const folder = mkdtempSync(join(tmpdir(), 'sluice-typed-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('the page installs the packages that its first steps import', async () => {
    const commands = commandsIn(install);
    const [, packages = ''] = /^npm install (.*)$/.exec(commands.pop() ?? '') ?? [];
    await typed(commands.join('\n'), folder);
    const steps = page.split('\n## 4.')[0] ?? '';
    const imported = [...steps.matchAll(/^import .* from '([\w-]+)/gm)].map((match) => match[1]);
    expect(new Set(packages.split(' '))).toEqual(new Set(imported));
    // Links the packages as if they had been downloaded.
    for (const name of packages.split(' ')) link(name, join(folder, 'limits'));
  });

  /** Replaces what depends on the time of the request: the number of seconds until an event. */
  const still = (text: string): string =>
    text.replaceAll(/;t=\d+/g, ';t=…').replace(/^(Retry-After: )\d+$/, '$1…');

  test('the server returns the answers that the page shows', () =>
    // If the test runs slowly, one more unit is replenished, and one more request passes.
    punctually(500, async () => {
      writeFileSync(join(folder, 'limits/server.mjs'), server);
      const port = await freePort();
      const child = spawn(process.execPath, ['server.mjs'], {
        cwd: join(folder, 'limits'),
        env: { ...process.env, PORT: String(port) },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      onTestFinished(() => void child.kill('SIGKILL'));
      await once(child.stdout, 'data');
      const printed = await typed(addressed(asking, 'http://localhost:3000/', port));
      const lines = printed.split(/\r?\n/);
      expect(lines.slice(0, 4)).toEqual(['200', '200', '200', '429']);
      const answer = lines.slice(4).map((line) => still(line).replace(/; charset=.*$/, ''));
      for (const line of shown.split('\n').map(still)) {
        const isCut = line.endsWith(' …');
        const fits = answer.filter((other) => (isCut ? other.startsWith(line.slice(0, -2)) : other === line));
        expect(fits, line).toHaveLength(1);
      }
    }));
});

describe('docs/guides/behind-proxies.md', () => {
  const block = reading('docs/guides/behind-proxies.md');
  const page = textOf('docs/guides/behind-proxies.md');
  const lie = block('sh', 'X-Forwarded-For: 6.6.6.6');

  /** Two addresses of this machine: the client's and the proxy's. */
  const [client, proxy] = ['127.0.0.2', '127.0.0.3'];

  async function listening(listener: RequestListener): Promise<number> {
    const server = createServer(listener);
    onTestFinished(() => void server.close());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  }

  /** The header named in the page's line for nginx. */
  const [, header = ''] = /`proxy_set_header (\S+) \$remote_addr;`/.exec(page) ?? [];

  /** A proxy that appends the client's address to X-Forwarded-For, and overwrites `header` with that address. */
  const forwardTo =
    (port: number): RequestListener =>
    ({ headers, socket: { remoteAddress = '' }, url }, response) => {
      const forwarded = {
        ...headers,
        'x-forwarded-for': `${String(headers['x-forwarded-for'])}, ${remoteAddress}`,
        [header.toLowerCase()]: remoteAddress,
      };
      request({ port, host: '127.0.0.1', localAddress: proxy, path: url, headers: forwarded }, (answer) =>
        answer.pipe(response),
      ).end();
    };

  /** The key that a server behind the proxy determines. */
  async function keyOf(trustProxy?: TrustProxy): Promise<string> {
    const server = await listening((asked, response) =>
      response.end(clientAddress(asked, trustProxy === undefined ? {} : { trustProxy })),
    );
    const port = await listening(forwardTo(server));
    return typed(`${addressed(lie, 'https://example.com/', port)} --silent --interface ${client}`);
  }

  const right: readonly [trustProxy: TrustProxy][] = [
    [1],
    [proxy],
    [[proxy, '192.0.2.7']],
    ['nginx'],
    [{ header: 'x-real-ip', from: [proxy] }],
  ];
  test.each(right)(
    'with trustProxy %j, a forged header is ignored and the address of the client is the key',
    async (trustProxy) => {
      expect(await keyOf(trustProxy)).toBe(client);
    },
  );

  test('the check on the page detects settings that trust too little or too much', async () => {
    expect(await keyOf()).toBe(proxy);
    expect(await keyOf(2)).toBe('6.6.6.6');
    expect(page).toContain('It must be your own address, not 6.6.6.6 and not a proxy');
  });
});
