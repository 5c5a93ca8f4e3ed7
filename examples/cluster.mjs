// @ts-check
// One limit for all processes on a machine, without Redis. Uses node:cluster and a Unix socket in a private folder. Try it:
//
//   npm run build && node examples/cluster.mjs
//   curl -i localhost:3000             ten a minute, whichever of the four workers answers

import cluster from 'node:cluster';
import { mkdtempSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLimiter } from 'sluice';
import { ipc } from 'sluice/ipc';
import { withRateLimit } from 'sluice/node-http';

if (cluster.isPrimary) {
  // Only this user may enter the folder, so no other user can reach the socket.
  const path = join(mkdtempSync(join(tmpdir(), 'limits-')), 'limits.sock');
  ipc({ path }); // the primary has little else to do, so it keeps the counts
  for (let i = 0; i < 4; i++) cluster.fork({ LIMITS: path });
  cluster.once('exit', (_worker, code) => process.exit(code || 1));
  cluster.once('listening', (_worker, { port }) => console.log(`listening on http://localhost:${port}`));
} else {
  // The deadline is longer than the default, because a process that has just started may answer slowly.
  const store = ipc({ path: process.env['LIMITS'] ?? '', serve: false, deadline: '5s' });
  const limiter = createLimiter('10/min', { store, name: 'api' });
  const answer = withRateLimit(limiter, (_request, response) => response.end(`from ${process.pid}\n`));
  createServer(answer).listen(Number(process.env['PORT'] ?? 3000));
}
