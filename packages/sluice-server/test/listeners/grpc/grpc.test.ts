/** Tests the gRPC listener with grpc-js over sockets. */
import { once } from 'node:events';
import { ChannelCredentials, status } from '@grpc/grpc-js';
import fc from 'fast-check';
import { memory, StoreUnavailable } from 'sluice';
import { manualClock } from 'sluice/testing';
import { expect, test } from 'vitest';
import { unpunctuality } from 'sluice-test-support/redis/watch.ts';
import { openGrpc } from '../../../src/listeners/grpc/grpc.ts';
import { certificates, later, type Opened, opened, socketTo, talk } from '../listeners.ts';
import { type Answer, clientOf, envoysOwn, HEALTH, RATE_LIMIT, type TestClient } from './client.ts';

const RULES = `
domain: shop
descriptors:
  - key: path
    rate_limit: { unit: minute, requests_per_unit: 10, name: any path }
  - key: path
    value: /pay
    rate_limit: { unit: second, requests_per_unit: 2 }
  - key: path
    value: /img/*
    rate_limit: { unit: hour, requests_per_unit: 100 }
  - key: path
    value: /closed
    rate_limit: { unit: hour, requests_per_unit: 0 }
  - key: tenant
    descriptors:
      - key: user
        rate_limit: { unit: day, requests_per_unit: 3 }
      - key: user
        value: admin
        rate_limit: { unlimited: true }
  - key: soft
    shadow_mode: true
    rate_limit: { unit: minute, requests_per_unit: 1 }
  - key: quota
    quota_mode: true
    rate_limit: { unit: minute, requests_per_unit: 1 }
    metadata: { backend: primary, weights: [1, 0.5], open: true, none: null, nested: { a: { b: c } } }
  - key: reader
    rate_limit: { unit: minute, requests_per_unit: 1, name: reader }
  - key: writer
    rate_limit: { unit: minute, requests_per_unit: 5, replaces: [{ name: reader }] }
  - key: each
    detailed_metric: true
    rate_limit: { unit: minute, requests_per_unit: 5 }
  - key: smooth
    rate_limit: { policies: 60/min, name: smooth }
  - key: bursts
    rate_limit: { policies: 60/min burst 5 }
  - key: weekly
    rate_limit: { unit: week, requests_per_unit: 7 }
`;

/** 30 s after the start of a minute. */
const NOW = 1_700_000_010_000;

const entries = (...pairs: string[]): object[] =>
  pairs.map((pair) => {
    const [key, value = ''] = pair.split('=');
    return { key, value };
  });
const of = (...pairs: string[]): { entries: object[] } => ({ entries: entries(...pairs) });

async function shop(
  options: Parameters<typeof opened>[2] = {},
): Promise<Opened & TestClient & { ask: (...descriptors: object[]) => Promise<Answer> }> {
  const server = await opened(openGrpc, RULES, { store: memory({ clock: manualClock(NOW) }), ...options });
  const client = clientOf(server.port, RATE_LIMIT);
  const ask = (...descriptors: object[]): Promise<Answer> =>
    client.call('ShouldRateLimit', { domain: 'shop', descriptors });
  return { ...server, ...client, ask };
}

const NO_LIMIT = { code: 'OK', currentLimit: null, limitRemaining: 0, durationUntilReset: null };

test('a status contains the code, the limit with its name and unit, the remaining units, and the time until the reset', async () => {
  const { ask } = await shop();
  expect(await ask(of('path=/a'), of('tenant=t', 'user=u'), of('unknown=x'))).toEqual({
    overallCode: 'OK',
    statuses: [
      {
        code: 'OK',
        currentLimit: { name: 'any path', requestsPerUnit: 10, unit: 'MINUTE' },
        limitRemaining: 9,
        durationUntilReset: { seconds: 30, nanos: 0 },
      },
      {
        code: 'OK',
        currentLimit: { name: '', requestsPerUnit: 3, unit: 'DAY' },
        limitRemaining: 2,
        durationUntilReset: { seconds: 86_400 - ((NOW / 1000) % 86_400), nanos: 0 },
      },
      NO_LIMIT,
    ],
    responseHeadersToAdd: [
      { key: 'RateLimit-Limit', value: '3' },
      { key: 'RateLimit-Remaining', value: '2' },
      { key: 'RateLimit-Reset', value: String(86_400 - ((NOW / 1000) % 86_400)) },
    ],
    dynamicMetadata: null,
  });
});

test('the headers describe the first limit if several limits have the same number of units left', async () => {
  const { ask } = await shop();
  await ask(of('writer=w'), of('writer=w'));
  const { statuses, responseHeadersToAdd } = await ask(of('tenant=t', 'user=u'), of('writer=w'));
  expect(statuses.map(({ limitRemaining }: { limitRemaining: number }) => limitRemaining)).toEqual([2, 2]);
  expect(responseHeadersToAdd[0]).toEqual({ key: 'RateLimit-Limit', value: '3' });
});

test('the time until the reset is rounded up to a full second', async () => {
  const { ask } = await shop({ store: memory({ clock: manualClock(NOW + 300) }) });
  const { statuses, responseHeadersToAdd } = await ask(of('path=/pay'));
  expect(statuses[0].durationUntilReset).toEqual({ seconds: 1, nanos: 0 });
  expect(responseHeadersToAdd[2]).toEqual({ key: 'RateLimit-Reset', value: '1' });
});

test('one descriptor over its limit denies the request, but the other descriptors are still counted', async () => {
  const { ask } = await shop();
  for (let i = 0; i < 2; i++) expect((await ask(of('path=/pay'))).overallCode).toBe('OK');
  const { overallCode, statuses, responseHeadersToAdd } = await ask(of('path=/pay'), of('path=/b'));
  expect(overallCode).toBe('OVER_LIMIT');
  expect(statuses.map(({ code, limitRemaining }: Answer) => [code, limitRemaining])).toEqual([
    ['OVER_LIMIT', 0],
    ['OK', 9],
  ]);
  expect(responseHeadersToAdd.map(({ value }: Answer) => value)).toEqual(['2', '0', '1']);
  expect((await ask(of('path=/b'))).statuses[0].limitRemaining).toBe(8);
});

test('an exact value takes precedence over a pattern, a pattern takes precedence over a bare key, and a rule applies only if it has as many levels as the descriptor has entries', async () => {
  const { ask } = await shop();
  const limits = async (...descriptors: object[]): Promise<number[]> =>
    (await ask(...descriptors)).statuses.map(
      ({ currentLimit }: Answer) => currentLimit?.requestsPerUnit ?? -1,
    );
  expect(await limits(of('path=/pay'), of('path=/img/a.png'), of('path=/x'))).toEqual([2, 100, 10]);
  expect(await limits(of('tenant=t'), of('tenant=t', 'user=u'), of('path=/pay', 'user=u'))).toEqual([
    -1, 3, -1,
  ]);
  // A pattern counts each value separately.
  expect((await ask(of('path=/img/a.png'))).statuses[0].limitRemaining).toBe(98);
  expect((await ask(of('path=/img/b.png'))).statuses[0].limitRemaining).toBe(99);
});

test('an unlimited descriptor always passes and reports 2 ** 32 - 1 remaining units, and a limit of 0 requests per unit lets nothing pass', async () => {
  const { ask } = await shop();
  const { statuses, overallCode } = await ask(of('tenant=t', 'user=admin'), of('path=/closed'));
  expect(overallCode).toBe('OVER_LIMIT');
  expect(statuses[0]).toEqual({ ...NO_LIMIT, limitRemaining: 2 ** 32 - 1 });
  expect(statuses[1]).toMatchObject({
    code: 'OVER_LIMIT',
    currentLimit: { requestsPerUnit: 0, unit: 'HOUR' },
    limitRemaining: 0,
  });
});

test('shadow mode counts requests and lets them pass', async () => {
  const { ask, core } = await shop();
  await ask(of('soft=a'));
  const { overallCode, statuses } = await ask(of('soft=a'), of('path=/a'));
  expect(overallCode).toBe('OK');
  expect(statuses[0]).toMatchObject({ code: 'OK', limitRemaining: 0 });
  expect(core.metrics.text()).toMatch(/decisions_total\{limit="shop.soft",outcome="shadowed"\} 1/);
});

test('in quota mode, the dynamic metadata lists the descriptors that exceed their quota, and contains the metadata of the other descriptors', async () => {
  const { ask } = await shop();
  const first = await ask(of('quota=a'));
  expect(first.dynamicMetadata.fields).toMatchObject({
    domain: { stringValue: 'shop' },
    quotaModeEnabled: { boolValue: true },
    metadata: {
      structValue: {
        fields: {
          backend: { stringValue: 'primary' },
          weights: { listValue: { values: [{ numberValue: 1 }, { numberValue: 0.5 }] } },
          open: { boolValue: true },
          none: { nullValue: 'NULL_VALUE' },
          nested: {
            structValue: { fields: { a: { structValue: { fields: { b: { stringValue: 'c' } } } } } },
          },
        },
      },
    },
  });
  expect(first.dynamicMetadata.fields).not.toHaveProperty('quotaModeViolations');
  const second = await ask(of('path=/a'), of('quota=a'), of('quota=b'));
  expect(second.overallCode).toBe('OK');
  expect(second.statuses.map(({ code }: Answer) => code)).toEqual(['OK', 'OVER_LIMIT', 'OK']);
  expect(second.dynamicMetadata.fields.quotaModeViolations.listValue.values).toMatchObject([
    { numberValue: 1 },
  ]);
  expect(second.dynamicMetadata.fields.descriptors.listValue.values[1]).toMatchObject({
    structValue: { fields: { entries: { listValue: { values: [{ stringValue: 'quota=a' }] } } } },
  });
  const third = await ask(of('quota=a'), of('quota=b'));
  expect(third.overallCode).toBe('OVER_LIMIT');
  expect(third.dynamicMetadata.fields).not.toHaveProperty('metadata');
});

test('a descriptor without entries has the code OK and no limit', async () => {
  const { ask } = await shop();
  const { overallCode, statuses } = await ask({ entries: [] }, of('path=/closed'));
  expect(overallCode).toBe('OVER_LIMIT');
  expect(statuses[0]).toEqual(NO_LIMIT);
});

test('with --shadow, the overall code is OK, but the statuses say which limits are exceeded', async () => {
  const { ask } = await shop({ shadow: true });
  const { overallCode, statuses } = await ask(of('path=/closed'), of('path=/a'));
  expect(overallCode).toBe('OK');
  expect(statuses.map(({ code }: Answer) => code)).toEqual(['OVER_LIMIT', 'OK']);
});

test('a limit that replaces another limit does not charge the replaced limit', async () => {
  const { ask } = await shop();
  for (let i = 0; i < 3; i++) {
    const { overallCode, statuses } = await ask(of('reader=a'), of('writer=a'));
    expect(overallCode).toBe('OK');
    expect(statuses[0]).toEqual(NO_LIMIT);
    expect(statuses[1].limitRemaining).toBe(4 - i);
  }
  expect((await ask(of('reader=a'))).overallCode).toBe('OK');
  expect((await ask(of('reader=a'))).overallCode).toBe('OVER_LIMIT');
});

test('detailed_metric adds the values of entries to the labels of the metrics', async () => {
  const { ask, core } = await shop();
  await ask(of('each=a'), of('each=b'), of('path=/a'), of('path=/b'));
  const text = core.metrics.text();
  expect(text).toMatch(/\{limit="shop.each.a",outcome="allowed"\} 1/);
  expect(text).toMatch(/\{limit="shop.each.b",outcome="allowed"\} 1/);
  expect(text).toMatch(/\{limit="shop.path",outcome="allowed"\} 2/);
  expect(text).toContain('sluice_requests_total{listener="grpc",route="ShouldRateLimit",code="OK"} 1');
});

test("a request's hits_addend of 0 means 1, and a descriptor's hits_addend takes precedence over the request's", async () => {
  const { call } = await shop();
  const left = async (hitsAddend: number, own?: number): Promise<number> => {
    const descriptor = { ...of('path=/h'), ...(own !== undefined && { hitsAddend: { value: own } }) };
    const { statuses } = await call('ShouldRateLimit', {
      domain: 'shop',
      descriptors: [descriptor],
      hitsAddend,
    });
    return statuses[0].limitRemaining;
  };
  expect(await left(0)).toBe(9);
  expect(await left(3)).toBe(6);
  expect(await left(3, 2)).toBe(4);
  expect(await left(3, 0)).toBe(4);
});

test('a descriptor with 0 hits checks the limit without counting a hit, even if it is denied', async () => {
  const { ask } = await shop();
  const check = { ...of('path=/pay'), hitsAddend: { value: 0 } };
  expect((await ask(check)).statuses[0]).toMatchObject({ code: 'OK', limitRemaining: 2 });
  await ask({ ...of('path=/pay'), hitsAddend: { value: 2 } });
  // The limit is used up but not exceeded, which is OK, as in envoyproxy/ratelimit.
  expect((await ask(check)).statuses[0]).toMatchObject({ code: 'OK', limitRemaining: 0 });
  expect((await ask(of('path=/pay'))).overallCode).toBe('OVER_LIMIT');
  expect((await ask(check)).statuses[0]).toMatchObject({ code: 'OVER_LIMIT', limitRemaining: 0 });
});

test('negative hits are refunded', async () => {
  const { ask } = await shop();
  await ask({ ...of('path=/n'), hitsAddend: { value: 6 } });
  const back = await ask({ ...of('path=/n'), hitsAddend: { value: 4 }, isNegativeHits: true });
  expect(back.statuses[0]).toMatchObject({ code: 'OK', limitRemaining: 8 });
});

test('more hits than a number can represent exceed the limit, and do not cause an error', async () => {
  const { ask } = await shop();
  const most = { ...of('path=/m'), hitsAddend: { value: '18446744073709551615' } };
  expect((await ask(most)).overallCode).toBe('OVER_LIMIT');
});

test('a limit in the descriptor replaces the configured limit', async () => {
  const { ask } = await shop();
  const own = (unit: string, requestsPerUnit: number): object => ({
    ...of('path=/pay'),
    limit: { unit, requestsPerUnit },
  });
  for (const unit of ['SECOND', 'MINUTE', 'HOUR', 'DAY', 'WEEK', 'MONTH', 'YEAR'])
    expect((await ask(own(unit, 7))).statuses[0]).toMatchObject({
      code: 'OK',
      currentLimit: { requestsPerUnit: 7, unit, name: '' },
    });
  const codes = [];
  for (let i = 0; i < 3; i++) codes.push((await ask(own('MINUTE', 1))).overallCode);
  expect(codes).toEqual(['OVER_LIMIT', 'OVER_LIMIT', 'OVER_LIMIT']);
  expect((await ask(of('path=/pay'))).statuses[0].limitRemaining).toBe(1);
  expect((await ask({ ...of('unknown=x'), limit: { unit: 'DAY', requestsPerUnit: 0 } })).overallCode).toBe(
    'OVER_LIMIT',
  );
});

test("a limit configured as a policy is reported with requests per unit, and with the unit UNKNOWN if its window is not one of Envoy's units", async () => {
  const { ask } = await shop();
  expect((await ask(of('smooth=a'))).statuses[0]).toEqual({
    code: 'OK',
    currentLimit: { name: 'smooth', requestsPerUnit: 60, unit: 'MINUTE' },
    limitRemaining: 59,
    durationUntilReset: { seconds: 1, nanos: 0 },
  });
  // Five requests are replenished in five seconds, a duration for which Envoy has no unit.
  expect((await ask(of('bursts=a'))).statuses[0].currentLimit).toMatchObject({
    requestsPerUnit: 5,
    unit: 'UNKNOWN',
  });
  expect((await ask(of('weekly=a'))).statuses[0].currentLimit.unit).toBe('WEEK');
});

test('an unknown domain has no limits', async () => {
  const { call } = await shop();
  const answer = await call('ShouldRateLimit', { domain: 'nope', descriptors: [of('path=/a')] });
  expect(answer).toEqual({
    overallCode: 'OK',
    statuses: [NO_LIMIT],
    responseHeadersToAdd: [],
    dynamicMetadata: null,
  });
});

test.each([
  ['no domain', { descriptors: [of('a=b')] }],
  ['no descriptors', { domain: 'shop' }],
  ['an empty key', { domain: 'shop', descriptors: [of('=x')] }],
  ['entries that are too long', { domain: 'shop', descriptors: [of(`path=${'x'.repeat(1100)}`)] }],
  ['too many descriptors', { domain: 'shop', descriptors: Array.from({ length: 1001 }, () => of('a=b')) }],
  [
    'the unit UNKNOWN',
    { domain: 'shop', descriptors: [{ ...of('a=b'), limit: { unit: 'UNKNOWN', requestsPerUnit: 1 } }] },
  ],
  [
    'a unit number that the server does not know',
    { domain: 'shop', descriptors: [{ ...of('a=b'), limit: { unit: 99, requestsPerUnit: 1 } }] },
  ],
])('a request with %s is rejected as an invalid argument', async (_, request) => {
  const { call, log } = await shop();
  await expect(call('ShouldRateLimit', request)).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
  expect(log).toEqual([]);
});

test('a failed store gives UNAVAILABLE; an unexpected error is logged and gives INTERNAL without details', async () => {
  const errors: Error[] = [new StoreUnavailable('circuit-open'), new TypeError('a secret')];
  const { ask, log } = await shop({ store: later(memory(), () => errors.shift() ?? 0) });
  await expect(ask(of('path=/a'))).rejects.toMatchObject({
    code: status.UNAVAILABLE,
    details: expect.stringContaining('circuit-open'),
  });
  expect(log).toEqual([]);
  await expect(ask(of('path=/a'))).rejects.toMatchObject({
    code: status.INTERNAL,
    details: 'internal server error',
  });
  expect(log.join()).toContain('a secret');
  expect((await ask(of('path=/a'))).overallCode).toBe('OK');
});

test('a call ends at its deadline even if the store does not answer', async () => {
  const { call } = await shop({ store: later(memory(), () => 60_000) });
  const start = performance.now();
  const late = unpunctuality();
  const request = { domain: 'shop', descriptors: [of('path=/a')] };
  await expect(call('ShouldRateLimit', request, { deadline: Date.now() + 100 })).rejects.toMatchObject({
    code: status.DEADLINE_EXCEEDED,
  });
  expect(performance.now() - start - late.total()).toBeLessThan(2000);
  late.stop();
});

test('the server reports an exceeded deadline to a client that does not enforce the deadline itself', async () => {
  const { connect } = await import('node:http2');
  const { port } = await shop({ store: later(memory(), () => 60_000) });
  const session = connect(`http://localhost:${port}`);
  const call = session.request({
    ':method': 'POST',
    ':path': '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit',
    'content-type': 'application/grpc',
    te: 'trailers',
    'grpc-timeout': '100m',
  });
  const message = RATE_LIMIT['ShouldRateLimit']?.requestSerialize({
    domain: 'shop',
    descriptors: [of('path=/a')],
  });
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message?.length ?? 0, 1);
  call.end(Buffer.concat([head, message ?? Buffer.alloc(0)]));
  // The status is in the headers if the response has no message, and in the trailers otherwise.
  const found = await Promise.race([once(call, 'trailers'), once(call, 'response')]);
  expect((found[0] as Record<string, string>)['grpc-status']).toBe(String(status.DEADLINE_EXCEEDED));
  session.destroy();
});

test('a message that is too long is rejected, and the next call works', async () => {
  const { send, ask } = await shop({ maxMessage: 2000 });
  await expect(send('ShouldRateLimit', Buffer.alloc(3000, 1))).rejects.toMatchObject({
    code: status.RESOURCE_EXHAUSTED,
  });
  expect((await ask(of('path=/a'))).overallCode).toBe('OK');
});

test('calls without a valid token are rejected, except for health checks', async () => {
  const { call, port } = await shop({ tokens: () => ['secret'] });
  const request = { domain: 'shop', descriptors: [of('path=/a')] };
  await expect(call('ShouldRateLimit', request)).rejects.toMatchObject({ code: status.UNAUTHENTICATED });
  await expect(call('ShouldRateLimit', request, { token: 'guess' })).rejects.toMatchObject({
    code: status.UNAUTHENTICATED,
  });
  const { statuses } = await call('ShouldRateLimit', request, { token: 'secret' });
  expect(statuses[0].limitRemaining).toBe(9);
  expect(await clientOf(port, HEALTH).call('Check', {})).toEqual({ status: 'SERVING' });
});

test('health checks cover the server and its services, and return NOT_FOUND for other services', async () => {
  let isHealthy = true;
  const { port } = await shop({ isHealthy: () => isHealthy });
  const { call } = clientOf(port, HEALTH);
  const services = ['', 'ratelimit', 'envoy.service.ratelimit.v3.RateLimitService'];
  for (const service of services) expect(await call('Check', { service })).toEqual({ status: 'SERVING' });
  await expect(call('Check', { service: 'nope' })).rejects.toMatchObject({ code: status.NOT_FOUND });
  isHealthy = false;
  for (const service of services) expect(await call('Check', { service })).toEqual({ status: 'NOT_SERVING' });
});

test('a health watch gets the current status, each change, and the end of the stream', async () => {
  let isHealthy = true;
  const { port, listener } = await shop({ isHealthy: () => isHealthy });
  const { watch } = clientOf(port, HEALTH);
  const [stream, other] = [watch({}), watch({ service: 'nope' })];
  const heard: string[] = [];
  stream.on('data', ({ status: now }: Answer) => heard.push(now));
  expect((await once(other, 'data'))[0]).toEqual({ status: 'SERVICE_UNKNOWN' });
  await expect.poll(() => heard).toEqual(['SERVING']);
  for (const now of [false, true]) {
    isHealthy = now;
    await expect.poll(() => heard.at(-1), { timeout: 10_000 }).toBe(now ? 'SERVING' : 'NOT_SERVING');
  }
  // While the status does not change, nothing is sent.
  await new Promise((resolve) => setTimeout(resolve, 1200));
  const ended = once(stream, 'end');
  await listener.drain(2000);
  await ended;
  expect(heard).toEqual(['SERVING', 'NOT_SERVING', 'SERVING', 'NOT_SERVING']);
});

test('a draining listener answers calls in progress and refuses new connections', async () => {
  let asked = 0;
  const store = later(memory(), () => {
    asked++;
    return 300;
  });
  const { ask, listener, port } = await shop({ store });
  const calls = Array.from({ length: 5 }, () => ask(of('path=/a')));
  await expect.poll(() => asked, { timeout: 10_000, interval: 5 }).toBe(5);
  const drained = listener.drain(5000);
  expect((await Promise.all(calls)).map(({ overallCode }) => overallCode)).toEqual(
    Array.from({ length: 5 }, () => 'OK'),
  );
  await drained;
  await expect(clientOf(port, RATE_LIMIT).call('ShouldRateLimit', {})).rejects.toMatchObject({
    code: status.UNAVAILABLE,
  });
});

test('opening a listener on a port that is in use fails', async () => {
  const { listener } = await shop();
  await expect(shop({ address: listener.address })).rejects.toThrow('EADDRINUSE');
});

test('calls that are still open after the drain timeout are aborted', async () => {
  let asked = 0;
  const store = later(memory(), () => {
    asked++;
    return 60_000;
  });
  const { ask, listener } = await shop({ store });
  const failed = expect(ask(of('path=/a'))).rejects.toThrow();
  await expect.poll(() => asked, { timeout: 10_000 }).toBe(1);
  const start = performance.now();
  const late = unpunctuality();
  await listener.drain(100);
  await failed;
  expect(performance.now() - start - late.total()).toBeLessThan(2000);
  late.stop();
});

test('over TLS, clients need a certificate if a client CA is configured', async () => {
  const { ca, cert, key, clientCert, clientKey } = certificates();
  const { port } = await opened(openGrpc, RULES, { tls: { cert, key, ca } });
  const pem = (text: string): Buffer => Buffer.from(text);
  const good = ChannelCredentials.createSsl(pem(ca), pem(clientKey), pem(clientCert));
  const request = { domain: 'shop', descriptors: [of('path=/a')] };
  expect((await clientOf(port, RATE_LIMIT, good).call('ShouldRateLimit', request)).overallCode).toBe('OK');
  for (const bad of [ChannelCredentials.createSsl(pem(ca)), ChannelCredentials.createInsecure()])
    await expect(clientOf(port, RATE_LIMIT, bad).call('ShouldRateLimit', request)).rejects.toMatchObject({
      code: status.UNAVAILABLE,
    });
});

test("a client built from Envoy's published proto files sends and receives the same messages", async () => {
  const { port } = await shop();
  const { call } = clientOf(port, envoysOwn());
  const limit = { unit: 'HOUR', requestsPerUnit: 4 };
  const request = {
    domain: 'shop',
    hitsAddend: 2,
    descriptors: [of('path=/e'), of('tenant=t', 'user=u'), { ...of('x=y'), limit }],
  };
  const answer = await call('ShouldRateLimit', request);
  expect(answer).toMatchObject({
    overallCode: 'OK',
    statuses: [
      {
        code: 'OK',
        currentLimit: { name: 'any path', requestsPerUnit: 10, unit: 'MINUTE' },
        limitRemaining: 8,
      },
      { code: 'OK', currentLimit: { name: '', requestsPerUnit: 3, unit: 'DAY' }, limitRemaining: 1 },
      { code: 'OK', currentLimit: { requestsPerUnit: 4, unit: 'HOUR' }, limitRemaining: 2 },
    ],
    responseHeadersToAdd: [
      { key: 'RateLimit-Limit', value: '3' },
      { key: 'RateLimit-Remaining', value: '1' },
      {},
    ],
  });
  expect(answer.statuses[0].durationUntilReset).toEqual({ seconds: 30, nanos: 0 });
  expect((await call('ShouldRateLimit', request)).overallCode).toBe('OVER_LIMIT');
  const quota = { domain: 'shop', hitsAddend: 2, descriptors: [of('quota=q')] };
  const { dynamicMetadata } = await call('ShouldRateLimit', quota);
  expect(dynamicMetadata.fields.quotaModeViolations.listValue.values).toMatchObject([{ numberValue: 0 }]);
});

test('arbitrary bytes instead of a message are rejected or answered, and the next call works', async () => {
  const { send, ask } = await shop();
  const whole = RATE_LIMIT['ShouldRateLimit'].requestSerialize({
    domain: 'shop',
    descriptors: [of('a=b', 'c=d')],
  });
  const broken = fc.tuple(fc.nat(whole.length - 1), fc.nat(255)).map(([at, byte]) => {
    const copy = Buffer.from(whole);
    copy[at] = byte;
    return copy;
  });
  const expected = [status.OK, status.INTERNAL, status.INVALID_ARGUMENT];
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.uint8Array({ maxLength: 300 }), broken), async (bytes) => {
      const code = await send('ShouldRateLimit', bytes).then(
        () => status.OK,
        ({ code: failed }) => failed,
      );
      expect(expected).toContain(code);
    }),
    { numRuns: 300 },
  );
  expect((await ask(of('path=/a'))).overallCode).toBe('OK');
}, 60_000);

test('arbitrary bytes on the socket do not break the server', async () => {
  const { port, ask } = await shop();
  const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
  await fc.assert(
    fc.asyncProperty(fc.boolean(), fc.uint8Array({ maxLength: 2000 }), async (isPrefaced, bytes) => {
      const socket = socketTo(port);
      socket.resume();
      socket.write(Buffer.concat([Buffer.from(isPrefaced ? preface : ''), bytes]));
      await new Promise((resolve) => setTimeout(resolve, 2));
      socket.destroy();
    }),
    { numRuns: 200 },
  );
  await talk(port, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  expect((await ask(of('path=/a'))).overallCode).toBe('OK');
}, 60_000);
