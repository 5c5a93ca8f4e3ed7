/**
 * In memory, on one thread: nanoseconds per check, bytes per key, and the longest pause. Every figure comes from a new process, so
 * that no contender pays for another's garbage or for call sites that have seen another's functions. Contenders take turns, and the
 * median of the rounds counts.
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
  // Peers use the same memory in every round. Sluice's table grows by a random sample, so a round may catch it between two sizes.
  const bytes = {
    ...(await measure('bytes', peerNames, 10, 1)),
    ...(await measure('bytes', SLUICES, 10, quick ? 1 : 5)),
  };
  // Peers' pauses are so long that one round is enough for them as well.
  const pauses = {
    ...(await measure('pauses', ['sluice'], 0)),
    ...(await measure('pauses', peerNames, 0, 1)),
  };
  const flat = {};
  for (const size of SIZES) {
    flat[size] = await measure('flat', ['sluice', 'read'], size, size > 1e6 ? 1 : rounds);
  }

  return [
    'Nanoseconds per check and, in brackets, how many times Sluice’s; bytes held per key at 1M keys and, in\nbrackets, the most on the way there from 500k.\n',
    speedTable(speed, bytes),
    '\nWhile 2M keys come in two waves, each clear after a second: the longest check, the one in 10,000 and the event loop’s longest delay.\n',
    pauseTable(pauses),
    '\nAll keys present, asked for in random order: nanoseconds per check.\n',
    flatTable(flat),
    '\nGoals\n',
    table(['goal', 'measured', ''], goals({ speed, bytes, pauses, flat })),
    `\n${NOTES}`,
  ].join('\n');
}

const NOTES = `Median of 3 rounds (Sluice’s bytes 5; peers’ bytes and pauses, 10M keys 1), a process per figure, contenders in turn; time spent
waiting for a core that other processes had is not counted. Keys are 12 characters. A key is one string object throughout
(hot and denied keys: many), and V8 remembers the hash of a string object, so a Map hashes it once where Sluice hashes it
at every check: a server, where each request brings a new string, is less kind to Maps. @fastify/rate-limit forgets live
keys beyond 5,000 unless told otherwise; here it has room for all. limiter, the bare Map and @fastify/rate-limit never
forget, so they have no pause of expiry. @nestjs/throttler remembers every hit of a key, so its hot figure depends on how
many there have been.`;

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
