/** Runs unmodified third-party clients against the RESP listener. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { GlideClient, ProtocolVersion } from '@valkey/valkey-glide';
import { Redis } from 'ioredis';
import { Redis as Valkey } from 'iovalkey';
import { createClient } from 'redis';
import { memory } from 'sluice';
import { manualClock } from 'sluice/testing';
import { expect, onTestFinished, test } from 'vitest';
import { PATIENT } from 'sluice-test-support/redis/clients.ts';
import { openResp } from '../../../src/listeners/resp/resp.ts';
import { certificates, opened } from '../listeners.ts';

const LIMITS = 'limits: { api: 10/min }';
const start = async (options: object = {}): Promise<number> =>
  (await opened(openResp, LIMITS, { store: memory({ clock: manualClock(0) }), ...options })).port;

for (const [name, Client] of [
  ['ioredis', Redis],
  ['iovalkey', Valkey as unknown as typeof Redis],
] as const) {
  test(`${name} works with single commands, a pipeline of 1000, and many connections`, async () => {
    const port = await start();
    const client = new Client({ port, connectionName: 'me', db: 0 });
    onTestFinished(() => client.disconnect());
    expect(await client.call('CL.THROTTLE', 'k', 15, 30, 60, 1)).toEqual([0, 16, 15, -1, 2]);
    expect(await client.call('THROTTLE', 'k', 'api', 10)).toEqual([0, 10, 0, -1, 60]);
    expect(await client.call('THROTTLE', 'k', 'api')).toEqual([1, 10, 0, 6, 60]);
    expect(await client.ping()).toBe('PONG');
    expect(await client.echo('grün')).toBe('grün');
    expect(await client.client('GETNAME')).toBe('me');
    await expect(client.get('k')).rejects.toThrow("unknown command 'get'");
    const pipeline = client.pipeline();
    for (let i = 0; i < 1000; i++) pipeline.call('CL.THROTTLE', 'p', 499, 1, 60);
    const answers = (await pipeline.exec()) ?? [];
    expect(answers.map(([, reply]) => (reply as number[])[2])).toEqual([
      ...Array.from({ length: 500 }, (_, i) => 499 - i),
      ...Array.from({ length: 500 }, () => 0),
    ]);
    const others = Array.from({ length: 50 }, () => new Client({ port }));
    const seen = await Promise.all(others.map((other) => other.call('CL.THROTTLE', 'shared', 29, 1, 60)));
    expect(seen.filter((reply) => (reply as number[])[0] === 0)).toHaveLength(30);
    for (const other of others) other.disconnect();
  });

  test(`${name} can authenticate, and reports a wrong password`, async () => {
    const port = await start({ tokens: () => ['secret'] });
    const client = new Client({ port, password: 'secret' });
    onTestFinished(() => client.disconnect());
    expect(await client.ping()).toBe('PONG');
    const wrong = new Client({ port, password: 'guess', lazyConnect: true, retryStrategy: () => null });
    wrong.on('error', () => {});
    await expect(wrong.connect().then(() => wrong.ping())).rejects.toThrow();
    wrong.disconnect();
  });
}

test.each([2, 3] as const)(
  'node-redis with RESP %i works with commands, a pipeline and a password',
  async (RESP) => {
    const port = await start({ tokens: () => ['secret'] });
    const client = createClient({ RESP, socket: { port }, password: 'secret', name: 'me' });
    onTestFinished(() => client.destroy());
    await client.connect();
    expect(await client.sendCommand(['CL.THROTTLE', 'k', '15', '30', '60', '1'])).toEqual([0, 16, 15, -1, 2]);
    expect(await client.sendCommand(['THROTTLE', 'k', 'api'])).toEqual([0, 10, 9, -1, 6]);
    expect(await client.ping()).toBe('PONG');
    expect(await client.hello()).toMatchObject({ server: 'sluice', proto: RESP });
    expect(await client.info('server')).toContain('redis_version:');
    expect(await client.commandCount()).toBe(20);
    expect((await client.command()).map(({ name }) => name)).toContain('cl.throttle');
    const replies = await Promise.all(
      Array.from({ length: 100 }, () => client.sendCommand(['CL.THROTTLE', 'p', '49', '1', '60'])),
    );
    expect(replies.filter((reply) => (reply as unknown as number[])[0] === 0)).toHaveLength(50);
    await expect(client.get('k')).rejects.toThrow('unknown command');
  },
);

test.each([
  ['RESP 2', ProtocolVersion.RESP2],
  ['RESP 3', ProtocolVersion.RESP3],
])('valkey-glide works with %s', async (_, protocol) => {
  const port = await start();
  const addresses = [{ host: '127.0.0.1', port }];
  const client = await GlideClient.createClient({ addresses, protocol, ...PATIENT });
  onTestFinished(() => client.close());
  expect(await client.customCommand(['CL.THROTTLE', 'k', '15', '30', '60'])).toEqual([0, 16, 15, -1, 2]);
  expect(await client.customCommand(['THROTTLE', 'k', 'api', '11'])).toEqual([1, 10, 10, -1, 0]);
  expect(await client.ping()).toBe('PONG');
});

const run = promisify(execFile);

test('redis-cli works with commands, RESP 3, a password, and lines on standard input', async () => {
  const port = String(await start({ tokens: () => ['secret'] }));
  const cli = async (...args: string[]): Promise<string> =>
    (await run('redis-cli', ['-p', port, '--no-auth-warning', '-a', 'secret', ...args])).stdout;
  expect(await cli('CL.THROTTLE', 'k', '15', '30', '60', '1')).toBe('0\n16\n15\n-1\n2\n');
  expect(await cli('-3', 'THROTTLE', 'k', 'api')).toBe('0\n10\n9\n-1\n6\n');
  expect(await cli('-3', 'HELLO')).toContain('proto 3');
  expect(await cli('COMMAND', 'COUNT')).toBe('20\n');
  expect(await cli('COMMAND', 'DOCS', 'cl.throttle')).toContain('redis-cell');
  expect(await cli('-2', 'SELECT', '0')).toBe('OK\n');
  expect(await cli('THROTTLE', 'k', 'nope')).toContain('unknown limit "nope"');
  const script = 'CL.THROTTLE p 1 1 60\nCL.THROTTLE p 1 1 60\nCL.THROTTLE p 1 1 60\nQUIT\n';
  const piped = run('redis-cli', ['-p', port, '--no-auth-warning', '-a', 'secret']);
  piped.child.stdin?.end(script);
  expect((await piped).stdout).toMatch(/^0\n2\n1\n-1\n60\n\n?0\n2\n0\n-1\n120\n\n?1\n2\n0\n60\n120\n/);
});

test('redis-cli works over TLS with a client certificate', async () => {
  const { mkdtempSync, rmSync, writeFileSync } = await import('node:fs');
  const { ca, cert, key, clientCert, clientKey } = certificates();
  const port = String(await start({ tls: { cert, key, ca } }));
  const folder = mkdtempSync('/tmp/sluice-cli-');
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries({ ca, clientCert, clientKey }))
    writeFileSync(`${folder}/${name}`, text);
  const files = [
    '--cacert',
    `${folder}/ca`,
    '--cert',
    `${folder}/clientCert`,
    '--key',
    `${folder}/clientKey`,
  ];
  const { stdout } = await run('redis-cli', ['-h', '127.0.0.1', '-p', port, '--tls', ...files, 'PING']);
  expect(stdout).toBe('PONG\n');
});

test('redis-benchmark finishes, and every call is counted', async () => {
  const { port, core } = await opened(openResp, LIMITS);
  const args = ['-p', String(port), '-n', '20000', '-c', '20', '-P', '16', '-q', 'THROTTLE', 'k', 'api'];
  await run('redis-benchmark', args);
  expect(core.metrics.text()).toContain(
    'sluice_requests_total{listener="resp",route="throttle",code="ok"} 20000',
  );
});
