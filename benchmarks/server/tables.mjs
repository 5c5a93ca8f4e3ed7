/** Formats the results of this suite as a section of RESULTS.md. */
import { table } from '../report.mjs';
import { CLIENTS } from './listeners.mjs';

const thousands = (value) => `${(value / 1000).toFixed(1)}k`;
const ratio = (value) => `${value.toFixed(2)}×`;

export function describe({ resp, listeners, sizes, connections, version }) {
  const { http, grpc } = CLIENTS;
  return [
    `${connections} connections of redis-benchmark, 10k keys in random order: requests per second, p99 in ms, CPU µs of the server per\nrequest. EVALSHA is a minimal GCRA script (gcra.lua) on redis-server ${version}; INCR does not limit anything.\n`,
    respTable(resp),
    `\nThe other listeners, with h2load and one key: ${http.connections} connections for HTTP; ${grpc.connections} with ${grpc.streams} concurrent calls on each for gRPC. A fixed answer is what\nSluice would answer, sent by node:http or grpc-js without parsing the request.\n`,
    listenerTable(listeners),
    '\nGoals\n',
    table(['goal', 'measured', ''], [...goals(resp), ...listenerGoals(listeners)]),
    `\nRESP: medians of ${sizes.sets} sets of ${sizes.turns} short turns, contenders side by side in separate processes; goals: medians of the\nratios within a turn. Other listeners: the same, ${sizes.listenerSets} sets of ${sizes.listenerTurns} turns. Client and server share the machine.\nEverything is in memory, no request is denied unless noted, and the server's metrics are enabled.`,
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

const LISTENERS = {
  http: { own: 'HTTP /v1/take', floor: 'node:http, fixed answer', goal: 1.6 },
  grpc: { own: 'gRPC ShouldRateLimit', floor: 'grpc-js, fixed answer', goal: 1.3 },
};

function listenerTable(listeners) {
  const rows = Object.entries(listeners).flatMap(([listener, found]) =>
    ['own', 'floor'].map((which) => {
      const { perSecond, p99, cpu } = found[which];
      return [LISTENERS[listener][which], thousands(perSecond), p99.toFixed(2), cpu.toFixed(1)];
    }),
  );
  return table(['', 'requests/s', 'p99, ms', 'CPU µs'], rows);
}

function listenerGoals(listeners) {
  return Object.entries(listeners).map(([listener, { times }]) => {
    const { own, floor, goal } = LISTENERS[listener];
    return [`${own}: ≤ ${goal}× the CPU of ${floor}`, ratio(times), times <= goal ? 'reached' : 'missed'];
  });
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
