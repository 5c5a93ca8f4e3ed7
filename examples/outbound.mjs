// @ts-check
// Calls an API that allows ten requests a second and a burst of five. Some calls of a plain fetch are denied, but a limited
// fetch waits.
//
//   npm run build && node examples/outbound.mjs

import { createServer } from 'node:http';
import { createLimiter } from 'sluice';
import { limitedFetch } from 'sluice/http';
import { withRateLimit } from 'sluice/node-http';

// This server stands in for the API.
const theirs = createLimiter('10/s burst 5');
const server = createServer(withRateLimit(theirs, (_request, response) => response.end('data'))).listen(0);
const address = server.address();
const url = `http://localhost:${typeof address === 'object' && address?.port}/`;

/** @param {typeof fetch} call */
async function twenty(call) {
  const responses = await Promise.all(Array.from({ length: 20 }, () => call(url)));
  return responses.every(({ ok }) => ok) ? 'all passed' : 'some were denied';
}

console.log(await twenty(fetch)); // → some were denied

// Our side is a little slower than the API allows. limitedFetch also obeys the API's rate limit headers.
const polite = limitedFetch(fetch, { limiter: createLimiter('9/s burst 4') });
console.log(await twenty(polite)); // → all passed

server.close().closeAllConnections();
