// @ts-check
// Rate limits for Node's own HTTP server. Try it:
//
//   npm run build && node examples/node-http.mjs
//   curl -i localhost:3000             five a minute
//   for i in 1 2 3; do curl -s localhost:3000/slow & done; wait     two concurrently

import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { concurrency, createLimiter } from 'sluice';
import { rateLimit, withRateLimit } from 'sluice/node-http';

const perMinute = createLimiter('5/min');
const twoRunning = createLimiter({ running: concurrency({ limit: 2, lease: '30s' }) });

// Checks the request when the handler calls this function, and releases the place when the response has been sent or the client
// has disconnected.
const slowly = rateLimit({ limiter: twoRunning, key: () => 'slow' });

const server = createServer(
  withRateLimit(perMinute, async (request, response) => {
    if (request.url === '/slow') {
      if (!(await slowly(request, response))) return;
      await sleep(2000);
    }
    response.end('Hello\n');
  }),
);

server.listen(Number(process.env['PORT'] ?? 3000), () => {
  const address = server.address();
  console.log(`listening on http://localhost:${typeof address === 'object' && address?.port}`);
});
