/** The section of RESULTS.md. */
import { table } from '../report.mjs';
import { contenders } from './contenders.mjs';

const label = (name) => contenders[name].label;
const thousands = (value) => `${(value / 1000).toFixed(1)}k`;
const ratio = (value) => `${value.toFixed(2)}×`;

export function describe({ load, two, bytes, log, flood, spent, goals, version, rounds }) {
  return [
    `Redis ${version}, 10k keys in random order. Checks per second with 256 in flight (in brackets, times the bare EVALSHA’s);\nmedian latency of a check alone, µs (in brackets, times the bare EVALSHA’s).\n`,
    loadTable(load.live, two),
    '\nMicroseconds of the server per check (INFO commandstats), one check in flight · 256 in flight. Bytes of a key\n(MEMORY USAGE), and used_memory per key at 100k keys.\n',
    serverTable(load, bytes),
    '\nOne key with 10,000 recorded actions: microseconds of the server per check, and the key’s bytes.\n',
    logTable(log),
    '\nA flood on one key that passes a check in 100 ms, with denyCache: per 100 ms, and of the first wave, which is on its way\nbefore anything is known of the key.\n',
    floodTable(flood),
    '\nA flood of 256 callers on one key that passes 1,000 checks a second, whose burst is spent, with milliseconds injected into\neach round trip: decisions a second, the share of the rate that passed, the median and the 99.9th percentile of the\nlatency in milliseconds, and script calls for each check that passed.\n',
    spentTable(spent),
    '\nGoals\n',
    table(['goal', 'measured', ''], goals),
    `\n${notes(rounds)}`,
  ].join('\n');
}

const notes = (
  rounds,
) => `Median of ${rounds} rounds for live keys with one process and for the log, all else 1; fresh processes on an empty database for each,
contenders in turn; client and server share the machine. live: the key is there; idle: a key never seen before; denied: nothing passes. Keys are 12
characters, and each library adds its prefix. The bare EVALSHA takes the client’s time; Sluice asks the server for it.
The peers but @upstash/ratelimit and rolling-rate-limiter count in fixed windows: less work than GCRA. rolling-rate-limiter
records denied checks, too, so its denied figure rises with their number; its log was filled by one ZADD.`;

function loadTable({ alone, many }, two) {
  const cells = (figures, name, figure, format) => {
    const value = figures[name][figure];
    return `${format(value)} (${ratio(value / figures.bare[figure])})`;
  };
  const head = ['', '256, 1 process', '256 each, 2 processes', 'alone, 1 process', 'alone, 2 processes'];
  const rows = Object.keys(many).map((name) => [
    label(name),
    cells(many, name, 'perSecond', thousands),
    cells(two.many, name, 'perSecond', thousands),
    cells(alone, name, 'latency', (value) => value.toFixed(0)),
    cells(two.alone, name, 'latency', (value) => value.toFixed(0)),
  ]);
  return table(head, rows);
}

function serverTable(load, bytes) {
  const columns = Object.keys(load);
  const rows = Object.keys(bytes).map((name) => [
    label(name),
    ...columns.map((workload) => {
      const { alone, many } = load[workload];
      return `${alone[name].server.toFixed(1)} · ${many[name].server.toFixed(1)}`;
    }),
    bytes[name].bytes.toFixed(0),
    bytes[name].held.toFixed(0),
  ]);
  return table(['', ...columns, 'bytes', 'at 100k'], rows);
}

function logTable({ room, full }) {
  const rows = Object.keys(room).map((name) => [
    label(name),
    room[name].server.toFixed(1),
    full[name].server.toFixed(1),
    room[name].bytes.toFixed(0),
  ]);
  return table(['', 'allowed', 'denied', 'bytes'], rows);
}

function floodTable(flood) {
  const rows = Object.entries({ 'one by one': flood.alone, '256 at once': flood.many }).map(
    ([name, figures]) => [
      name,
      ...['checks', 'allowed', 'asked', 'calls'].map((figure) =>
        (figures[figure] / figures.denials).toFixed(1),
      ),
      figures.first,
    ],
  );
  return table(['', 'checks', 'allowed', 'denied by the store', 'script calls', 'denied, first wave'], rows);
}

function spentTable(spent) {
  const rows = Object.entries(spent).flatMap(([roundTrip, figures]) =>
    Object.entries(figures).map(([name, { perSecond, share, latency, slow, calls, allowed }]) => [
      `${label(name)}, + ${roundTrip} ms`,
      `${thousands(perSecond)} (${ratio(perSecond / figures.sluice.perSecond)})`,
      `${(100 * share).toFixed(1)} %`,
      (latency / 1000).toFixed(2),
      slow.toFixed(1),
      (calls / allowed).toFixed(1),
    ]),
  );
  return table(['', 'decisions/s', 'passed', 'median', '99.9 %', 'calls'], rows);
}
