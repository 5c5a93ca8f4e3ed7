/**
 * Measures HTTP middleware in two ways. The first is the time that the guard, which all middleware shares, takes without a
 * server, in nanoseconds. This figure is steady. The second is the CPU time that a request costs the server process with each
 * framework's usual limiter, with Sluice, with a middleware that does nothing, and without middleware. The second way uses new
 * processes and 64 connections. The servers take short turns, because most of the time is spent in the kernel, whose
 * speed drifts, and the drift affects all servers equally if the turns are short. The medians are reported.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { median, table } from '../report.mjs';
import { apps } from './apps.mjs';
import { answerOf, takeTurns } from '../turns.mjs';
import { load } from './load.mjs';

const SERVER = new URL('server.mjs', import.meta.url);
const GUARD = new URL('guard.mjs', import.meta.url);
/** The three measurements without a server: the guard, the guard without headers, and only the limiter that the guard calls. */
const GUARDS = ['guard', 'without headers', 'limiter.take(key)'];
const VARIANTS = ['bare', 'empty', 'usual', 'sluice'];

export async function run({ quick }) {
  const sizes = quick
    ? { sets: 1, turns: 1, requests: 500, guardTurns: 20 }
    : { sets: 5, turns: 8, requests: 2_000, guardTurns: 1000 };
  const guard = await takeTurns('guard', GUARDS, sizes.sets, (name) =>
    answerOf(GUARD, name, sizes.guardTurns),
  );
  const found = {};
  for (const framework of Object.keys(apps)) {
    const costs = Object.fromEntries(VARIANTS.map((variant) => [variant, []]));
    for (let set = 0; set < sizes.sets; set++) {
      for (const [variant, cost] of Object.entries(await measure(framework, sizes)))
        costs[variant].push(cost);
    }
    found[framework] = Object.fromEntries(VARIANTS.map((variant) => [variant, median(costs[variant])]));
  }
  return describe(guard, found, sizes);
}

/** Microseconds of CPU per request for each variant. The processes run side by side and take short turns. */
async function measure(framework, { turns, requests }) {
  const servers = await Promise.all(VARIANTS.map((variant) => start(framework, variant)));
  try {
    for (const { port } of servers) await load(port, { requests: requests * 3, connections: 64 });
    for (let turn = 0; turn < turns; turn++) {
      for (let i = 0; i < servers.length; i++) {
        const server = servers[(turn + i) % servers.length];
        const before = await server.cpu();
        server.head = await load(server.port, { requests, connections: 64 });
        server.used += (await server.cpu()) - before;
      }
    }
    if (!/^ratelimit: /im.test(servers.at(-1).head))
      throw new Error(`${framework}: Sluice's headers are missing`);
    return Object.fromEntries(servers.map(({ variant, used }) => [variant, used / (turns * requests)]));
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}

async function start(framework, variant) {
  const server = fork(SERVER, [framework, variant]);
  const [{ port }] = await once(server, 'message');
  return {
    variant,
    port,
    used: 0,
    head: '',
    async cpu() {
      server.send('cpu');
      const [answer] = await once(server, 'message');
      return answer.cpu;
    },
    async stop() {
      server.kill();
      await once(server, 'exit');
    },
  };
}

/**
 * The goals: the maximum nanoseconds of the guard with its headers, and the maximum CPU time that Sluice adds to a request, as a
 * multiple of what the usual limiter adds.
 */
const MOST_NANOSECONDS = 600;
const MOST_ADDED = 0.75;

const verdict = (isReached) => (isReached ? 'reached' : 'missed');

function describe(guard, found, { sets, turns, requests }) {
  const rows = Object.entries(found).map(([framework, costs]) => {
    const added = (variant) => costs[variant] - costs.bare;
    const ratio = added('sluice') / added('usual');
    return [
      framework,
      costs.bare.toFixed(1),
      added('empty').toFixed(1),
      `${added('usual').toFixed(1)} (${apps[framework].usual})`,
      added('sluice').toFixed(1),
      `${ratio.toFixed(2)}×`,
      verdict(ratio <= MOST_ADDED),
    ];
  });
  const parts = Object.entries(guard).map(([name, { nanoseconds }]) => [
    name,
    nanoseconds.toFixed(0),
    name === 'guard' ? verdict(nanoseconds <= MOST_NANOSECONDS) : '',
  ]);
  return [
    `The guard without a server. It limits by address in memory and writes its headers. The other rows show the guard without headers, and the call of the limiter alone. Median of ${sets} processes.`,
    '',
    table(['', 'ns per request', `goal ≤ ${MOST_NANOSECONDS} ns`], parts),
    '',
    `CPU µs per request: hello world, 64 connections, ${turns} turns of ${requests} requests, median of ${sets} sets of new processes. All limit by address in memory, deny no request and write their headers. "Adds" is relative to the bare framework.`,
    '',
    table(
      [
        'framework',
        'bare',
        'empty adds',
        'usual limiter adds',
        'Sluice adds',
        'Sluice : usual',
        `goal ≤ ${MOST_ADDED}×`,
      ],
      rows,
    ),
  ].join('\n');
}
