/**
 * Replaces the servers and paths of a reader's machine with real servers and paths for the tests. Each server is started for
 * the first block that names it. `stopMachine` stops all of them.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import { inject } from 'vitest';
import { postgresServer } from 'sluice-test-support/postgres/server.ts';
import { startCluster } from '../stores/redis/cluster.ts';
import { freePort } from 'sluice-test-support/redis/server.ts';
import { type Block, root } from 'sluice-test-support/docs/blocks.ts';

/** The resources for one run of a block. */
export interface Place {
  readonly port: number;
  readonly socket: string;
}

const ended: (() => unknown)[] = [];

export async function stopMachine(): Promise<void> {
  for (const end of ended.splice(0).reverse()) await end();
}

/** Caches the result of `start`. If `start` fails, it is called again for the next block. */
function once<T>(start: () => Promise<T>): () => Promise<T> {
  let started: Promise<T> | undefined;
  return () =>
    (started ??= start().catch((error: unknown) => {
      started = undefined;
      throw error;
    }));
}

let sockets = 0;
const folder = once(async () => {
  const path = mkdtempSync(join(tmpdir(), 'sluice-docs-'));
  ended.push(() => rmSync(path, { recursive: true, force: true }));
  return path;
});

export async function newPlace(): Promise<Place> {
  return { port: await freePort(), socket: join(await folder(), `${++sockets}.sock`) };
}

/** The blocks use a separate database, because other tests use the same server. */
const redisUrl = `redis://127.0.0.1:${inject('redisPort')}/15`;
const redis = once(async () => {
  const client = new Redis(redisUrl);
  ended.push(() => client.disconnect());
  return client;
});

const cluster = once(async () => {
  const started = await startCluster();
  ended.push(() => started.stop());
  return started;
});

const database = once(async () => {
  const started = await postgresServer();
  ended.push(() => started.stop());
  return started;
});

/** The path is computed, so that the type check does not follow it. The server is another project. */
const serverSources = pathToFileURL(join(root, 'packages/sluice-server/src/index.ts')).href;

interface SluiceServer {
  readonly addresses: { readonly resp: { readonly port: number } };
  drain(options: { timeout: number }): Promise<void>;
}

/** Starts a Sluice server, which implements the command of redis-cell. Returns its URL. */
async function cell(): Promise<string> {
  const { createLog, startServer } = (await import(/* @vite-ignore */ serverSources)) as {
    readonly createLog: (write: (line: string) => void) => unknown;
    readonly startServer: (options: object) => Promise<SluiceServer>;
  };
  const server = await startServer({
    config: [join(root, 'packages/sluice-server/limits.sample.yaml')],
    store: { url: 'memory' },
    listeners: { resp: { address: { host: '127.0.0.1', port: 0 } } },
    log: createLog(() => {}),
    watch: false,
  });
  ended.push(() => server.drain({ timeout: 0 }));
  return `redis://127.0.0.1:${server.addresses.resp.port}`;
}

/** For each text that blocks contain, a function that returns its replacement. */
const STAND_INS: Readonly<Record<string, (place: Place) => string | Promise<string>>> = {
  async "'redis://localhost'"() {
    // Each block starts with an empty database.
    await (await redis()).flushdb();
    return `'${redisUrl}'`;
  },
  "'redis://redis-cell'": async () => `'${await cell()}'`,
  "host: 'redis-1', port: 6379": async () =>
    `host: '127.0.0.1', port: ${(await cluster()).nodes[0].server.port}`,
  async "process.env['DATABASE_URL']"() {
    const started = await database();
    // Readers have to create the table themselves.
    await started.pool().query('DROP TABLE IF EXISTS sluice');
    return `'${started.url}'`;
  },
  "'/run/api/limits.sock'": ({ socket }) => `'${socket}'`,
  'listen(3000)': ({ port }) => `listen(${port})`,
  'port: 3000': ({ port }) => `port: ${port}`,
  // The original package cannot be installed any more. The drop-in has the same API.
  "import rateLimiterFactory from '@risingstack/rate-limiter'": () =>
    "import { rateLimiterFactory } from 'sluice-compat/rolling-window'",
};

/** Code that defines `rateLimiterService`, which Nest would inject, by page. It uses the replacement that the page offers. */
const INJECTED: Readonly<Record<string, string>> = {
  'docs/migrate/sharkey.md': `
    import { createSkRateLimiterService } from 'sluice-compat/sharkey';
    const rateLimiterService = createSkRateLimiterService();`,
  'docs/migrate/misskey.md': `
    import { memory } from 'sluice';
    import { createRateLimiterService } from '${join(root, 'packages/compat/test/misskey-guide.ts')}';
    const attempt = createRateLimiterService(memory());
    const rateLimiterService = {
      async limit(...args) {
        const refused = await attempt(...args);
        if (refused !== null) throw refused;
      },
    };`,
};

/** The code of a block, adapted to this machine. */
export async function onThisMachine({ page, code }: Block, place: Place): Promise<string> {
  let here = code;
  for (const [text, standIn] of Object.entries(STAND_INS))
    if (code.includes(text)) here = here.replaceAll(text, await standIn(place));
  if (!code.includes('this.rateLimiterService')) return here;
  const service = INJECTED[page] ?? '';
  return `${service}\nawait (async function () {\n${here}\n}).call({ rateLimiterService });`;
}
