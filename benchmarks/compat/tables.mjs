/** Formats the results of this suite as a section of RESULTS.md and as the tables of docs/migrate/README.md. */
import { table } from '../report.mjs';
import { dropIns } from './drop-ins.mjs';

/** @type {Record<string, [head: string, format: (value: number) => string]>} */
const COLUMNS = {
  trips: ['round trips', (value) => String(Number(value.toFixed(2)))],
  server: ['server’s CPU, µs a call', (value) => value.toFixed(0)],
  cpu: ['CPU, µs a call', (value) => value.toFixed(value < 100 ? 2 : 0)],
  bytes: ['bytes a key', (value) => (value < 100_000 ? value.toFixed(0) : `${(value / 1e6).toFixed(2)} MB`)],
};

export function describe(figures, rounds) {
  const tables = [
    'Each cell shows the original → the drop-in. “–” means that the original does not run here, or has no such store. Figures in\nitalics were not measured by this command. They were recorded with Redis 7.0.15 together with the original’s behavior, or\ntaken from its documentation.\n',
    'On Redis, 1,000 keys:\n',
    compare(figures['redis keys'], ['trips', 'server', 'bytes'], 'redis'),
    '\nOn Redis, one key with 10,000 actions in its log:\n',
    compare(figures['redis log'], ['server', 'bytes'], 'log'),
    '\nIn memory, 100,000 keys:\n',
    compare(figures['memory keys'], ['cpu', 'bytes'], 'memory'),
    '\nIn memory, keys with 10,000 actions in their logs:\n',
    compare(figures['memory log'], ['cpu', 'bytes'], 'memory log'),
  ].join('\n');
  return { tables, notes: notes(rounds) };
}

function compare(figures, columns, recordedAs) {
  const measured = Object.entries(dropIns).filter(([name]) => `${name} after` in figures);
  const rows = measured.map(([name, { label, original, recorded }]) => {
    const { [`${name} before`]: before, [`${name} after`]: after } = figures;
    const cells = columns.map((column) => {
      const [, format] = COLUMNS[column];
      const known = recorded?.[recordedAs]?.[column];
      const old = before ? format(before[column]) : known ? `*${known}*` : '–';
      return `${old} → ${format(after[column])}`;
    });
    return [label, original, ...cells];
  });
  return table(['drop-in', 'in place of', ...columns.map((column) => COLUMNS[column][0])], rows);
}

const notes = (
  rounds,
) => `Median of ${rounds} rounds. Each figure comes from a new process and a new server; the two sides take turns. Calls are made one at a
time through ioredis, and none is denied. Round trips: how often the client sends something after an answer. The server’s CPU time
is that of its main thread, user and system (INFO cpu), including sockets. Bytes are the increase of used_memory without the
buffers of connections or, in memory, the increase of the heap and typed arrays. CPU time in memory is that of the whole process,
including the threads of the garbage collector. The log of rolling-rate-limiter on Redis was filled by one ZADD. Also recorded,
with Redis 7.0.15: Sharkey’s service sends 9 to 18 commands per check; rolling-rate-limiter occupies the server for 9,200 µs at
10,000 actions, in 1.45 MB.`;
