// @ts-check
// Calls to somebody else's API, which allows five at once and ten a second. A plain fetch is refused, a limited one waits.
//
//   npm run build && node examples/outbound.mjs

import { createServer } from 'node:http';
import { createLimiter } from 'sluice';
import { limitedFetch } from 'sluice/http';
import { withRateLimit } from 'sluice/node-http';

// Their side.
const theirs = createLimiter('10/s burst 5');
const server = createServer(withRateLimit(theirs, (_request, response) => response.end('data'))).listen(0);
const address = server.address();
const url = `http://localhost:${typeof address === 'object' && address?.port}/`;

/** @param {typeof fetch} call */
async function twenty(call) {
  const responses = await Promise.all(Array.from({ length: 20 }, () => call(url)));
  return responses.every(({ ok }) => ok) ? 'all passed' : 'some were refused';
}

console.log(await twenty(fetch)); // → some were refused

// Our side: a little slower than they allow; and what they announce is heeded.
const polite = limitedFetch(fetch, { limiter: createLimiter('9/s burst 4') });
console.log(await twenty(polite)); // → all passed

server.close().closeAllConnections();
