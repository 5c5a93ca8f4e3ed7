/** Runs the configurations in the guide with real proxies: nginx, HAProxy and Caddy. */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { parse } from 'yaml';
import { commandsIn, reading } from 'sluice-test-support/docs/reading.ts';
import { readArgs } from '../../../src/cli/args.ts';
import { SERVE_FLAGS } from '../../../src/cli/serve-flags.ts';
import { freePort, type Serving, serving, temporaryFolder } from '../../serving.ts';

const block = reading('docs/guides/behind-nginx-haproxy.md');
const limits = block('yaml', 'limits:');
const [serve = ''] = commandsIn(block('sh', 'sluice serve'));
const nginx = block('nginx', 'upstream sluice');
const nginxWith429 = block('nginx', '@denied');
const lua = block('lua', 'core.register_action');
const haproxy = block('', 'lua-load');
const caddy = block('', 'forward_auth');
const traefik = block('yaml', 'forwardAuth');

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface Sent {
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Record<string, string>;
  /** Address from which the request is sent. All addresses in 127.0.0.0/8 belong to this machine. */
  readonly from?: string;
}

/** Sends a request on a new connection. */
function send(port: number, { method = 'GET', body = '', headers = {}, from }: Sent = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, method, headers, localAddress: from, agent: false };
    request(options, (response) => {
      let text = '';
      response.on('data', (chunk) => (text += String(chunk)));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }),
      );
    })
      .on('error', reject)
      .end(body);
  });
}

/** The server that the guide starts, on a free port. */
function guideServer(): Promise<Serving> {
  const args = readArgs(serve.split(' ').slice(2), SERVE_FLAGS);
  // No unit is replenished during a test, however slow the machine is.
  return serving(configured(limits, { '5/min': '5/h' }), { keyHeader: args.text('key-header') });
}

/** Starts an application that answers with the method and the body of each request, and rejects DELETE requests with 403. */
async function application(): Promise<number> {
  const server = createServer((asked, response) => {
    let text = '';
    asked.on('data', (chunk) => (text += String(chunk)));
    asked.on('end', () =>
      response.writeHead(asked.method === 'DELETE' ? 403 : 200).end(`${asked.method} ${text}`),
    );
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/**
 * Replaces parts of a configuration in the guide, such as addresses, by those of the test. Timeouts are replaced by longer ones,
 * because requests pass after a timeout and this machine may be slow. Each part must occur in the configuration.
 */
function configured(text: string, parts: Readonly<Record<string, string | number>>): string {
  for (const [old, next] of Object.entries(parts)) {
    expect(text).toContain(old);
    text = text.replaceAll(old, String(next));
  }
  return text;
}

/** Runs a proxy until the test is finished. Resolves when the proxy accepts connections on the port. */
async function proxy(port: number, folder: string, command: string, ...args: string[]): Promise<void> {
  // Debian installs nginx and HAProxy in /usr/sbin, which is not in the PATH of every user.
  const path = `${process.env['PATH']}:/usr/sbin`;
  const env = { ...process.env, PATH: path, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const child = spawn(command, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let printed = '';
  child.stdout.on('data', (chunk) => (printed += String(chunk)));
  child.stderr.on('data', (chunk) => (printed += String(chunk)));
  const gone = new Promise((resolve) => child.once('close', resolve));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await gone;
  });
  await vi.waitFor(
    async () => {
      expect(child.exitCode, printed).toBe(null);
      // The tests do not count HEAD requests from this address.
      await send(port, { method: 'HEAD', from: '127.0.0.99' });
    },
    { timeout: 20_000, interval: 20 },
  );
}

async function startNginx(text: string): Promise<number> {
  const [folder, port] = [temporaryFolder(), await freePort()];
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${name};`,
  );
  const own = configured(text, {
    'listen 80': `listen 127.0.0.1:${port}`,
    '_timeout 200ms': '_timeout 20s',
    '_timeout 500ms': '_timeout 20s',
  });
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; master_process off; pid nginx.pid; error_log stderr; events {}
    http { access_log off; ${paths.join(' ')}\n${own} }`,
  );
  await proxy(port, folder, 'nginx', '-p', folder, '-e', 'stderr', '-c', 'nginx.conf');
  return port;
}

async function startHaproxy(app: number, sluice: number): Promise<number> {
  const [folder, port] = [temporaryFolder(), await freePort()];
  const luaFile = join(folder, 'sluice.lua');
  const patient = { 'timeout = 250': 'timeout = 20000' };
  writeFileSync(luaFile, configured(lua, { '127.0.0.1:8080': `127.0.0.1:${sluice}`, ...patient }));
  writeFileSync(
    join(folder, 'haproxy.cfg'),
    `${configured(haproxy, {
      '/etc/haproxy/sluice.lua': luaFile,
      'option httpchk': 'timeout check 20s\n  option httpchk',
      'bind :80': `bind 127.0.0.1:${port}`,
      '127.0.0.1:8080': `127.0.0.1:${sluice}`,
      '127.0.0.1:3000': `127.0.0.1:${app}`,
    })}\n`,
  );
  await proxy(port, folder, 'haproxy', '-db', '-f', 'haproxy.cfg');
  return port;
}

async function startCaddy(app: number, sluice: number): Promise<number> {
  const [folder, port] = [temporaryFolder(), await freePort()];
  const text = configured(caddy, {
    'example.com': `http://127.0.0.1:${port}`,
    '127.0.0.1:8080': `127.0.0.1:${sluice}`,
    '127.0.0.1:3000': `127.0.0.1:${app}`,
  });
  writeFileSync(join(folder, 'Caddyfile'), `{\n  admin off\n}\n${text}\n`);
  await proxy(port, folder, 'caddy', 'run', '--config', 'Caddyfile', '--adapter', 'caddyfile');
  return port;
}

const portOf = ({ addresses }: Serving): number => addresses.http?.port ?? 0;
const nginxFor = (app: number, sluice: number): Promise<number> =>
  startNginx(
    configured(nginx, { '127.0.0.1:8080': `127.0.0.1:${sluice}`, '127.0.0.1:3000': `127.0.0.1:${app}` }),
  );

/** Headers that a browser sends with a request from another site's page. Sluice must count this request like every other one. */
const CROSS_SITE = { origin: 'https://partner.example', 'sec-fetch-site': 'cross-site' };

/** Name, start, status of a denial, and status while Sluice cannot be reached. */
const PROXIES = [
  ['nginx', nginxFor, 403, 200],
  ['HAProxy', startHaproxy, 429, 200],
  ['Caddy', startCaddy, 429, 502],
] as const;

test.each(PROXIES)(
  '%s lets five requests from a client pass, and denies the sixth with Retry-After',
  async (...row) => {
    const [, start, denied, outage] = row;
    const server = await guideServer();
    const port = await start(await application(), portOf(server));
    const forged = { 'x-real-ip': '192.0.2.1', 'x-forwarded-for': '192.0.2.1' };
    for (let i = 0; i < 5; i++) {
      const sent = i === 0 ? CROSS_SITE : forged;
      const passed = await send(port, {
        method: 'POST',
        body: `order ${i}`,
        headers: sent,
        from: '127.0.0.2',
      });
      expect(passed).toMatchObject({ status: 200, body: `POST order ${i}` });
      expect(passed.headers['retry-after']).toBeUndefined();
    }
    const refused = await send(port, { headers: forged, from: '127.0.0.2' });
    expect(refused).toMatchObject({
      status: denied,
      headers: { 'retry-after': expect.stringMatching(/^[1-9]\d*$/) },
    });
    expect(await send(port, { from: '127.0.0.3' })).toMatchObject({ status: 200 });

    await server.drain({ timeout: 0 });
    expect(await send(port, { from: '127.0.0.2' })).toMatchObject({ status: outage });
    // Until its health checks have noticed the outage, HAProxy needs three seconds for each request. After that, it no longer tries to
    // connect.
    await expect
      .poll(
        async () => {
          const askedAt = performance.now();
          expect(await send(port, { from: '127.0.0.2' })).toMatchObject({ status: outage });
          return performance.now() - askedAt;
        },
        { timeout: 30_000 },
      )
      .toBeLessThan(2500);
  },
  60_000,
);

test('nginx sends 429 with Retry-After if the guide’s error page is added', async () => {
  const server = await guideServer();
  const [addition = '', ...rest] = nginxWith429.split('\n}\n');
  const [, inside = ''] = addition.split('location / {\n');
  const text = configured(nginx, {
    'location / {': `location / {\n${inside}`,
    'location = /_sluice {': `${rest.join('\n}\n')}\nlocation = /_sluice {`,
    '127.0.0.1:8080': `127.0.0.1:${portOf(server)}`,
    '127.0.0.1:3000': `127.0.0.1:${await application()}`,
  });
  const port = await startNginx(text);
  expect(await send(port, { method: 'DELETE', from: '127.0.0.3' })).toMatchObject({ status: 403 });
  const answers: Answer[] = [];
  for (let i = 0; i < 6; i++) answers.push(await send(port, { from: '127.0.0.2' }));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 429]);
  expect(Number(answers[5]?.headers['retry-after'])).toBeGreaterThan(0);
}, 60_000);

test("the forwardAuth address in the guide's Traefik configuration returns 429 for the sixth request", async () => {
  const server = await guideServer();
  const { http } = parse(traefik) as {
    http: { middlewares: { limit: { forwardAuth: { address: string; authRequestHeaders: string[] } } } };
  };
  const { address, authRequestHeaders } = http.middlewares.limit.forwardAuth;
  const url = configured(address, { 'http://127.0.0.1:8080': server.url });
  const headers = Object.fromEntries(authRequestHeaders.map((name) => [name, '192.0.2.7']));
  const statuses: number[] = [];
  for (let i = 0; i < 6; i++) statuses.push((await fetch(url, { headers })).status);
  expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
});
