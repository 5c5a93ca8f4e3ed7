/**
 * Lets contenders take turns, each in a new process. So a slow minute affects all contenders equally, and no contender is slowed
 * down by another contender's garbage.
 */
import { fork } from 'node:child_process';
import { median } from './report.mjs';

/** Calls `measure(name)`, which returns figures, for each contender and round. Returns the medians of the figures by name. */
export async function takeTurns(what, names, rounds, measure) {
  const found = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 1; round <= rounds; round++) {
    for (const name of names) {
      progress(`${what} ${round}/${rounds} ${name}`);
      found[name].push(await measure(name));
    }
  }
  progress('');
  const medians = (all) =>
    Object.fromEntries(Object.keys(all[0]).map((figure) => [figure, median(all.map((one) => one[figure]))]));
  return Object.fromEntries(names.map((name) => [name, medians(found[name])]));
}

/** A single progress line that is overwritten. */
function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}

/** Runs a worker and returns its figures. The worker may call the garbage collector. */
export function answerOf(worker, ...task) {
  return new Promise((resolve, reject) => {
    const child = fork(worker, task.map(String), { execArgv: ['--expose-gc'] });
    child.once('message', resolve);
    child.once('exit', (code) =>
      reject(new Error(`worker ${task.join(' ')} exited with code ${code} without an answer`)),
    );
  });
}
