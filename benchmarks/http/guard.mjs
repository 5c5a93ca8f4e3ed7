/** A process that measures the guard without a server, or measures only the limiter that the guard calls. */
import { IncomingMessage } from 'node:http';
import { createLimiter } from 'sluice';
import { createGuard } from 'sluice/http';
import { median } from '../report.mjs';

const [name, turns] = process.argv.slice(2);
/** Number of requests. They are few enough to stay in the CPU cache, as a server's in-flight requests do. */
const REQUESTS = 500;
const ADDRESS = '192.0.2.7';

const socket = { remoteAddress: ADDRESS };
const limiter = createLimiter({ default: '1000000000/min' });
const view = { addressed: (request) => request, identity: (request) => request };
const contenders = {
  guard: () => createGuard(limiter, view),
  'without headers': () => createGuard({ limiter, headers: false }, view),
  'limiter.take(key)': () => () => limiter.take(ADDRESS),
};
const check = contenders[name]();

/** A guard marks the request that it checks, so each request is used only once. */
function requests() {
  return Array.from({ length: REQUESTS }, () => {
    const request = new IncomingMessage(socket);
    request.headers = { host: 'localhost', accept: '*/*' };
    return request;
  });
}

const times = [];
for (let turn = 0; turn < 2 * turns; turn++) {
  const fresh = requests();
  let last;
  const start = performance.now();
  for (const request of fresh) last = check(request);
  const took = performance.now() - start;
  if (name === 'guard' && last.headers.length !== 2) throw new Error('the guard wrote no headers');
  // The first half of the turns is a warm-up.
  if (turn >= turns) times.push((took * 1e6) / REQUESTS);
}
process.send({ nanoseconds: median(times) });
