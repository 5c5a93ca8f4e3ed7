/**
 * A process with some of the nodes. Usage: worker.mjs <contender> <total nodes> <nodes here> <address> <scale> <phase…>
 * Each phase runs twice with new nodes, and the first run is a warm-up. The worker reports that it is ready, starts when it is
 * told to, sends its figures, and closes its nodes when it is told to.
 */
import { once } from 'node:events';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { keyOf } from '../memory/workloads.mjs';
import { nodeOf } from './nodes.mjs';
import { phases } from './phases.mjs';
import { now, tally } from './tally.mjs';

const [contender, nodesText, hereText, address, scaleText, ...names] = process.argv.slice(2);
const [nodes, here, scale] = [nodesText, hereText, scaleText].map(Number);
const WARM_UP = 200;

const isPromise = (answer) => typeof answer.then === 'function';

/** Starts a fixed number of checks per second on random nodes, whether or not earlier ones have been answered. */
async function pace(made, keys, perSecond, span, { add }) {
  const started = now();
  const answers = [];
  for (let elapsed = 0, asked = 0; elapsed < span; elapsed = now() - started) {
    for (; asked < (elapsed * perSecond) / 1000; asked++) {
      const sent = now();
      const answer = made[Math.floor(Math.random() * here)].take(keys[asked % keys.length]);
      if (isPromise(answer)) answers.push(answer.then((decision) => add(decision, sent)));
      else add(answer);
    }
    await sleep(1);
  }
  await Promise.all(answers);
}

/** Number of synchronous answers after which a lane yields to the event loop, so that sockets are read. */
const AT_ONCE = 16;

/** Keeps a fixed number of checks in flight on each node, and repeats each as soon as it is answered. */
async function hurry(made, keys, lanes, span, { add }) {
  const end = now() + span;
  async function lane({ take }, first) {
    let atOnce = 0;
    for (let asked = first, time = 0; time < end; asked++) {
      const answer = take(keys[asked % keys.length]);
      if (isPromise(answer)) {
        const sent = now();
        add(await answer, sent);
      } else {
        add(answer);
        if (++atOnce % AT_ONCE > 0) continue;
        await nextTurn();
      }
      time = now();
    }
  }
  const starts = Array.from({ length: lanes }, () => Math.floor(Math.random() * keys.length));
  await Promise.all(made.flatMap((node) => starts.map((first) => lane(node, first))));
}

const told = async () => (await once(process, 'message'))[0];

/** Runs a phase. `name` is the name of the limiters. All processes start and end together. */
async function run(name, { limits, isBounded, keys: count, perSecond, inFlight }, span) {
  const made = await Promise.all(
    Array.from({ length: here }, () => nodeOf(contender, limits, name, { address, nodes })),
  );
  const keys = Array.from({ length: count }, (_, index) => keyOf(index));
  process.send('ready');
  const { start } = await told();
  const found = tally(isBounded ? start : undefined);
  const started = now();
  if (perSecond === undefined) await hurry(made, keys, inFlight / nodes, span, found);
  else await pace(made, keys, (perSecond * here) / nodes, span, found);
  const elapsed = now() - started;
  const asked = made.reduce((sum, node) => sum + node.asked(), 0) - found.counted.cached;
  // A figure is worthless if the limiter did not limit.
  const { decisions, allowed } = found.counted;
  if (!isBounded && allowed < decisions) throw new Error(`${contender} denied in ${name}`);
  process.send({ decisions, allowed, asked, elapsed, spans: found.spans() });
  await told();
  await Promise.all(made.map((node) => node.close()));
  // Reports that the nodes are closed, so that the next phase does not find a server that is about to close.
  process.send('closed');
  await told();
}

process.once('disconnect', () => process.exit());
for (const name of names) {
  const phase = phases[name];
  await run(`warm-up ${name}`, phase, WARM_UP * scale);
  await run(name, phase, phase.span * scale);
}
process.disconnect();
