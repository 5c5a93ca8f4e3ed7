/** How fast the gRPC door is, printed and not judged. The client lives in the same process and takes its share. */
import { expect, test } from 'vitest';
import { openGrpc } from '../src/doors/grpc.ts';
import { opened } from './doors.ts';
import { clientOf, RATE_LIMIT } from './grpc-client.ts';

test('ShouldRateLimit, 64 calls at once on one connection', async () => {
  const yaml = 'domain: d\ndescriptors: [{ key: k, rate_limit: { unit: hour, requests_per_unit: 100000 } }]';
  const { port } = await opened(openGrpc, yaml);
  const { call } = clientOf(port, RATE_LIMIT);
  let calls = 0;
  const start = performance.now();
  const before = process.cpuUsage();
  const ask = async (): Promise<void> => {
    while (performance.now() - start < 2000) {
      const entries = [{ key: 'k', value: String(calls % 1000) }];
      await call('ShouldRateLimit', { domain: 'd', descriptors: [{ entries }] });
      calls++;
    }
  };
  await Promise.all(Array.from({ length: 64 }, ask));
  const { user, system } = process.cpuUsage(before);
  const rate = ((calls / (performance.now() - start)) * 1000).toFixed(0);
  console.log(
    `ShouldRateLimit ${rate}/s (${((user + system) / calls).toFixed(0)} µs of this process each, client included)`,
  );
  expect(calls).toBeGreaterThan(0);
});
