// @ts-check
/**
 * A process with leases on a real Redis, started by processes.test.ts and controlled by messages. It uses the built files,
 * because Node 20 cannot run TypeScript. It writes what it admits to its output immediately, so that the test can read it even
 * if the process is killed: one line with the time and the number of units.
 *
 * argv: port, and the policy's options as JSON. Messages: { takes: number of concurrent takes }; { flood: milliseconds } of as
 * many takes as possible, extended on a busy machine until there are five per millisecond; { stall: milliseconds }; { close }.
 * Each message is answered with the number of decisions.
 */
import { writeSync } from 'node:fs';
import { Redis } from 'ioredis';

const { createLimiter, fixedWindow, gcra, leased } = await import('../../../dist/index.js');
const { redis } = await import('../../../dist/stores/redis/index.js');

const [port, policy] = process.argv.slice(2).map((arg) => JSON.parse(arg));
const store = leased(
  redis(new Redis({ port, maxRetriesPerRequest: 0 }), { onFailure: 'throw', deadline: '5s' }),
  { nodes: 4 },
);
const limiter = createLimiter(policy.burst === undefined ? fixedWindow(policy) : gcra(policy), {
  store,
  name: 'leases',
});

/** Makes concurrent takes, and waits for those that need the store. @param {number} count */
async function take(count) {
  let admitted = 0;
  const tell = () => {
    if (admitted > 0) writeSync(1, `${performance.timeOrigin + performance.now()} ${admitted}\n`);
    admitted = 0;
  };
  const later = [];
  for (let i = 0; i < count; i++) {
    const decision = limiter.take('key');
    if (decision instanceof Promise)
      later.push(
        decision.then(({ allowed }) => {
          if (!allowed) return;
          admitted++;
          tell();
        }),
      );
    else if (decision.allowed) admitted++;
  }
  tell();
  await Promise.all(later);
  return count;
}

const orders = {
  takes: take,
  /** @param {number} span */
  async flood(span) {
    const end = performance.now() + span;
    let decisions = 0;
    while (performance.now() < end || decisions < 5 * span) {
      decisions += await take(20);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    return decisions;
  },
  /** @param {number} span */
  async stall(span) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, span);
    return 0;
  },
  async close() {
    await store.close();
    return 0;
  },
};

/** @param {unknown} message */
async function obey(message) {
  const [[order, value]] = Object.entries(/** @type {object} */ (message));
  process.send?.(await orders[/** @type {keyof typeof orders} */ (order)](value));
}

process.on('message', (message) => void obey(message));
process.send?.(0);
