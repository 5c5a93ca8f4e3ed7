// @ts-check
/** A primary and its workers: env IPC as in process.mjs; SERVE=1 lets the primary serve. Replies with the answers of all workers. */
import cluster from 'node:cluster';
import { once } from 'node:events';
import { ipc } from '../../../dist/stores/ipc/index.js';

cluster.setupPrimary({ exec: new URL('./process.mjs', import.meta.url).pathname });
const options = JSON.parse(process.env['IPC'] ?? '');
if (process.env['SERVE'] === '1') ipc(options);
const env = { IPC: JSON.stringify(process.env['SERVE'] === '1' ? { ...options, serve: false } : options) };
const workers = Array.from({ length: 4 }, () => cluster.fork(env));
await Promise.all(workers.map((worker) => once(worker, 'message')));

process.on('message', (task) => void passOn(task));

async function passOn(task) {
  const answers = workers.map(async (worker) => {
    worker.send(task);
    return (await once(worker, 'message'))[0];
  });
  process.send?.(await Promise.all(answers));
}
process.send?.('ready');
