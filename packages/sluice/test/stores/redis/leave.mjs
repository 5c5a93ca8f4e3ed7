// @ts-check
/**
 * A separate process that makes one check and is then expected to exit by itself, or to keep running. It
 * imports the built package, because Node 20 cannot run TypeScript.
 *
 * argv: port, client, what the process does after its check.
 */
import { createLimiter } from '../../../dist/index.js';
import { redis } from '../../../dist/stores/redis/index.js';

const [port, kind, what] = process.argv.slice(2);
const url = `redis://127.0.0.1:${port}`;
const nodes = [{ host: '127.0.0.1', port: Number(port) }];

/** Each client with the function that closes it. */
const CLIENTS = {
  async ioredis() {
    const { Redis } = await import('ioredis');
    const client = new Redis(url);
    return { client, close: () => client.quit() };
  },
  async 'ioredis that is not connected'() {
    const { Redis } = await import('ioredis');
    return { client: new Redis(url, { lazyConnect: true }), close: () => {} };
  },
  async 'a cluster of ioredis'() {
    const { Cluster } = await import('ioredis');
    const client = new Cluster(nodes);
    return { client, close: () => client.quit() };
  },
  async 'node-redis'() {
    const { createClient } = await import('redis');
    const client = createClient({ url });
    await client.connect();
    return { client, close: () => client.close() };
  },
  async 'node-redis that is not connected'() {
    const { createClient } = await import('redis');
    return { client: createClient({ url }), close: () => {} };
  },
  async 'a cluster of node-redis'() {
    const { createCluster } = await import('redis');
    const client = createCluster({ rootNodes: nodes.map((socket) => ({ socket })) });
    await client.connect();
    return { client, close: () => client.close() };
  },
  async 'node-redis 3'() {
    const { createRequire } = await import('node:module');
    const client = createRequire(import.meta.url)('redis3').createClient({ url });
    return { client, close: () => client.quit() };
  },
  async 'node-redis 4'() {
    const { createClient } = await import('redis4');
    const client = createClient({ url });
    await client.connect();
    return { client, close: () => client.quit() };
  },
  async 'valkey-glide'() {
    const { GlideClient } = await import('@valkey/valkey-glide');
    const client = await GlideClient.createClient({ addresses: nodes });
    return { client, close: () => client.close() };
  },
};

const { client, close } = await CLIENTS[/** @type {keyof typeof CLIENTS} */ (kind)]();
const store = redis(client, { deadline: '10s' });
const decision = await createLimiter('10/h', { store, name: kind }).take('a');
process.send?.(decision.remaining);
if (what === 'close the client') await close();
process.on('warning', (warning) => process.send?.(warning.message));
if (what === 'stay') process.on('message', () => process.exit(0));
else process.disconnect?.();
