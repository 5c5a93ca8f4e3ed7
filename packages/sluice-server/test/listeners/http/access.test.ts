/** Tests admin tokens, and certificates that change. */
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { ListenerOptions } from '../../../src/listeners/listener.ts';
import { checkAccess } from '../../../src/listeners/http/access.ts';
import { certificates } from '../listeners.ts';
import { run, serving, started, temporaryFile, temporaryFolder } from '../../serving.ts';

const LIMITS = 'limits: { api: 3/h }';
const operation = { limit: 'api', key: 'ann' };
const local = { host: '127.0.0.1', port: 0 };
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

describe('reset and block', () => {
  test('require the admin token if an admin token is configured, while other routes do not', async () => {
    const { post } = await serving(LIMITS, { adminTokens: () => ['admin'] });
    expect((await post('/v1/take', operation)).status).toBe(200);
    for (const [path, body] of [
      ['/v1/reset', operation],
      ['/v1/block', { ...operation, duration: '1m' }],
    ] as const) {
      const refused = await post(path, body);
      expect([refused.status, await refused.json()]).toMatchObject([
        401,
        { detail: 'an admin token is required' },
      ]);
      expect((await post(path, body, bearer('other'))).status).toBe(401);
      expect((await post(path, body, bearer('admin'))).status).toBe(200);
    }
  });

  test('reject a listener token if an admin token is configured, and all routes accept the admin token', async () => {
    const http = { address: local, tokens: () => ['client'] };
    const { post } = await serving(LIMITS, { listeners: { http }, adminTokens: () => ['admin'] });
    expect((await post('/v1/take', operation, bearer('client'))).status).toBe(200);
    expect((await post('/v1/reset', operation, bearer('client'))).status).toBe(403);
    expect((await post('/v1/take', operation, bearer('admin'))).status).toBe(200);
    expect((await post('/v1/reset', operation, bearer('admin'))).status).toBe(200);
    expect((await post('/v1/take', operation)).status).toBe(401);
  });

  test('accept a listener token if no admin token is configured', async () => {
    const http = { address: local, tokens: () => ['client'] };
    const { post } = await serving(LIMITS, { listeners: { http } });
    expect((await post('/v1/reset', operation)).status).toBe(401);
    expect((await post('/v1/reset', operation, bearer('client'))).status).toBe(200);
  });

  test('are rejected if no token is configured, even for local requests', async () => {
    const open = await serving(LIMITS);
    expect((await open.post('/v1/take', operation)).status).toBe(200);
    const refused = await open.post('/v1/reset', operation);
    expect([refused.status, await refused.json()]).toMatchObject([
      403,
      { type: 'urn:sluice:forbidden', detail: expect.stringContaining('--admin-token-file') },
    ]);
    expect((await open.post('/v1/block', { ...operation, duration: '1m' })).status).toBe(403);
  });

  test('are allowed for local requests without a token if adminWithoutToken is set', async () => {
    const open = await serving(LIMITS, { adminWithoutToken: true });
    expect((await open.post('/v1/reset', operation)).status).toBe(200);
    // A listener on all addresses is reachable from loopback, but also from everywhere else.
    const wide = { listeners: { http: { address: { host: '0.0.0.0', port: 0 } } } };
    await expect(serving(LIMITS, { ...wide, adminWithoutToken: true })).rejects.toThrow('loopback');
    const server = await serving(LIMITS, wide);
    expect((await server.post('/v1/reset', operation)).status).toBe(403);
  });

  test('are allowed by --allow-admin-without-token, which npm start sets', async () => {
    const root = new URL('../../../../../package.json', import.meta.url);
    const { scripts } = JSON.parse(readFileSync(root, 'utf8')) as { scripts: { start: string } };
    const flag = '--allow-admin-without-token';
    expect(scripts.start).toContain(` ${flag}`);
    for (const [status, ...flags] of [[403], [200, flag]] as const) {
      const { url } = await started('--config', temporaryFile(LIMITS), ...flags);
      const body = JSON.stringify(operation);
      expect((await fetch(`${url}/v1/reset`, { method: 'POST', body })).status).toBe(status);
    }
  });

  test('are rejected without a token if a proxy on this machine forwards the request', async () => {
    const { url } = await serving(LIMITS, { adminWithoutToken: true });
    const { port } = new URL(url);
    for (const [name, value] of [
      ['x-forwarded-for', '203.0.113.7'],
      ['X-Forwarded-Proto', 'https'],
      ['forwarded', 'for=203.0.113.7'],
      ['via', '1.1 proxy'],
      ['x-real-ip', '203.0.113.7'],
      ['cf-connecting-ip', '203.0.113.7'],
      ['x-envoy-expected-rq-timeout-ms', '15000'],
    ] as const) {
      const proxy = createServer((incoming, outgoing) => {
        const headers = { ...incoming.headers, host: `127.0.0.1:${port}`, [name]: value };
        const forwarded = request(`${url}${incoming.url}`, { method: 'POST', headers, agent: false });
        forwarded.on('response', (response) => {
          outgoing.writeHead(response.statusCode ?? 0);
          response.pipe(outgoing);
        });
        incoming.pipe(forwarded);
      });
      await new Promise<void>((resolve) => {
        proxy.listen(0, '127.0.0.1', resolve);
      });
      onTestFinished(() => void proxy.close());
      const at = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
      const ask = async (path: string) =>
        (await fetch(at + path, { method: 'POST', body: JSON.stringify(operation) })).status;
      expect([name, await ask('/v1/take'), await ask('/v1/reset')]).toEqual([name, 200, 403]);
    }
  });

  test('are rejected without a token for host names other than localhost, which prevents DNS rebinding', async () => {
    const { url } = await serving(LIMITS, { adminWithoutToken: true });
    const { port } = new URL(url);
    const asked = (host: string) =>
      new Promise((resolve, reject) => {
        const headers = { host, origin: `http://${host}` };
        request(`${url}/v1/reset`, { method: 'POST', headers, agent: false }, (response) => {
          response.resume();
          resolve(response.statusCode);
        })
          .on('error', reject)
          .end(JSON.stringify(operation));
      });
    for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`, 'localhost'])
      expect([host, await asked(host)]).toEqual([host, 200]);
    for (const host of [
      `evil.test:${port}`,
      'localhost.evil.test',
      '127.0.0.1.evil.test',
      '127.evil.test',
      'x@localhost',
    ])
      expect([host, await asked(host)]).toEqual([host, 403]);
  });

  test('accept a client certificate instead of a token if certificates are required', () => {
    const listener = { address: { host: '0.0.0.0', port: 0 } } as ListenerOptions;
    const asked = { headers: {} } as IncomingMessage;
    expect(() => checkAccess(asked, 'reset', listener)).toThrow('keys cannot be reset');
    expect(() => checkAccess(asked, 'reset', { ...listener, tls: { cert: '' } })).toThrow(
      'keys cannot be reset',
    );
    expect(() => checkAccess(asked, 'reset', { ...listener, tls: { ca: 'ours' } })).not.toThrow();
  });

  test('use the current content of the token file', async () => {
    const file = temporaryFile('# ours\nold\n', 'tokens');
    const server = await started('--config', temporaryFile(LIMITS), '--admin-token-file', file);
    const reset = async (token: string) =>
      (
        await fetch(`${server.url}/v1/reset`, {
          method: 'POST',
          headers: bearer(token),
          body: JSON.stringify(operation),
        })
      ).status;
    expect([await reset('old'), await reset('new'), await reset('#')]).toEqual([200, 401, 401]);
    writeFileSync(file, 'new\n');
    await expect.poll(() => reset('new'), { timeout: 10_000 }).toBe(200);
    expect(await reset('old')).toBe(401);
  });
});

describe('certificates', () => {
  /** The certificate that the server presents to a new connection. */
  const shown = (port: number, ca: string, protocol?: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect(
        { port, host: '127.0.0.1', ca, ...(protocol !== undefined && { ALPNProtocols: [protocol] }) },
        () => {
          resolve(socket.getPeerCertificate().fingerprint256);
          socket.destroy();
        },
      );
      socket.on('error', reject);
    });

  test('are replaced for new connections on every listener when they change, unless the new certificates are invalid', async () => {
    const folder = temporaryFolder();
    const [one, two] = [certificates(), certificates()];
    const [cert, key] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
    writeFileSync(cert, one.cert);
    writeFileSync(key, one.key);
    const more = ['--tls-cert', cert, '--tls-key', key, '--grpc', '127.0.0.1:0', '--resp', '127.0.0.1:0'];
    const server = await started('--config', temporaryFile(LIMITS), ...more);
    const listeners = () => server.output().match(/"message":"listening"/g)?.length;
    await expect.poll(listeners, { timeout: 15_000 }).toBe(3);
    const portOf = (listener: string): number =>
      Number(
        new RegExp(`"listener":"${listener}","address":"127\\.0\\.0\\.1:(\\d+)"`).exec(server.output())?.[1],
      );
    const all = (ca: string): Promise<string[]> =>
      Promise.all([shown(portOf('http'), ca), shown(portOf('grpc'), ca, 'h2'), shown(portOf('resp'), ca)]);
    const before = await all(one.ca);
    expect(new Set(before).size).toBe(1);

    // The certificate is replaced before its key. The server does not use a pair that does not match.
    writeFileSync(cert, two.cert);
    await server.says('invalid certificates');
    expect(await all(one.ca)).toEqual(before);
    writeFileSync(key, two.key);
    await server.says('certificates loaded');
    const after = await all(two.ca);
    expect(new Set(after).size).toBe(1);
    expect(after[0]).not.toBe(before[0]);
    await expect(shown(portOf('http'), one.ca)).rejects.toThrow();

    writeFileSync(cert, 'no certificate');
    await server.says('invalid certificates');
    expect(await all(two.ca)).toEqual(after);
  });

  test('are reloaded on SIGHUP if --no-watch is set', async () => {
    const folder = temporaryFolder();
    const [one, two] = [certificates(), certificates()];
    const [cert, key] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
    const write = ({ cert: first, key: second }: typeof one): void => {
      writeFileSync(cert, first);
      writeFileSync(key, second);
    };
    write(one);
    const more = ['--tls-cert', cert, '--tls-key', key, '--no-watch'];
    const server = await started('--config', temporaryFile(LIMITS), ...more);
    const before = await shown(server.port, one.ca);
    write(two);
    expect(await shown(server.port, one.ca)).toBe(before);
    server.process.kill('SIGHUP');
    await server.says('certificates loaded');
    expect(await shown(server.port, two.ca)).not.toBe(before);
  });

  test('that do not match the private key prevent the server from starting, with a one-line error', async () => {
    const [one, two] = [certificates(), certificates()];
    const [cert, key] = [temporaryFile(one.cert, 'a.crt'), temporaryFile(two.key, 'b.key')];
    const more = ['--http', '0', '--tls-cert', cert, '--tls-key', key];
    const { output, gone } = run('serve', '--config', temporaryFile(LIMITS), ...more);
    expect(await gone).toBe(2);
    expect(output()).toMatch(
      /^sluice: cannot use the TLS files: .*mismatch.* Run `sluice serve --help --all`/m,
    );
  });
});

test('startServer rejects an unknown listener', async () => {
  const listeners = { htpp: { address: local } } as never;
  await expect(serving(LIMITS, { listeners })).rejects.toThrow(
    "unknown listener 'htpp'; must be one of http, grpc, resp",
  );
});
