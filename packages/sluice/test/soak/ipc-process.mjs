// @ts-check
/**
 * A process that shares limits with others over a socket. It uses the built files, because Node 20 cannot run TypeScript.
 *
 * env IPC: { path, deadline, limit? }. With a limit, it makes checks in real time and reports the results. Without one, it
 * only serves: a message { now } sets its clock, and it answers 'set'. It sends 'serves' when it makes its first decision.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createLimiter, fixedWindow, gcra, memory, slidingLog } from '../../dist/index.js';
import { ipc } from '../../dist/stores/ipc/index.js';

const { path, deadline, limit } = JSON.parse(process.env['IPC'] ?? '{}');
/** Milliseconds by a clock that is the same in all processes. */
const steady = () => Number(process.hrtime.bigint()) / 1e6;
const send = (/** @type {unknown} */ message) => void process.send?.(message);

// The parent process has ended.
process.on('disconnect', () => process.exit());

let time = 0;
let serves = false;
const rows = limit === undefined ? memory({ clock: { now: () => time } }) : memory();
const counted = {
  ...rows,
  apply(/** @type {import('../../src/engine/contract.ts').Hit} */ hit) {
    if (!serves) send('serves');
    serves = true;
    return rows.apply(hit);
  },
};
const open = () => ipc({ onFailure: 'throw', path, deadline, store: counted });

/** Reports units that passed and units that were given back, with times, and everything that must never happen. */
async function work() {
  const store = open();
  const limiters = {
    gcra: createLimiter(gcra({ limit, per: '1s' }), { store, name: 'gcra' }),
    several: createLimiter(
      {
        rate: gcra({ limit, per: '1s' }),
        log: slidingLog({ limit: 3 * limit, per: '2s', resolution: 20 }),
        day: fixedWindow({ limit: 1e9, per: '1d' }),
      },
      { store, name: 'several' },
    ),
  };
  const fresh = createLimiter(gcra({ limit: 5, per: '500ms' }), { store, name: 'rows' });
  for (;;) {
    const report = { passed: /** @type {unknown[]} */ ([]), given: /** @type {unknown[]} */ ([]) };
    const violations = /** @type {string[]} */ ([]);
    const unavailable = /** @type {number[]} */ ([]);
    const counts = { checked: 0, denied: 0, created: 0 };
    for (let i = 0; i < 30; i++) {
      const asked = steady();
      try {
        if (i % 5 === 0) {
          counts.created++;
          const { remaining } = await fresh.take(`new ${process.pid} ${asked}`);
          if (remaining !== 4) violations.push(`a new key has ${remaining} units left`);
        } else {
          const name = i % 2 === 0 ? 'gcra' : 'several';
          const { allowed, taken } = await limiters[name].take('key', 1 + (i % 3));
          const told = steady();
          if (allowed) report.passed.push([name, asked, told, taken]);
          else counts.denied++;
          if (allowed && i % 4 === 0) {
            // If the refund is never answered, it may reach the store at any time in the next ten seconds.
            const given = [name, told, told + 10_000, taken];
            report.given.push(given);
            await limiters[name].refund('key', taken);
            given[2] = steady();
          }
        }
        counts.checked++;
      } catch (error) {
        const { code } = /** @type {{ code?: unknown }} */ (error);
        if (code !== 'ERR_STORE_UNAVAILABLE') violations.push(String(error));
        unavailable.push(asked);
        await sleep(5);
      }
      await sleep(Math.random() * 4);
    }
    // Only the serving process keeps rows.
    send({ ...report, ...counts, unavailable, violations, rows: serves ? rows.size : 0 });
  }
}

if (limit === undefined) {
  let opened = false;
  process.on('message', (/** @type {{ now: number }} */ { now }) => {
    time = now;
    if (!opened) open();
    opened = true;
    send('set');
  });
  // A store does not keep the process alive.
  setInterval(() => {}, 2 ** 30);
} else void work();
send('ready');
