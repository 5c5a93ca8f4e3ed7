/** The goals as rows: the target, the measured figure, and whether the target was reached. */
import { contenders } from './nodes.mjs';

const verdict = (isReached) => (isReached ? 'reached' : 'missed');
const percent = (part) => `${(part * 100).toFixed(1)} %`;

export function goals({ load, hurry, stores, peers, threads, most }) {
  const { leased } = load[most];

  /** The units above the limit, for every scheme that must never exceed the limit, on any store. */
  const strict = [...Object.values(load), ...Object.values(hurry), ...Object.values(stores)].flatMap(
    (found) =>
      Object.entries(found)
        .filter(([name]) => name !== 'synced')
        .flatMap(([name, figures]) =>
          ['half', 'twice', 'flood'].map((phase) => ({ name, over: figures[`${phase} over`] ?? 0 })),
        ),
  );
  const worst = (rows) => rows.toSorted((a, b) => b.over - a.over)[0];
  const ofLeases = worst(strict.filter(({ name }) => name === 'leased')).over;
  const ofOthers = worst(strict.filter(({ name }) => name !== 'leased'));
  const ofThreads = threads.limit['shared 2'].over;

  const loads = { half: 'load at half the rate of the limit', twice: 'load at twice the rate of the limit' };
  const calls = (phase) => [
    `leased: ≤ 0.02 store calls a decision, ${loads[phase]}`,
    leased[`${phase} asked`].toFixed(3),
    verdict(leased[`${phase} asked`] <= 0.02),
  ];
  const used = (phase) => [
    `leased: utilization ≥ 95 %, ${loads[phase]}`,
    percent(leased[`${phase} used`]),
    verdict(leased[`${phase} used`] >= 0.95),
  ];
  return [
    calls('half'),
    calls('twice'),
    used('half'),
    used('twice'),
    ['leased: over-admission 0, all runs', ofLeases, verdict(ofLeases === 0)],
    [
      'direct checks, denyCache, ipc, postgres: over-admission 0',
      ofOthers.over === 0 ? 0 : `${ofOthers.over} (${contenders[ofOthers.name].label})`,
      verdict(ofOthers.over === 0),
    ],
    ...postgresGoals(peers),
    ...threadGoals(threads),
    ['sharedMemory, 2 threads: exactly the limit', `${ofThreads} off`, verdict(ofThreads === 0)],
  ];
}

/** Throughput as a multiple of the memory store's, and of a single thread's. */
function threadGoals({ hot, keys }) {
  const row = (goal, least, ratio) => [
    `sharedMemory: ≥ ${least}× ${goal}`,
    `${ratio.toFixed(2)}×`,
    verdict(ratio >= least),
  ];
  const scaled = (found) => found['shared 2'].perSecond / found['shared 1'].perSecond;
  return [
    row('memory, one key, 1 thread', 0.5, hot['shared 1'].perSecond / hot.memory.perSecond),
    row('1 thread, one key, 2 threads', 0.9, scaled(hot)),
    row('1 thread, 10k keys, 2 threads', 1.4, scaled(keys)),
  ];
}

/** Throughput as a multiple of rate-limiter-flexible's on the same Postgres. */
function postgresGoals(peers) {
  const row = (goal, least, processes, phase) => {
    const { postgres, flexible } = peers[processes];
    const ratio = postgres[`${phase} perSecond`] / flexible[`${phase} perSecond`];
    return [
      `postgres: ≥ ${least}× rate-limiter-flexible, ${goal}`,
      `${ratio.toFixed(2)}×`,
      verdict(ratio >= least),
    ];
  };
  return [
    row('1,000 keys, 256 in flight', 5, 1, 'keys'),
    row('the same keys in 2 processes', 5, 2, 'keys'),
    row('one by one', 1, 1, 'single'),
  ];
}
