/**
 * Runs unmodified third-party clients: grpcio and h2load for gRPC, curl and wrk for HTTP. Redis clients are in
 * resp/clients.test.ts.
 */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { memory } from 'sluice';
import { manualClock } from 'sluice/testing';
import { expect, test } from 'vitest';
import { punctually } from 'sluice-test-support/redis/watch.ts';
import { openGrpc } from '../../src/listeners/grpc/grpc.ts';
import { openHttp } from '../../src/listeners/http/http.ts';
import { certificates, opened } from './listeners.ts';
import { type Answer, envoysOwn, HEALTH } from './grpc/client.ts';
import { temporaryFolder } from '../serving.ts';

const run = promisify(execFile);
const RULES = `
limits: { api: 3/h, wide: 100000000/h }
domain: shop
descriptors:
  - key: path
    rate_limit: { unit: hour, requests_per_unit: 3 }
  - key: wide
    rate_limit: { unit: hour, requests_per_unit: 100000000 }
`;

/** The service as defined in Envoy's own files instead of the server's files. */
const service = envoysOwn()['ShouldRateLimit'];
const ask = (domain: string, key: string, value: string, hitsAddend = 0): string =>
  service
    .requestSerialize({ domain, hitsAddend, descriptors: [{ entries: [{ key, value }] }] })
    .toString('hex');
const HEALTH_CHECK = HEALTH['Check'];

/** Path of the system's Python. Another Python may lack grpcio. */
const PYTHON = '/usr/bin/python3';
const SCRIPT = fileURLToPath(new URL('./grpc/grpcio.py', import.meta.url));

async function grpcio(
  port: number,
  lines: readonly string[],
  files: readonly string[] = [],
): Promise<string[]> {
  const running = run(PYTHON, [SCRIPT, `localhost:${port}`, ...files]);
  running.child.stdin?.end(lines.map((line) => `${line}\n`).join(''));
  return (await running).stdout.trimEnd().split('\n');
}

const answerIn = (line: string): Answer =>
  service.responseDeserialize(Buffer.from(line.split(' ')[1] ?? '', 'hex'));

test("grpcio with Envoy's messages: three calls pass, the fourth is over the limit, and health checks work", async () => {
  const { port } = await opened(openGrpc, RULES, { store: memory({ clock: manualClock(0) }) });
  const call = `${service.path} ${ask('shop', 'path', '/a')}`;
  // All four calls run concurrently, in any order.
  const answers = (await grpcio(port, [call, call, call, call])).map(answerIn);
  const codes: string[] = answers.map(({ overallCode }) => overallCode);
  expect(codes.filter((code) => code === 'OK')).toHaveLength(3);
  expect(answers[codes.indexOf('OVER_LIMIT')]).toMatchObject({
    statuses: [
      {
        code: 'OVER_LIMIT',
        currentLimit: { requestsPerUnit: 3, unit: 'HOUR' },
        limitRemaining: 0,
        durationUntilReset: { seconds: 3600 },
      },
    ],
    responseHeadersToAdd: [
      { key: 'RateLimit-Limit', value: '3' },
      { key: 'RateLimit-Remaining', value: '0' },
      { key: 'RateLimit-Reset', value: '3600' },
    ],
  });
  const message = HEALTH_CHECK.requestSerialize({ service: '' }).toString('hex');
  const [health] = await grpcio(port, [`${HEALTH_CHECK.path} ${message}`]);
  const answer = HEALTH_CHECK.responseDeserialize(Buffer.from(health?.split(' ')[1] ?? '', 'hex'));
  expect(answer).toEqual({ status: 'SERVING' });
});

test('grpcio gets status codes for an invalid request, a missing or wrong token, and an unknown method', async () => {
  const { port } = await opened(openGrpc, RULES, { tokens: () => ['secret'] });
  const good = 'authorization=Bearer+secret';
  const call = `${service.path} ${ask('shop', 'path', '/a')}`;
  const lines = await grpcio(port, [
    `${service.path} ${ask('', 'path', '/a')} ${good}`,
    call,
    `${call} authorization=Bearer+wrong`,
    `${service.path}More ${ask('shop', 'path', '/a')} ${good}`,
    `${service.path} ffff ${good}`,
    `${call} ${good}`,
  ]);
  expect(lines.map((line) => line.split(' ')[0])).toEqual([
    'INVALID_ARGUMENT',
    'UNAUTHENTICATED',
    'UNAUTHENTICATED',
    'UNIMPLEMENTED',
    'INTERNAL',
    'OK',
  ]);
});

test('grpcio over TLS with a client certificate: each of 200 concurrent calls is counted once', async () => {
  const { ca, cert, key, clientCert, clientKey } = certificates();
  const folder = temporaryFolder();
  const files = Object.entries({ ca, clientKey, clientCert }).map(([name, text]) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  });
  const { port, core } = await opened(openGrpc, RULES, { tls: { cert, key, ca } });
  const lines = await grpcio(
    port,
    Array.from({ length: 200 }, () => `${service.path} ${ask('shop', 'wide', 'x')}`),
    files,
  );
  expect(lines.filter((line) => line.startsWith('OK '))).toHaveLength(200);
  expect(core.metrics.text()).toContain('limit="shop.wide",outcome="allowed"} 200');
});

test('h2load: 2000 calls over 10 connections are all answered without an error', async () => {
  const { port, core } = await opened(openGrpc, RULES);
  const file = join(temporaryFolder(), 'message');
  const message = Buffer.from(ask('shop', 'wide', 'x'), 'hex');
  writeFileSync(file, Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]));
  const headers = ['-H', 'content-type: application/grpc', '-H', 'te: trailers'];
  const url = `http://127.0.0.1:${port}${service.path}`;
  const { stdout } = await run('h2load', ['-n', '2000', '-c', '10', '-m', '20', '-d', file, ...headers, url]);
  expect(stdout).toContain('2000 succeeded, 0 failed, 0 errored, 0 timeout');
  expect(core.metrics.text()).toContain(
    'sluice_requests_total{listener="grpc",route="ShouldRateLimit",code="OK"} 2000',
  );
});

test('curl gets decisions, a denial with status 429, and errors for an invalid body, a wrong token and a body that is too large', async () => {
  const { port } = await opened(openHttp, RULES, {
    store: memory({ clock: manualClock(0) }),
    tokens: () => ['secret'],
  });
  const curl = async (path: string, ...args: string[]): Promise<[status: string, body: string]> => {
    const url = `http://127.0.0.1:${port}${path}`;
    const token = ['-H', 'Authorization: Bearer secret'];
    const { stdout } = await run('curl', ['-sS', '-w', '\n%{http_code}', ...args, ...token, url]);
    const end = stdout.lastIndexOf('\n');
    return [stdout.slice(end + 1), stdout.slice(0, end)];
  };
  const take = (): Promise<[string, string]> =>
    curl('/v1/take?status=429', '-d', '{"limit":"api","key":"grün"}');
  const statuses: string[] = [];
  for (let i = 0; i < 4; i++) statuses.push((await take())[0]);
  expect(statuses).toEqual(['200', '200', '200', '429']);
  expect(
    (await curl('/v1/take', '-d', '[{"limit":"api","key":"a"},{"limit":"api","key":"grün"}]'))[1],
  ).toMatch(/^\[\{"allowed":true.*\{"allowed":false/);
  expect(await curl('/v1/take', '-d', 'limit=api')).toEqual([
    '400',
    expect.stringContaining('urn:sluice:bad-request'),
  ]);
  expect((await curl('/healthcheck', '-I'))[0]).toBe('200');
  expect((await curl('/v1/limits', '-H', 'Authorization: Bearer wrong'))[0]).toBe('401');
  const large = join(temporaryFolder(), 'large');
  writeFileSync(large, 'x'.repeat(2 * 1024 * 1024));
  expect((await curl('/v1/take', '--data-binary', `@${large}`))[0]).toBe('413');
  expect((await curl('/v1/take', '-H', 'Transfer-Encoding: chunked', '--data-binary', `@${large}`))[0]).toBe(
    '413',
  );
});

test('wrk: a second of takes over 20 connections gives no error, and the server has counted every response', () =>
  punctually(300, async () => {
    const { port, core } = await opened(openHttp, RULES);
    const script = join(temporaryFolder(), 'take.lua');
    writeFileSync(script, `wrk.method = 'POST'\nwrk.body = '{"limit":"wide","key":"x"}'\n`);
    const url = `http://127.0.0.1:${port}/v1/take`;
    const { stdout } = await run('wrk', ['-t', '1', '-c', '20', '-d', '1s', '-s', script, url]);
    expect(stdout).not.toMatch(/Socket errors|Non-2xx/);
    const answered = Number(/(\d+) requests in/.exec(stdout)?.[1]);
    const counted = Number(/limit="wide",outcome="allowed"\} (\d+)/.exec(core.metrics.text())?.[1]);
    expect(answered).toBeGreaterThan(100);
    // The counts may differ because wrk disconnects while requests are in progress.
    expect(counted - answered).toBeGreaterThanOrEqual(0);
    expect(counted - answered).toBeLessThanOrEqual(20);
  }));
