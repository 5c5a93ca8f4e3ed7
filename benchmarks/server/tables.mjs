/** Formats the section of RESULTS.md. */
import { table } from '../report.mjs';

const thousands = (value) => `${(value / 1000).toFixed(1)}k`;
const ratio = (value) => `${value.toFixed(2)}×`;

export function describe({ resp, listeners, sizes, rounds, connections, version }) {
  return [
    `${connections} connections of redis-benchmark, 10k keys in random order: requests per second, p99 in ms, CPU µs of the server per\nrequest. EVALSHA is a minimal GCRA script (gcra.lua) on redis-server ${version}; INCR does not limit anything.\n`,
    respTable(resp),
    `\nThe other listeners: ${connections} connections of wrk, one take per request; 10 connections of h2load with 10 concurrent calls on each.\n`,
    listenerTable(listeners, resp[1].EVALSHA),
    '\nGoals\n',
    table(['goal', 'measured', ''], goals(resp)),
    `\nRESP: medians of ${sizes.sets} sets of ${sizes.turns} short turns, contenders side by side in separate processes; goals: medians of the\nratios within a turn. Other listeners: medians of ${rounds} rounds, new processes for each. Client and server share the machine.\nAll in memory, no request is denied unless noted, and the server's metrics are on.`,
  ].join('\n');
}

function respTable(resp) {
  const pipelines = Object.keys(resp);
  const rows = Object.keys(resp[pipelines[0]]).map((name) => [
    resp[pipelines[0]][name].times === undefined ? `redis-server ${name}` : `sluice ${name}`,
    ...pipelines.map((pipeline) => {
      const { perSecond, p99, cpu } = resp[pipeline][name];
      return `${thousands(perSecond)} · ${p99.toFixed(2)} · ${cpu.toFixed(1)}`;
    }),
  ]);
  return table(
    ['', ...pipelines.map((pipeline) => (pipeline === '1' ? 'one by one' : `pipeline ${pipeline}`))],
    rows,
  );
}

function listenerTable(listeners, evalsha) {
  const rows = Object.entries(listeners).map(([listener, { perSecond, p99, cpu }]) => [
    listener === 'http' ? 'HTTP /v1/take' : 'gRPC ShouldRateLimit',
    thousands(perSecond),
    p99.toFixed(2),
    cpu.toFixed(1),
    ratio(perSecond / evalsha.perSecond),
  ]);
  return table(['', 'requests/s', 'p99, ms', 'CPU µs', 'EVALSHA one by one'], rows);
}

function goals(resp) {
  const rows = (pipeline, goal) =>
    [['CL.THROTTLE', 'THROTTLE'], ['CL.THROTTLE, denied']].map((names) => {
      const found = names.map((name) => resp[pipeline][name].times);
      return [
        `${pipeline === 1 ? 'one by one' : `pipeline ${pipeline}`}: ≥ ${goal}× EVALSHA`,
        names.map((name, i) => `${name} ${ratio(found[i])}`).join('; '),
        Math.min(...found) >= goal ? 'reached' : 'missed',
      ];
    });
  return [...rows(1, 1), ...rows(16, 3), ...rows(64, 3)];
}
