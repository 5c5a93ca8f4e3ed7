// @ts-check
// Uses the server with a Redis client for Node. Set SLUICE_RESP_PORT to use a port other than 6380. Needs `npm install
// ioredis`.
//
//   sluice serve --config examples/clients/limits.yaml
//   node examples/clients/ioredis.mjs

import { Redis } from 'ioredis';

const redis = new Redis(Number(process.env['SLUICE_RESP_PORT'] ?? 6380), '127.0.0.1', {
  commandTimeout: 2000,
});

// The reply has five integers: whether the take was denied, the limit, the remaining units, the seconds until a retry can succeed,
// and the seconds until the key is fully replenished.
for (let i = 0; i < 3; i++) {
  const reply = /** @type {number[]} */ (await redis.call('THROTTLE', 'alice', 'api'));
  const [denied, , remaining, retryAfter] = reply;
  console.log(denied === 0 ? `allowed, ${remaining} left` : `denied, retry in ${retryAfter} s`);
}
// → allowed, 1 left
// → allowed, 0 left
// → denied, retry in 30 s

redis.disconnect();
