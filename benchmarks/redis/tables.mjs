/** Formats the results of this suite as a section of RESULTS.md. */
import { table } from '../report.mjs';
import { contenders } from './contenders.mjs';

const label = (name) => contenders[name].label;
const thousands = (value) => `${(value / 1000).toFixed(1)}k`;
const ratio = (value) => `${value.toFixed(2)}×`;

export function describe({ load, two, time, bytes, log, spent, goals, version, rounds }) {
  return [
    `Redis ${version}, 10k keys in random order. Checks per second with 256 in flight, and median latency in µs with one check\nin flight. Figures in brackets are multiples of the bare EVALSHA.\n`,
    loadTable(load.live, two),
    '\nServer time per check in microseconds (INFO commandstats), one check in flight · 256 in flight. Bytes of a key\n(MEMORY USAGE), and used_memory per key at 100k keys.\n',
    serverTable(load, bytes),
    '\nOne key with 10,000 recorded actions: server time per check in microseconds, and the bytes of the key.\n',
    logTable(log),
    '\nServer time of a single check in microseconds, contenders in turns of 128 checks. In brackets: as a multiple of the bare EVALSHA.\n',
    timeTable(time),
    '\nA flood of 256 callers on one key that admits 1,000 checks per second, after its burst is used up, with latency injected into\neach round trip: decisions per second, the share of the rate that was admitted, the median and the 99.9th percentile of the\nlatency in milliseconds, and script calls per admitted check.\n',
    spentTable(spent),
    '\nGoals\n',
    table(['goal', 'measured', ''], goals),
    `\n${notes(rounds)}`,
  ].join('\n');
}

const notes = (
  rounds,
) => `Live keys with one process and the log: median of ${rounds} rounds; all other figures: one round. Each figure comes from new processes
on an empty database. Contenders take turns; client and server share the machine. live: the key exists; idle: the key is new;
denied: every check is denied. Keys have 12 characters, and each library adds its prefix. The bare EVALSHA uses the
client’s clock; Sluice uses the server’s clock. All peers except @upstash/ratelimit and rolling-rate-limiter count in fixed windows,
which is less work than GCRA. rolling-rate-limiter also records denied checks, so its denied figure rises with their number;
its log was filled by one ZADD.`;

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

function timeTable({ live, denied }) {
  const cell = (figures) => (figures ? `${figures.usec.toFixed(1)} (${ratio(figures.times)})` : '');
  const rows = Object.keys(live).map((name) => [label(name), cell(live[name]), cell(denied[name])]);
  return table(['', 'single, live', 'single, denied'], rows);
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
