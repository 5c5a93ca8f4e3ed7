/**
 * A process that measures the server's time per check: server-time.mjs <port> <rounds>. All contenders run in this process and
 * take turns of a few milliseconds, so that a temporary slowdown of the machine affects all of them.
 */
import { Redis } from 'ioredis';
import { median } from '../report.mjs';
import { contenders } from './contenders.mjs';
import { spentOn } from './server.mjs';
import { workloads } from './workloads.mjs';

const CHECKS = 128;
/** Number of checks in one tick, which Sluice sends in one call. */
const BATCH = 64;
/** Number of checks of each key before the first turn. It is higher than the limit of a key in the denied workload. */
const WARM_UP = 20;
const algorithms = ['sluice', 'sluice-fixed', 'sluice-sliding', 'sluice-leaky'];

/** The turns of a round: the workload, the contender, and how many checks are in flight. */
const turns = [
  ...['bare', ...algorithms, 'sluice-three'].map((name) => ['live', name, 1]),
  ...['bare', ...algorithms].map((name) => ['denied', name, 1]),
  ...['sluice', 'sluice-three'].map((name) => ['live', name, BATCH]),
];

const [port, rounds] = process.argv.slice(2).map(Number);
const control = new Redis(port, '127.0.0.1');

async function prepare([workload, name, inFlight]) {
  const { limits, first } = workloads[workload].make(0.05);
  const { check } = await contenders[name].make({ ...limits, port });
  let at = 0;
  const run = async (checks, lanes = inFlight) => {
    for (let done = 0; done < checks; done += lanes)
      await Promise.all(Array.from({ length: lanes }, () => check(first[at++ % first.length])));
  };
  // Checks all keys several times before the measurement, because the first checks of a key set its expiry more often.
  await run(first.length * WARM_UP, BATCH);
  return { figure: `${workload} ${name} ${inFlight}`, run };
}

const prepared = [];
for (const turn of turns) prepared.push(await prepare(turn));
const found = Object.fromEntries(prepared.map(({ figure }) => [figure, []]));
for (let round = 0; round < rounds; round++) {
  for (const { figure, run } of prepared) {
    const before = await spentOn(control);
    await run(CHECKS);
    found[figure].push(((await spentOn(control)).usec - before.usec) / CHECKS);
  }
}

/** The median, over all rounds, of one figure divided by another. */
const ratio = (figure, base) => median(found[figure].map((usec, round) => usec / found[base][round]));
const single = (workload) =>
  Object.fromEntries(
    Object.keys(found)
      .map((figure) => figure.split(' '))
      .filter(([of, , inFlight]) => of === workload && inFlight === '1')
      .map(([, name]) => [
        name,
        {
          usec: median(found[`${workload} ${name} 1`]),
          times: ratio(`${workload} ${name} 1`, `${workload} bare 1`),
        },
      ]),
  );
const figures = {
  live: single('live'),
  denied: single('denied'),
  batch: ratio(`live sluice ${BATCH}`, 'live bare 1'),
  three: {
    single: ratio('live sluice-three 1', 'live sluice 1'),
    batch: ratio(`live sluice-three ${BATCH}`, `live sluice ${BATCH}`),
  },
};
process.send(figures, () => process.exit());
