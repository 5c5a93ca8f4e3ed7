import { expect, test, vi } from 'vitest';
import { createLog } from '../src/log.ts';
import { startServer } from '../src/server.ts';
import { temporaryFile } from './serving.ts';

/** Resolves when the gRPC listener may be opened. */
let openGate = (): void => {};
const gate = new Promise<void>((resolve) => {
  openGate = resolve;
});
vi.mock('../src/listeners/grpc/grpc.ts', async (original) => {
  await gate;
  return original();
});

test('/healthcheck fails until all listeners accept connections', async () => {
  let port = '';
  const log = createLog((line) => {
    port ||= /"listener":"http","address":"127\.0\.0\.1:(\d+)"/.exec(line)?.[1] ?? '';
  });
  const address = { host: '127.0.0.1', port: 0 };
  const starting = startServer({
    config: [temporaryFile('limits: { a: 1/s }')],
    store: { url: 'memory' },
    listeners: { http: { address }, grpc: { address }, resp: { address } },
    watch: false,
    log,
  });
  const health = async () => (await fetch(`http://127.0.0.1:${port}/healthcheck`)).status;
  await expect.poll(() => port, { timeout: 20_000 }).not.toBe('');
  expect(await health()).toBe(500);
  openGate();
  const server = await starting;
  expect(await health()).toBe(200);
  await server.drain({ timeout: 0 });
}, 60_000);
