/**
 * Drop-ins beside what they replace: round trips, the server's CPU time and bytes on Redis; CPU time and bytes in
 * memory. Every figure comes from a fresh process, on Redis with a fresh server; the two take turns, medians count.
 */
import { fork } from 'node:child_process';
import { median, writeBetween } from '../report.mjs';
import { startServer } from '../redis/server.mjs';
import { dropIns } from './drop-ins.mjs';
import { describe } from './tables.mjs';

const WORKER = new URL('worker.mjs', import.meta.url);
const GUIDE = new URL('../../docs/migrate/README.md', import.meta.url);

export async function run({ quick }) {
  const scale = quick ? 0.01 : 1;
  const rounds = quick ? 1 : 3;
  const figures = {};
  for (const place of ['redis', 'memory']) {
    for (const shape of ['keys', 'log']) {
      const names = Object.keys(dropIns).filter((name) => shape === 'keys' || dropIns[name].isLog);
      figures[`${place} ${shape}`] = await takeTurns({ place, shape, scale }, names, rounds);
    }
  }
  const { tables, notes } = describe(figures, rounds);
  if (!quick) writeBetween(GUIDE, 'compat', tables);
  return `${tables}\n\n${notes}`;
}

/** Medians by drop-in, side and figure. */
async function takeTurns(task, names, rounds) {
  const found = {};
  for (let round = 1; round <= rounds; round++) {
    for (const name of names) {
      for (const side of Object.keys(dropIns[name][task.place])) {
        progress(`${task.place} ${task.shape} ${round}/${rounds} ${name} ${side}`);
        found[name] ??= { before: [], after: [] };
        found[name][side].push(await measureOne(task, name, side));
      }
    }
  }
  progress('');
  return Object.fromEntries(
    Object.entries(found).map(([name, { before, after }]) => [
      name,
      { before: medians(before), after: medians(after) },
    ]),
  );
}

/** By figure; undefined where the original does not run here. */
function medians(all) {
  if (all.length === 0) return undefined;
  return Object.fromEntries(
    Object.keys(all[0]).map((figure) => [figure, median(all.map((one) => one[figure]))]),
  );
}

/** One line that changes, for those who watch. */
function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}

async function measureOne({ place, shape, scale }, name, side) {
  const server = place === 'redis' ? await startServer() : undefined;
  try {
    return await child(place, shape, name, side, scale, server?.port ?? 0);
  } finally {
    await server?.stop();
  }
}

function child(...task) {
  return new Promise((resolve, reject) => {
    const worker = fork(WORKER, task.map(String), { execArgv: ['--expose-gc'] });
    worker.once('message', resolve);
    worker.once('exit', (code) =>
      reject(new Error(`worker ${task.join(' ')} ended with ${code} and no answer`)),
    );
  });
}
