/** Tests the errors for addresses at which a listener cannot be opened. */
import { expect, test } from 'vitest';
import { listenError } from '../../src/listeners/listen-error.ts';
import { freePort, serving } from '../serving.ts';

const LIMITS = 'limits: { a: 1/h }';
const FREE = { host: '127.0.0.1', port: 0 };

test.each([
  ['HTTP', 'http'],
  ['gRPC', 'grpc'],
  ['RESP', 'resp'],
])('if the address of the %s listener is in use, the error names --%s', async (listener, flag) => {
  const { addresses } = await serving(LIMITS);
  const address = addresses.http ?? FREE;
  await expect(serving(LIMITS, { listeners: { [flag]: { address } } })).rejects.toThrow(
    `the ${listener} listener cannot use 127.0.0.1:${address.port}: the address is already in use (EADDRINUSE). Stop the other process, or choose another address with --${flag}.`,
  );
});

test('if the address of the probe listener is in use, the error names --probe-http', async () => {
  const { addresses } = await serving(LIMITS);
  await expect(serving(LIMITS, { probe: addresses.http })).rejects.toThrow(
    /^the probe listener cannot use .* with --probe-http\.$/,
  );
});

test.each(['http', 'grpc', 'resp'])('if --%s names another machine, the error says so', async (flag) => {
  // An address from a block that is reserved for documentation.
  const address = { host: '192.0.2.1', port: await freePort() };
  await expect(serving(LIMITS, { listeners: { [flag]: { address } } })).rejects.toThrow(
    /this machine does not have this address \(EADDRNOTAVAIL\)\. For all addresses of the machine, use 0\.0\.0\.0/,
  );
});

test('the error explains which right a low port requires, but an error about an unreadable file is not changed', () => {
  const denied = Object.assign(new Error('listen EACCES'), { code: 'EACCES', syscall: 'listen' });
  expect(listenError(denied, 'HTTP', 'http', { host: '::', port: 80 })).toMatchObject({
    code: 'EACCES',
    message: expect.stringMatching(
      /^the HTTP listener cannot use \[::\]:80: .* CAP_NET_BIND_SERVICE\..* --http\.$/,
    ),
  });
  const unreadable = Object.assign(new Error('open EACCES'), { code: 'EACCES', syscall: 'open' });
  expect(listenError(unreadable, 'HTTP', 'http', FREE)).toBe(unreadable);
});
