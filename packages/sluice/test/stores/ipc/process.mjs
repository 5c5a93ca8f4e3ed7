// @ts-check
/**
 * A separate process that checks over a socket: started by `processes.ts` or forked by node:cluster, and controlled by
 * messages. It runs the built package, because Node 20 cannot run TypeScript.
 *
 * env IPC: options of ipc() as JSON. Message: { limit, key, lanes, checks }, answered by { admitted, sources, slowest, lateness };
 * or { end }: 'close', 'exit', or 'busy'.
 */
import { createLimiter, fixedWindow, gcra } from '../../../dist/index.js';
import { ipc } from '../../../dist/stores/ipc/index.js';

const store = ipc(JSON.parse(process.env['IPC'] ?? ''));

process.on('message', (task) => void (task.end === undefined ? work(task) : end(task.end)));

/** SIGTERM ends a process that has no listener for it. */
async function end(how) {
  if (how === 'close') await store.close();
  if (how === 'busy') return busy();
  process.exit();
}

/** Keeps the event loop busy for 300 ms at a time, for three seconds. */
async function busy() {
  for (let i = 0; i < 8; i++) {
    const until = performance.now() + 300;
    while (performance.now() < until);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function work({ limit, key, lanes, checks }) {
  const limiter = createLimiter(
    {
      year: fixedWindow({ limit, per: '365d', align: 'first' }),
      rate: gcra({ limit: 2 * limit, per: '365d' }),
    },
    { store, name: 'test' },
  );
  const answer = { admitted: 0, sources: {}, slowest: 0, lateness: 0 };
  // The longest delay of a timer in this process.
  let due = performance.now() + 2;
  const ticking = setInterval(() => {
    answer.lateness = Math.max(answer.lateness, performance.now() - due);
    due = performance.now() + 2;
  }, 2);
  let left = checks;
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      while (left-- > 0) {
        const began = performance.now();
        const source = await limiter.take(key).then(
          (decision) => {
            if (decision.allowed) answer.admitted++;
            return decision.source;
          },
          (error) => error.code,
        );
        answer.sources[source] = (answer.sources[source] ?? 0) + 1;
        answer.slowest = Math.max(answer.slowest, performance.now() - began);
      }
    }),
  );
  clearInterval(ticking);
  process.send?.(answer);
}
process.send?.('ready');
