// @ts-check
// Uses the server as other languages would, over HTTP and with any Redis client. Here it runs inside this process, while `npm
// start` runs it separately. Needs `npm install ioredis`.
//
//   npm run build && node examples/server.mjs
//
//   npm start, and in another terminal: curl -d '{"limit":"api","key":"alice"}' localhost:8080/v1/take

import { Redis } from 'ioredis';
import { createLog, startServer } from 'sluice-server';

const anywhere = { host: '127.0.0.1', port: 0 };
const server = await startServer({
  config: [new URL('../packages/sluice-server/limits.sample.yaml', import.meta.url).pathname],
  store: { url: 'memory' },
  listeners: { http: { address: anywhere }, resp: { address: anywhere } },
  log: createLog(() => {}),
});
const { http, resp } = server.addresses;

const response = await fetch(`http://127.0.0.1:${http?.port}/v1/take`, {
  method: 'POST',
  body: JSON.stringify({ limit: 'api', key: 'alice', cost: 10 }),
});
console.log((await response.text()).slice(0, 53)); // → {"allowed":true,"taken":10,"limit":100,"remaining":90

// CL.THROTTLE takes key, burst, count and seconds, as in redis-cell. It replies with limited, limit, remaining, retry after and
// reset after.
const client = new Redis(resp?.port ?? 0, '127.0.0.1');
console.log(await client.call('CL.THROTTLE', 'bob', '14', '30', '60')); // → [ 0, 15, 14, -1, 2 ]

client.disconnect();
await server.drain();
