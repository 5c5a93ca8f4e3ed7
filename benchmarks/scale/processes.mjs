/** Runs nodes in one or two processes, which start and end each phase together. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { phases } from './phases.mjs';
import { now, overAdmitted } from './tally.mjs';

const WORKER = new URL('worker.mjs', import.meta.url);

/**
 * Figures by phase: decisions per second, hits sent to the store per decision, units above the bound, and the fraction of the
 * available units that was used.
 * @param place `address`, and `calls()`: the script calls that the server has counted, if it reports them
 */
export async function measure(place, contender, nodes, names, scale) {
  const processes = Math.min(nodes, 2);
  const task = [contender, nodes, nodes / processes, place.address(), scale, ...names].map(String);
  const workers = Array.from({ length: processes }, () => fork(WORKER, task));
  const ends = workers.map((worker) => once(worker, 'exit'));
  const broken = Promise.race(ends).then(() => Promise.reject(new Error(`worker ${task.join(' ')} ended`)));
  broken.catch(() => {});
  const heard = () => Promise.race([Promise.all(workers.map((worker) => answerOf(worker))), broken]);
  const tell = (message) => {
    for (const worker of workers) worker.send(message);
  };

  /** Runs a phase once in all processes. */
  async function step() {
    await heard();
    const before = await place.calls();
    const answers = heard();
    tell({ start: now() });
    const found = await answers;
    const calls = (await place.calls()) - before;
    const closed = heard();
    tell({});
    await closed;
    tell({});
    return { found, calls };
  }

  try {
    const figures = {};
    for (const name of names) {
      await step(); // The warm-up.
      Object.assign(figures, figuresOf(name, await step()));
    }
    await Promise.all(ends);
    return figures;
  } finally {
    for (const worker of workers) worker.kill();
  }
}

const answerOf = async (worker) => (await once(worker, 'message'))[0];

/** Figures of a phase, named `<phase> <figure>`. */
function figuresOf(phase, { found, calls }) {
  const sum = (figure) => found.reduce((total, one) => total + one[figure], 0);
  const elapsed = Math.max(...found.map((one) => one.elapsed));
  const [decisions, allowed] = [sum('decisions'), sum('allowed')];
  const figures = {
    perSecond: found.reduce((total, one) => total + (one.decisions / one.elapsed) * 1000, 0),
    asked: sum('asked') / decisions,
    calls: calls / decisions,
    allowed: allowed / decisions,
  };
  const { isBounded, limits } = phases[phase];
  if (isBounded) {
    const [burst, rate] = [limits.burst, limits.limit / 1000];
    const spans = found.flatMap((one) => one.spans);
    figures.over = overAdmitted(spans, burst, rate);
    figures.used = allowed / Math.min(decisions, burst + rate * elapsed);
  }
  return Object.fromEntries(Object.entries(figures).map(([figure, value]) => [`${phase} ${figure}`, value]));
}
