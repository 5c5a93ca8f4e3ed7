// @ts-check
/** Four workers create limiters on the default store, or on memory() with STORE=memory. Prints the codes of their warnings. */
import cluster from 'node:cluster';
import { once } from 'node:events';
import { createLimiter, memory } from '../../../dist/index.js';

if (cluster.isPrimary) {
  createLimiter('100/min'); // There is only one primary, so it does not warn.
  const workers = Array.from({ length: 4 }, () => cluster.fork());
  const said = await Promise.all(workers.map((worker) => once(worker, 'message')));
  console.log(JSON.stringify(said.map(([message]) => message)));
  for (const worker of workers) worker.kill();
} else {
  const codes = [];
  process.on('warning', (warning) => codes.push(Reflect.get(warning, 'code')));
  const options = process.env['STORE'] === 'memory' ? { store: memory() } : {};
  for (let i = 0; i < 3; i++) createLimiter('100/min', options);
  setTimeout(() => process.send?.(codes), 50);
}
