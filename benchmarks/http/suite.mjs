/**
 * Middlewares: the CPU time a request costs the server's process, with each framework's usual limiter, with Sluice, with
 * a middleware that does nothing, and without. Fresh processes, 64 connections; contenders take turns, medians count.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { median, table } from '../report.mjs';
import { apps } from './apps.mjs';
import { load } from './load.mjs';

const SERVER = new URL('server.mjs', import.meta.url);
const VARIANTS = ['bare', 'empty', 'usual', 'sluice'];

export async function run({ quick }) {
  const requests = quick ? 500 : 20_000;
  const rounds = quick ? 1 : 5;
  const found = {};
  for (const framework of Object.keys(apps)) {
    const costs = Object.fromEntries(VARIANTS.map((variant) => [variant, []]));
    const heads = {};
    for (let round = 0; round < rounds; round++) {
      for (const variant of VARIANTS) {
        const { cost, head } = await measure(framework, variant, requests);
        costs[variant].push(cost);
        heads[variant] = head;
      }
    }
    if (!/^ratelimit: /im.test(heads.sluice)) throw new Error(`${framework}: no headers of Sluice`);
    found[framework] = Object.fromEntries(VARIANTS.map((variant) => [variant, median(costs[variant])]));
  }
  return describe(found, { requests, rounds });
}

/** Microseconds of CPU per request, after a warm-up. */
async function measure(framework, variant, requests) {
  const server = fork(SERVER, [framework, variant]);
  try {
    const [{ port }] = await once(server, 'message');
    const cpu = async () => {
      server.send('cpu');
      const [answer] = await once(server, 'message');
      return answer.cpu;
    };
    await load(port, { requests: Math.ceil(requests / 4), connections: 64 });
    const before = await cpu();
    const head = await load(port, { requests, connections: 64 });
    return { cost: ((await cpu()) - before) / requests, head };
  } finally {
    server.kill();
    await once(server, 'exit');
  }
}

function describe(found, { requests, rounds }) {
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
      ratio <= 0.5 ? 'reached' : ratio < 1 ? 'less, but above half' : 'missed',
    ];
  });
  return [
    `CPU µs per request: hello world, 64 connections, ${requests} requests a round, median of ${rounds} rounds. All limit by address in memory, deny nobody and write their headers. "Added" is against the bare framework.`,
    '',
    table(
      [
        'framework',
        'bare',
        'empty adds',
        'usual limiter adds',
        'Sluice adds',
        'Sluice : usual',
        'goal ≤ 0.5×',
      ],
      rows,
    ),
  ].join('\n');
}
