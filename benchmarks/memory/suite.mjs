/**
 * Measures limiters in memory, on one thread: nanoseconds per check, bytes per key, and the longest pause. Every figure comes
 * from a new process, so that no contender pays for another's garbage or for call sites that have seen another's functions.
 * Contenders take turns, and the median of the rounds counts.
 */
import { table } from '../report.mjs';
import { answerOf, takeTurns } from '../turns.mjs';
import { contenders, peerNames } from './contenders.mjs';
import { goals } from './goals.mjs';
import { workloads } from './workloads.mjs';

const WORKER = new URL('worker.mjs', import.meta.url);
const SLUICES = ['sluice', 'sluice-three'];
const limiters = [...SLUICES, ...peerNames];
const everyone = [...limiters, 'date', 'performance'];
const SIZES = [1_000, 10_000, 100_000, 1_000_000, 10_000_000];

export async function run({ quick }) {
  const scale = quick ? 0.01 : 1;
  const rounds = quick ? 1 : 3;
  const measure = (scenario, names, argument, times = rounds) =>
    takeTurns(`${scenario} ${argument}`, names, times, (name) =>
      answerOf(WORKER, scenario, name, argument, scale),
    );

  const speed = {};
  for (const workload of Object.keys(workloads)) speed[workload] = await measure('speed', everyone, workload);
  // Peers use the same memory in every round. Sluice's table decides when to grow by a random sample, so its size may differ
  // between rounds.
  const bytes = {
    ...(await measure('bytes', peerNames, 10, 1)),
    ...(await measure('bytes', SLUICES, 10, quick ? 1 : 5)),
  };
  // The pauses of peers are so long that one round is enough for them as well.
  const pauses = {
    ...(await measure('pauses', ['sluice'], 0)),
    ...(await measure('pauses', peerNames, 0, 1)),
  };
  const flat = {};
  for (const size of SIZES) {
    flat[size] = await measure('flat', ['sluice', 'read'], size, size > 1e6 ? 1 : rounds);
  }

  return [
    'Nanoseconds per check and, in brackets, the multiple of Sluice’s time; bytes held per key at 1M keys and, in\nbrackets, the maximum between 500k and 1M keys.\n',
    speedTable(speed, bytes),
    '\nWhile 2M keys arrive in two waves, each fully replenished after a second: the longest check, the 99.99th percentile, and the longest\ndelay of the event loop.\n',
    pauseTable(pauses),
    '\nAll keys exist and are checked in random order: nanoseconds per check.\n',
    flatTable(flat),
    '\nGoals\n',
    table(['goal', 'measured', ''], goals({ speed, bytes, pauses, flat })),
    `\n${NOTES}`,
  ].join('\n');
}

const NOTES = `Median of 3 rounds (5 for Sluice’s bytes; 1 for peers’ bytes and pauses, and for 10M keys). Each figure comes from its own
process, and contenders take turns. Time spent waiting for a core that other processes used is not counted. Keys are 12
characters. Each key is a single string object (hot and denied keys: many). V8 caches the hash of a string object, so a Map
hashes it once, while Sluice hashes it at every check. On a server, where each request brings a new string, Maps are slower
than shown here. By default, @fastify/rate-limit drops live keys beyond 5,000; here it has room for all. limiter, the bare Map
and @fastify/rate-limit never drop keys, so expiry causes no pause. @nestjs/throttler records every hit of a key, so its hot
figure depends on the number of earlier hits.`;

function speedTable(speed, bytes) {
  const head = ['', ...Object.values(workloads).map(({ label }) => label), 'bytes/key'];
  const rows = everyone.map((name) => [
    contenders[name].label,
    ...Object.values(speed).map((column) => {
      const { nanoseconds } = column[name];
      const ratio = nanoseconds / column.sluice.nanoseconds;
      return `${nanoseconds.toFixed(0)} (${ratio.toFixed(ratio < 10 ? 1 : 0)}×)`;
    }),
    bytes[name] === undefined ? '' : `${bytes[name].bytes.toFixed(0)} (${bytes[name].worst.toFixed(0)})`,
  ]);
  return table(head, rows);
}

function pauseTable(pauses) {
  const head = ['', 'check, ms', '99.99 %, µs', 'loop, ms'];
  const rows = Object.entries(pauses).map(([name, { check, tail, loop }]) => [
    contenders[name].label,
    check.toFixed(1),
    (tail * 1000).toFixed(0),
    loop.toFixed(1),
  ]);
  return table(head, rows);
}

function flatTable(flat) {
  const head = ['keys', ...SIZES.map((size) => size.toLocaleString('en'))];
  const rows = ['sluice', 'read'].map((name) => [
    contenders[name].label,
    ...SIZES.map((size) => flat[size][name].nanoseconds.toFixed(0)),
  ]);
  return table(head, rows);
}
