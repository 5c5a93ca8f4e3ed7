/**
 * Compares drop-ins with the libraries that they replace. On Redis, it measures round trips, CPU time of the server and bytes; in
 * memory, CPU time and bytes. Every figure comes from a new process and, on Redis, a new server. The original and the drop-in
 * take turns, and the medians are reported.
 */
import { startServer } from '../redis/server.mjs';
import { writeBetween } from '../report.mjs';
import { answerOf, takeTurns } from '../turns.mjs';
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
      const what = `${place} ${shape}`;
      const measure = (contender) => measureOne(place, shape, contender, scale);
      figures[what] = await takeTurns(what, contendersOf(place, shape), rounds, measure);
    }
  }
  const { tables, notes } = describe(figures, rounds);
  if (!quick) writeBetween(GUIDE, 'compat', tables);
  return `${tables}\n\n${notes}`;
}

/** The names of the contenders. Each consists of the name of a drop-in and a side, 'before' or 'after'. */
function contendersOf(place, shape) {
  return Object.entries(dropIns)
    .filter(([, { isLog }]) => shape === 'keys' || isLog)
    .flatMap(([name, dropIn]) => Object.keys(dropIn[place]).map((side) => `${name} ${side}`));
}

async function measureOne(place, shape, contender, scale) {
  const server = place === 'redis' ? await startServer() : undefined;
  try {
    return await answerOf(WORKER, place, shape, ...contender.split(' '), scale, server?.port ?? 0);
  } finally {
    await server?.stop();
  }
}
