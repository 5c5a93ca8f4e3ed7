/** Formats the results of this suite as a section of RESULTS.md. */
import { table } from '../report.mjs';
import { goals } from './goals.mjs';
import { contenders } from './nodes.mjs';
import { phases } from './phases.mjs';

const label = (name) => contenders[name].label;
const number = (value) => value.toLocaleString('en');
const rate = (value) => (value < 999_500 ? `${(value / 1e3).toFixed(1)}k` : `${(value / 1e6).toFixed(2)}M`);
const share = (value) => (value < 0.0995 ? value.toPrecision(2) : value.toFixed(2));
const percent = (part) => `${(part * 100).toFixed(1)} %`;
const times = (ratio) => `${ratio.toFixed(ratio < 10 ? 1 : 0)}×`;

const { half, twice, flood } = phases;
const { burst, limit } = twice.limits;

export function describe(found) {
  const { load, hurry, stores, peers, threads, bytes, versions, rounds, threadRounds } = found;
  return [
    `${versions}. Nodes with their own client, store and limiter, in two processes, on one key with a burst of ${number(burst)}. Paced load:\n${number(limit)} units are replenished per second, and the nodes make ${number(half.perSecond)} (half) or ${number(twice.perSecond)} (twice) checks per second. Columns: store calls per\ndecision (in brackets, script calls, each of which carries several store calls); units above the bound in the worst window; admitted units\nas a share of those that could have been admitted.\n`,
    loadTable(load),
    `\nAt full speed, ${flood.inFlight} checks in flight: decisions per second (in brackets, as a multiple of direct checks) and store calls per\ndecision. Flood: ${number(flood.limits.limit)} units are replenished per second, so few checks are admitted after the burst. All pass: the limit is never\nreached.\n`,
    hurryTable(hurry),
    `\nDirect checks on stores that processes share: decisions per second, ${flood.inFlight} checks in flight, on one key in a flood, and on ${number(phases.keys.keys)} keys\nwhose checks are all admitted.\n`,
    storesTable(stores),
    '\nOn one Postgres, decisions per second: 1,000 keys with 256 checks in flight, and one check at a time.\n',
    peersTable(peers),
    '\nThreads of one process: decisions per second in total (in brackets, as a multiple of the memory store in one thread).\n',
    threadsTable(threads),
    '\nsharedMemory, bytes per key at 1M keys of one gcra policy: allocated at the start, and in use once all keys exist.\n',
    bytesTable(bytes),
    '\nGoals, at 16 nodes\n',
    table(['goal', 'measured', ''], goals(found)),
    `\n${notes(rounds, threadRounds)}`,
  ].join('\n');
}

const notes = (
  rounds,
  threadRounds,
) => `16 nodes, and Postgres compared with its peer: median of ${rounds} rounds; threads: median of ${threadRounds} rounds; all other figures: one round. For units above a limit, the worst round is reported. Each figure
comes from new processes on an empty store, warmed up with other keys and other nodes; contenders take turns. A single node runs
in one process. Nodes, server and harness share the machine, so more nodes do not mean more cores. Concurrent direct checks are
batched, so a script call carries several checks. A check is decided at some time between its request and its answer, so units count as
above the bound only if they were requested and answered within a window that allows fewer. The units that could have been
admitted are the burst and what is replenished, or all requested units if that is less. Leases hold back an eighth of the
burst, once, and last a quarter of the time in which the burst is replenished. With the load at half the rate, each of 16 nodes
makes about 78 decisions in that time. At ${number(limit)} units per second a denial lasts 0.1 ms, which leaves denyCache little to remember. ipc: one of the
processes decides for all processes. Postgres: an unlogged table, fsync off, 8 connections per process;
rate-limiter-flexible uses the logged table that it creates.`;

function byNodes(found, cells) {
  return Object.entries(found).flatMap(([nodes, figures]) =>
    Object.keys(figures).map((name) => [`${nodes}, ${label(name)}`, ...cells(figures[name], figures.direct)]),
  );
}

function loadTable(load) {
  const columns = ['half', 'twice'];
  const head = columns.flatMap((name) => [`${name}: store calls`, 'above', 'passed']);
  const cells = (figures) =>
    columns.flatMap((name) => [
      `${share(figures[`${name} asked`])} (${share(figures[`${name} calls`])})`,
      number(figures[`${name} over`]),
      percent(figures[`${name} used`]),
    ]);
  return table(['nodes', ...head], byNodes(load, cells));
}

function hurryTable(hurry) {
  const ofPhase = (name, figures, direct) => [
    `${rate(figures[`${name} perSecond`])} (${times(figures[`${name} perSecond`] / direct[`${name} perSecond`])})`,
    share(figures[`${name} asked`]),
  ];
  const cells = (figures, direct) => [
    ...ofPhase('flood', figures, direct),
    number(figures['flood over']),
    ...ofPhase('open', figures, direct),
  ];
  return table(['nodes', 'flood', 'store calls', 'above', 'all pass', 'store calls'], byNodes(hurry, cells));
}

function storesTable(stores) {
  const labels = { direct: 'redis', ipc: 'ipc', postgres: 'postgres' };
  const head = ['', 'one key, 1 process', '2 processes', 'above', 'keys, 1 process', '2 processes'];
  const rows = Object.keys(labels).map((name) => [
    labels[name],
    ...[1, 2].map((processes) => rate(stores[processes][name]['flood perSecond'])),
    number(Math.max(stores[1][name]['flood over'], stores[2][name]['flood over'])),
    ...[1, 2].map((processes) => rate(stores[processes][name]['keys perSecond'])),
  ]);
  return table(head, rows);
}

function peersTable(peers) {
  const rows = ['postgres', 'flexible'].map((name) => [
    label(name),
    ...[1, 2].map((processes) => rate(peers[processes][name]['keys perSecond'])),
    rate(peers[1][name]['single perSecond']),
  ]);
  return table(['', 'keys, 1 process', '2 processes', 'one by one, 1 process'], rows);
}

function threadsTable({ hot, keys, limit }) {
  const labels = {
    memory: 'memory, 1 thread',
    'shared 1': 'sharedMemory, 1 thread',
    'shared 2': 'sharedMemory, 2 threads',
  };
  const cell = (column, name) =>
    `${rate(column[name].perSecond)} (${times(column[name].perSecond / column.memory.perSecond)})`;
  const rows = Object.keys(labels).map((name) => [
    labels[name],
    cell(hot, name),
    cell(keys, name),
    limit[name] === undefined ? '' : number(limit[name].over),
  ]);
  return table(['', 'one key', '10k keys', 'off a limit of 100,000'], rows);
}

function bytesTable({ full, lean }) {
  const row = (what, { reserved, resident, kept }) => [
    what,
    reserved.toFixed(0),
    resident.toFixed(0),
    percent(kept),
  ];
  return table(
    ['', 'allocated', 'in use', 'keys kept'],
    [row('default options', full), row('without room for logs', lean)],
  );
}
