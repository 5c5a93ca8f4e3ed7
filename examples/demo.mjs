// @ts-check
// A look at Sluice in the terminal: the same traffic through several limits on a manual clock, then callers who wait
// in real time. Run: node examples/demo.mjs. Ends by itself; without a terminal, or with NO_COLOR, the output is plain text.

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

const colourful = process.stdout.isTTY === true && !process.env['NO_COLOR'];
/** @param {number} code @param {string} text */
const paint = (code, text) => (colourful ? `\u001b[${code}m${text}\u001b[0m` : text);
/** @param {string} text */
const faint = (text) => paint(90, text);
const PASS = colourful ? paint(32, '█') : '#';
const DENY = colourful ? paint(31, '▄') : 'x';
const IDLE = colourful ? faint('·') : '.';

// ── One traffic, many limits ─────────────────────────────────────────────────────────────────────────────────────

/** A column is a quarter of a second. A burst over the edge of the window at 5 s, a pause, then two a second. */
const COLUMN = 250;
const TRAFFIC = `${' '.repeat(13)}${'|'.repeat(14)}${' '.repeat(11)}${' |'.repeat(17)}`;

/**
 * Six in five seconds, as each of them understands it.
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
  ['least interval 1 s', minInterval({ every: '1s' })],
  ['2 at once, 1 s each', concurrency({ limit: 2, lease: '1s' })],
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

console.log('The same traffic through several limits: six in five seconds, more or less.');
console.log(`${PASS} passes   ${DENY} denied   ${IDLE} nobody came\n`);
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
console.log(`\nAnd one who does not wait: allowed ${allowed}, retry after ${Math.ceil(retryAfter)} ms.`);
