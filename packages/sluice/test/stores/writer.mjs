// @ts-check
/**
 * A separate process that takes from one key and from many keys. writers.ts starts it on Node, Bun or Deno. It imports the built
 * package, because Node 20 cannot run TypeScript.
 *
 * argv: the kind of store, the address of its backend, the time to begin in milliseconds since 1970, and the number of calls.
 * Output: how many takes were admitted, as JSON.
 */
import process from 'node:process';

const [kind = '', address = '', begin, count] = process.argv.slice(2);
const calls = Number(count);
const { createLimiter, fixedWindow, gcra } = await import('../../dist/index.js');
const patient = /** @type {const} */ ({ deadline: '40s', onFailure: 'throw' });

/** Opens the store, and returns a function that disconnects its client. */
const OPEN = {
  async 'bun-sqlite'() {
    const { sqlite } = await import('../../dist/stores/sqlite/index.js');
    const name = 'bun:sqlite'; // a name that only Bun resolves
    const { Database } = await import(name);
    const db = new Database(address);
    db.exec('PRAGMA synchronous = OFF');
    return { store: sqlite(db, patient), end: () => db.close() };
  },
  async 'deno-kv'() {
    const { denoKv } = await import('../../dist/stores/deno-kv/index.js');
    const { Deno } = /** @type {any} */ (globalThis);
    const kv = await Deno.openKv(address);
    return { store: denoKv(kv, patient), end: () => kv.close() };
  },
  async dynamodb() {
    const { dynamodb } = await import('../../dist/stores/dynamodb/index.js');
    const { DynamoDB } = await import('@aws-sdk/client-dynamodb');
    const credentials = { accessKeyId: 'any', secretAccessKey: 'any' };
    const client = new DynamoDB({ endpoint: address, region: 'local', credentials });
    return { store: dynamodb(client, patient), end: () => client.destroy() };
  },
  async memjs() {
    const { memcached } = await import('../../dist/stores/memcached/index.js');
    const { default: memjs } = await import('memjs');
    const client = memjs.Client.create(address, { timeout: 10 });
    return { store: memcached(client, patient), end: () => client.close() };
  },
  async mysql() {
    const { mysql } = await import('../../dist/stores/mysql/index.js');
    const { createPool } = await import('mysql2');
    const pool = createPool(address);
    return { store: mysql(pool, patient), end: () => pool.end() };
  },
};

const { store, end } = await OPEN[/** @type {keyof OPEN} */ (kind)]();
const day = createLimiter(
  {
    rate: gcra({ limit: 2 * calls, per: '1d' }),
    day: fixedWindow({ limit: 1.25 * calls, per: '1d', align: 'first' }),
  },
  { store, name: 'one key' },
);
const each = createLimiter(gcra({ limit: 5, per: '1d' }), { store, name: 'many keys' });
await Promise.resolve(day.peek('k'));

/** Makes `calls` calls, `lanes` of them concurrently, and returns how many were admitted. */
async function admitted(calls, lanes, take) {
  let allowed = 0;
  let left = calls;
  const lane = async () => {
    while (left-- > 0) if ((await take(left)).allowed) allowed++;
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return allowed;
}

await new Promise((resolve) => setTimeout(resolve, Number(begin) - Date.now()));
const oneKey = await admitted(calls, 2, () => day.take('k'));
const manyKeys = await admitted(calls / 2, 32, (i) => each.take(`k${i % (calls / 20)}`));
await end();
console.log(JSON.stringify({ oneKey, manyKeys }));
