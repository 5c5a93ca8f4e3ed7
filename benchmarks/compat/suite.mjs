/**
 * Drop-ins beside what they replace: round trips, the server's CPU time and bytes on Redis; CPU time and bytes in
 * memory. Every figure comes from a fresh process, on Redis with a fresh server; the two take turns, medians count.
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

/** A drop-in's name and a side, 'before' or 'after'. */
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
