// @ts-check
/**
 * A process that meets others at a socket. It runs what was built: Node 20 runs no TypeScript.
 *
 * env IPC: { path, deadline, limit? }. With a limit it checks by the real time and tells how it went; without one it only
 * serves, by the time that a message { now } tells, and answers each with 'set'. Either says 'serves' once it decides.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createLimiter, fixedWindow, gcra, memory, slidingLog } from '../../dist/index.js';
import { ipc } from '../../dist/stores/ipc/index.js';

const { path, deadline, limit } = JSON.parse(process.env['IPC'] ?? '{}');
/** The same for all processes. */
const steady = () => Number(process.hrtime.bigint()) / 1e6;
const tell = (/** @type {unknown} */ message) => void process.send?.(message);

// Whoever started it is gone.
process.on('disconnect', () => process.exit());

let time = 0;
let serves = false;
const rows = limit === undefined ? memory({ clock: { now: () => time } }) : memory();
const counted = {
  ...rows,
  apply(/** @type {import('../../src/engine/contract.ts').Hit} */ hit) {
    if (!serves) tell('serves');
    serves = true;
    return rows.apply(hit);
  },
};
const open = () => ipc({ onFailure: 'throw', path, deadline, store: counted });

/** What passed and what was given back, with when; and all that must never be. */
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
    const news = { passed: /** @type {unknown[]} */ ([]), given: /** @type {unknown[]} */ ([]) };
    const wrong = /** @type {string[]} */ ([]);
    const unavailable = /** @type {number[]} */ ([]);
    const counts = { checked: 0, denied: 0, made: 0 };
    for (let i = 0; i < 30; i++) {
      const asked = steady();
      try {
        if (i % 5 === 0) {
          counts.made++;
          const { remaining } = await fresh.take(`new ${process.pid} ${asked}`);
          if (remaining !== 4) wrong.push(`a new key has ${remaining} left`);
        } else {
          const name = i % 2 === 0 ? 'gcra' : 'several';
          const { allowed, taken } = await limiters[name].take('key', 1 + (i % 3));
          const told = steady();
          if (allowed) news.passed.push([name, asked, told, taken]);
          else counts.denied++;
          if (allowed && i % 4 === 0) {
            // Until it is answered: it may still arrive, but not for long.
            const given = [name, told, told + 10_000, taken];
            news.given.push(given);
            await limiters[name].refund('key', taken);
            given[2] = steady();
          }
        }
        counts.checked++;
      } catch (error) {
        const { code } = /** @type {{ code?: unknown }} */ (error);
        if (code !== 'ERR_STORE_UNAVAILABLE') wrong.push(String(error));
        unavailable.push(asked);
        await sleep(5);
      }
      await sleep(Math.random() * 4);
    }
    // Only who serves keeps rows.
    tell({ ...news, ...counts, unavailable, wrong, rows: serves ? rows.size : 0 });
  }
}

if (limit === undefined) {
  let opened = false;
  process.on('message', (/** @type {{ now: number }} */ { now }) => {
    time = now;
    if (!opened) open();
    opened = true;
    tell('set');
  });
  // A store keeps no process alive.
  setInterval(() => {}, 2 ** 30);
} else void work();
tell('ready');
