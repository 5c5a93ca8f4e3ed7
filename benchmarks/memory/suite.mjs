/**
 * Measures limiters in memory, on one thread: nanoseconds per check, bytes per key, and the longest pause. Every figure comes
 * from a new process, so that no contender is slowed down by another contender's garbage, or by code that V8 has optimized for
 * another contender. Contenders take turns, and the median of the rounds is reported.
 */
import { table } from '../report.mjs';
import { answerOf, takeTurns } from '../turns.mjs';
import { calls, contenders, peerNames, policies } from './contenders.mjs';
import { goals } from './goals.mjs';
import { workloads } from './workloads.mjs';

const WORKER = new URL('worker.mjs', import.meta.url);
const SLUICES = ['sluice', 'sluice-three'];
const limiters = [...SLUICES, ...peerNames];
const CLOCKS = ['date', 'performance'];

export async function run({ quick }) {
  const scale = quick ? 0.01 : 1;
  const rounds = quick ? 1 : 3;
  const measure = (scenario, names, argument, times = rounds) =>
    takeTurns(`${scenario} ${argument}`, names, times, (name) =>
      answerOf(WORKER, scenario, name, argument, scale),
    );

  const speed = {};
  for (const workload of Object.keys(workloads)) speed[workload] = await measure('speed', limiters, workload);
  const same = await measure('same', [...limiters, ...CLOCKS], '');
  const alone = await measure('mixed', Object.keys(policies), 'alone');
  const beside = await measure('mixed', Object.keys(policies), 'beside');
  const mixed = Object.fromEntries(
    Object.keys(policies).map((name) => [
      name,
      { alone: alone[name].nanoseconds, beside: beside[name].nanoseconds },
    ]),
  );
  const others = await measure('calls', Object.keys(calls), '');
  // Peers use the same memory in every round, so one round is enough. The size of Sluice's table depends on a random sample, so
  // Sluice is measured in several rounds.
  const bytes = {
    ...(await measure('bytes', peerNames, 10, 1)),
    ...(await measure('bytes', SLUICES, 10, quick ? 1 : 5)),
  };
  // The pauses of peers are so long that one round is enough to measure them.
  const pauses = {
    ...(await measure('pauses', ['sluice'], 0)),
    ...(await measure('pauses', peerNames, 0, 1)),
  };

  return [
    'Nanoseconds per check and, in brackets, the multiple of Sluice’s time; bytes held per key at 1M keys and, in\nbrackets, the maximum between 500k and 1M keys. Every check gets its key as a new string.\n',
    speedTable(speed, bytes),
    '\nFor comparison, the same string object at every check, whose hash V8 has cached: nanoseconds per check of one key.\n',
    sameTable(same),
    '\nOne key, nanoseconds per check: a limiter alone in its process, and beside limiters of the other algorithms.\n',
    mixedTable(mixed),
    '\nOther calls of a limiter with two policies, one key: nanoseconds per call.\n',
    table(
      ['', 'ns'],
      Object.entries(others).map(([name, { nanoseconds }]) => [`\`${name}\``, nanoseconds.toFixed(0)]),
    ),
    '\nWhile 2M keys arrive in two waves, each fully replenished after a second: the longest check, the 99.99th percentile, and the longest\ndelay of the event loop.\n',
    pauseTable(pauses),
    '\nGoals\n',
    table(['goal', 'measured', ''], goals({ speed, mixed, bytes, pauses })),
    `\n${NOTES}`,
  ].join('\n');
}

const NOTES = `Median of 3 rounds (5 for Sluice’s bytes; 1 for peers’ bytes and pauses). Each figure comes from its own process, and contenders
take turns. Time spent waiting for a core that other processes used is not counted, and neither is the creation of keys. Keys have 12
characters, and concatenated keys 19. In the last column of speeds, the limit is a million per minute, so that a key is fully
replenished before it is checked again. By default, @fastify/rate-limit drops live keys beyond 5,000; here it has room for all keys. limiter, the bare
Map and @fastify/rate-limit never drop keys, so expiry causes no pause. @nestjs/throttler records every hit of a key, so its
figures for few keys depend on the number of earlier hits.`;

function speedTable(speed, bytes) {
  const head = ['', ...Object.values(workloads).map(({ label }) => label), 'bytes/key'];
  const rows = limiters.map((name) => [
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

function sameTable(same) {
  const rows = Object.entries(same).map(([name, { nanoseconds }]) => [
    contenders[name].label,
    nanoseconds.toFixed(0),
  ]);
  return table(['', 'same object'], rows);
}

function mixedTable(mixed) {
  const rows = Object.entries(mixed).map(([name, { alone, beside }]) => [
    name,
    alone.toFixed(0),
    beside.toFixed(0),
    `${(beside / alone).toFixed(2)}×`,
  ]);
  return table(['', 'alone', 'beside others', ''], rows);
}
