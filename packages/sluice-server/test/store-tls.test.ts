/** Tests TLS between the server and a real Redis that requires client certificates. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freePort, redisServer } from 'sluice-test-support/redis/server.ts';
import { openStore } from '../src/store.ts';
import { certificates } from './listeners/listeners.ts';
import { serving, temporaryFolder } from './serving.ts';

function certificateFiles(): Record<keyof ReturnType<typeof certificates>, string> {
  const folder = join(temporaryFolder(), 'tls');
  mkdirSync(folder);
  const files = Object.entries(certificates()).map(([name, text]) => {
    const file = join(folder, `${name}.pem`);
    writeFileSync(file, text);
    return [name, file];
  });
  return Object.fromEntries(files) as Record<keyof ReturnType<typeof certificates>, string>;
}

test('the server trusts a Redis whose certificate was issued by the CA of --store-ca, and presents its own certificate', async () => {
  const files = certificateFiles();
  const port = await freePort();
  const tls = ['--tls-port', String(port), '--tls-cert-file', files.cert, '--tls-key-file', files.key];
  const redis = await redisServer({
    args: [...tls, '--tls-ca-cert-file', files.ca, '--tls-auth-clients', 'yes'],
  });
  const { ca, clientCert: cert, clientKey: key } = files;
  const statusWith = async (given: object): Promise<number> => {
    const store = {
      url: `rediss://127.0.0.1:${port}`,
      deadline: '2s',
      onFailure: 'throw' as const,
      tls: given,
    };
    const server = await serving('limits: { a: 3/h }', { store });
    const { status } = await server.post('/v1/take', { limit: 'a', key: 'x' });
    const expiry = /^sluice_certificate_expiry_timestamp_seconds\{listener="store"\} (\S+)$/m;
    const days = (Number(expiry.exec(server.core.metrics.text())?.[1]) * 1000 - Date.now()) / 86_400_000;
    // The certificates of this test are valid for two days.
    expect(Math.round(days)).toBe('cert' in given ? 2 : NaN);
    await server.drain({ timeout: 0 });
    return status;
  };
  expect(await statusWith({ ca, cert, key })).toBe(200);
  expect(await statusWith({ ca })).toBe(503);
  expect(await statusWith({ cert, key })).toBe(503);
  await redis.stop();
}, 30_000);

test.each([
  ['redis://127.0.0.1:1', { ca: '/dev/null' }, 'need a --store with TLS'],
  ['memory', { ca: '/dev/null' }, 'need a --store with TLS'],
  ['postgres://a@127.0.0.1:1/b', { ca: '/dev/null' }, 'For Postgres, set sslrootcert'],
  ['rediss://127.0.0.1:1', { cert: '/dev/null' }, '--store-cert and --store-key must be given together'],
  ['rediss://127.0.0.1:1', { ca: '/no/such/file' }, 'cannot use the TLS files of the store: ENOENT'],
])('for the store %s, the certificate options %j are rejected', async (url, tls, message) => {
  await expect(openStore({ url, tls })).rejects.toThrow(message);
});
