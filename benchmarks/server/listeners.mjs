/**
 * The HTTP and gRPC listeners, each compared with a server that uses the same library and gives a fixed answer of the same size.
 * Both servers run side by side and take short turns, because the speed of the machine drifts.
 */
import { median } from '../report.mjs';
import { callOnce, requestMessage } from './grpc.mjs';
import { h2load, TAKE } from './load.mjs';
import { startFloor, startSluice } from './servers.mjs';

/** `streams` is the number of concurrent calls on each connection. */
export const CLIENTS = { http: { connections: 50, streams: 1 }, grpc: { connections: 10, streams: 10 } };
/**
 * Number of requests per turn. It is large, so that the CPU time, which the kernel counts in ticks of 10 ms, is accurate to a few
 * percent.
 */
const REQUESTS = 10_000;
/**
 * Length of the warm-up, as a multiple of the requests of a turn. There is a warm-up because production servers are long-running.
 */
const WARM_UP = 4;

/**
 * Returns, by listener, the medians of Sluice and of the fixed answer, and `times`, the median ratio of their CPU time within a
 * turn.
 */
export async function measureListeners({ listenerSets: sets, listenerTurns: turns, scale }) {
  const found = { http: [], grpc: [] };
  for (let set = 0; set < sets; set++) {
    const sluice = await startSluice();
    const floors = {};
    try {
      for (const listener of Object.keys(found)) {
        floors[listener] = await startFloor(listener, await answerOf[listener](sluice.ports[listener]));
        for (const server of [sluice, floors[listener]]) await ask(server, listener, WARM_UP * scale);
        for (let turn = 0; turn < turns; turn++) {
          const [own, floor] = [
            await ask(sluice, listener, scale),
            await ask(floors[listener], listener, scale),
          ];
          found[listener].push({ own, floor, times: own.cpu / floor.cpu });
        }
        const { bad } = await sluice.answered(listener);
        if (bad > 0) throw new Error(`${listener}: ${bad} answers were errors`);
      }
    } finally {
      await Promise.all([sluice, ...Object.values(floors)].map((server) => server.stop()));
    }
  }
  return Object.fromEntries(Object.entries(found).map(([listener, all]) => [listener, mediansOf(all)]));
}

/** Records Sluice's answer to one request, which becomes the fixed answer. */
const answerOf = {
  async http(port) {
    const response = await fetch(`http://127.0.0.1:${port}/v1/take`, { method: 'POST', body: TAKE });
    if (response.status !== 200) throw new Error(`HTTP ${response.status}`);
    // Node sets these headers itself.
    const headers = [...response.headers].filter(([name]) => !/^(date|connection|keep-alive)$/.test(name));
    return { headers: headers.flat(), body: await response.text() };
  },
  async grpc(port) {
    const message = await callOnce(port, requestMessage('bench', 'user', 'k:1'));
    return { message: message.toString('base64') };
  },
};

async function ask(server, listener, scale) {
  const before = server.cpu();
  const options = { ...CLIENTS[listener], requests: Math.ceil(REQUESTS * scale) };
  const found = await h2load(listener, server.ports[listener], options);
  return { ...found, cpu: (server.cpu() - before) / options.requests };
}

function mediansOf(all) {
  const figures = (of) => {
    const figure = (name) => median(all.map((one) => one[of][name]));
    return { perSecond: figure('perSecond'), p99: figure('p99'), cpu: figure('cpu') };
  };
  return { own: figures('own'), floor: figures('floor'), times: median(all.map(({ times }) => times)) };
}
