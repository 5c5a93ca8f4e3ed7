// @ts-check
// Shows Sluice in the terminal: the same traffic under several limits on a manual clock, then callers that wait in real time.
// Run: node examples/demo.mjs. It ends by itself; without a terminal, or with NO_COLOR, the output is plain text.

import {
  concurrency,
  createLimiter,
  fixedWindow,
  gcra,
  leakyBucket,
  memory,
  minInterval,
  pacer,
  penalty,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from 'sluice';
import { manualClock } from 'sluice/testing';

const isColorful = process.stdout.isTTY === true && !process.env['NO_COLOR'];
/** @param {number} code @param {string} text */
const paint = (code, text) => (isColorful ? `\u001b[${code}m${text}\u001b[0m` : text);
/** @param {string} text */
const faint = (text) => paint(90, text);
const PASS = isColorful ? paint(32, '█') : '#';
const DENY = isColorful ? paint(31, '▄') : 'x';
const IDLE = isColorful ? faint('·') : '.';

// ── One traffic, many limits ─────────────────────────────────────────────────────────────────────────────────────

/**
 * A column is a quarter of a second. The traffic is a burst across the window boundary at 5 s, a pause, then two requests a
 * second.
 */
const COLUMN = 250;
const TRAFFIC = `${' '.repeat(13)}${'|'.repeat(14)}${' '.repeat(11)}${' |'.repeat(17)}`;

/**
 * Limits of six requests in five seconds, or the closest limit that an algorithm can express.
 * @type {readonly (readonly [label: string, policies: import('sluice').Policies])[]}
 */
const LIMITS = [
  ['gcra', gcra({ limit: 6, per: '5s' })],
  ['gcra, burst 2', gcra({ limit: 6, per: '5s', burst: 2 })],
  ['token bucket in steps', tokenBucket({ capacity: 6, refill: 6, every: '5s', continuous: false })],
  ['leaky bucket', leakyBucket({ size: 6, dripSize: 2, dripRate: 5000 / 3 })],
  ['fixed window', fixedWindow({ limit: 6, per: '5s' })],
  ['sliding window', slidingWindow({ limit: 6, per: '5s' })],
  ['sliding log', slidingLog({ limit: 6, per: '5s' })],
  ['pacer', pacer({ limit: 6, per: '5s' })],
  ['min interval 1 s', minInterval({ every: '1s' })],
  ['2 concurrent, 1 s each', concurrency({ limit: 2, lease: '1s' })],
  [
    'gcra with a penalty',
    { rate: gcra({ limit: 6, per: '5s' }), lockout: penalty({ after: 3, within: '10s', block: '5s' }) },
  ],
];

/** @param {import('sluice').Policies} policies */
function play(policies) {
  const clock = manualClock();
  const limiter = createLimiter(policies, { store: memory({ clock }) });
  return TRAFFIC.split('').map((arrival) => {
    const answer = arrival === ' ' ? undefined : limiter.take('demo').allowed;
    clock.advance(COLUMN);
    return answer;
  });
}

const width = Math.max(...LIMITS.map(([label]) => label.length));
const seconds = Array.from({ length: Math.ceil((TRAFFIC.length * COLUMN) / 5000) }, (_, i) =>
  `${i * 5} s`.padEnd(5000 / COLUMN),
).join('');

console.log('The same traffic under several limits, each about six requests in five seconds.');
console.log(`${PASS} passes   ${DENY} denied   ${IDLE} no request\n`);
console.log(`${' '.repeat(width)}  ${faint(seconds.trimEnd())}`);
for (const [label, policies] of LIMITS) {
  const answers = play(policies);
  const ticks = answers.map((allowed) => (allowed === undefined ? IDLE : allowed ? PASS : DENY)).join('');
  const passed = answers.filter((allowed) => allowed === true).length;
  const asked = answers.filter((allowed) => allowed !== undefined).length;
  console.log(`${label.padEnd(width)}  ${ticks}  ${faint(`${passed} of ${asked}`)}`);
}

// ── Waiting ──────────────────────────────────────────────────────────────────────────────────────────────────────

console.log("\nThree callers wait for their turn at createLimiter('5/s burst 1'), in real time:\n");
const limiter = createLimiter('5/s burst 1');
const start = performance.now();

/** @param {string} name @param {number} times */
async function work(name, times) {
  for (let i = 0; i < times; i++) {
    await limiter.acquire('demo');
    console.log(`${((performance.now() - start) / 1000).toFixed(2).padStart(6)} s  ${PASS} ${name}`);
  }
}
await Promise.all([work('alice', 4), work('bob', 3), work('carol', 3)]);

const { allowed, retryAfter } = limiter.take('demo');
console.log(
  `\nAnd a caller that does not wait: allowed ${allowed}, retry after ${Math.ceil(retryAfter)} ms.`,
);
