/** A server in this process with some traffic, for tests of the Live part's appearance. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '../../sluice-server/src/log.ts';
import { startServer } from '../../sluice-server/src/server.ts';

const LIMITS = `
limits:
  api: 10/s burst 20
  login: 5/min fixed-window & 20/h sliding-log
  search: { policies: 2/h, shadow: true }
domain: edge
descriptors:
  - key: remote_address
    rate_limit: { unit: second, requests_per_unit: 10 }
`;

export interface LiveServer {
  readonly url: string;
  close(): Promise<void>;
}

export async function openLiveServer(page: string): Promise<LiveServer> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-live-'));
  const config = join(folder, 'limits.yaml');
  writeFileSync(config, LIMITS);
  const server = await startServer({
    config: [config],
    store: { url: 'memory' },
    listeners: { http: { address: { host: '127.0.0.1', port: 0 } } },
    adminWithoutToken: true,
    log: createLog(() => {}),
    page,
  });
  const timer = setInterval(() => {
    for (let i = 0; i < 2; i++) void server.core.take('api', '203.0.113.9');
    void server.core.take('login', 'mallory');
    void server.core.take('search', 'ann');
  }, 50);
  return {
    url: `http://127.0.0.1:${server.addresses.http?.port}/`,
    async close() {
      clearInterval(timer);
      await server.drain({ timeout: 0 });
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
