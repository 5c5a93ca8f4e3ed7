/**
 * A process that measures one figure of one contender. Usage: worker.mjs <scenario> <contender> <port> <scale> <argument…>
 * It reports that it is ready, starts when it is told to, and sends its figures.
 */
import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { contenders } from './contenders.mjs';
import { bytes, log, spent, workloads } from './workloads.mjs';

const [scenario, name, port, scaleText, ...rest] = process.argv.slice(2);
const scale = Number(scaleText);
const [roundTrip, inFlight = 1] = rest.map(Number);

/**
 * Duration of a measurement in milliseconds, after a warm-up of half that time. A shorter measurement would mostly measure the
 * compilation of the client's code.
 */
const PATIENCE = 800 * Math.max(scale, 0.1);
const scenarios = {
  load: () => load(workloads[rest[0]].make(scale)),
  bytes: fill,
  log: checkLog,
  spent: floodSpent,
};
const made = (limits) => contenders[name].make({ ...limits, port: Number(port) });

async function ready() {
  process.send('ready');
  await once(process, 'message');
}

/** Keeps `lanes` checks in flight until `count` checks are done or the time is up. */
async function checkAll({ check, passed }, next, { lanes = 1, count = Infinity, patience = PATIENCE }) {
  const started = performance.now();
  const spans = [];
  let [checks, allowed, elapsed] = [0, 0, 0];
  async function lane() {
    while (checks < count && elapsed < patience) {
      checks++;
      const before = performance.now();
      try {
        if (passed(await check(next()))) allowed++;
      } catch (denial) {
        if (denial instanceof Error) throw denial;
      }
      const now = performance.now();
      elapsed = now - started;
      if (lanes === 1) spans.push(now - before);
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane));
  const latency = (spans.sort((a, b) => a - b)[spans.length >> 1] ?? 0) * 1000;
  return { checks, allowed, perSecond: (checks / elapsed) * 1000, latency };
}

const ALL = { lanes: 256, patience: Infinity };

async function load({ limits, first, times, next, open }) {
  const contender = await made(limits);
  for (let i = 0; i < times; i++) {
    let at = 0;
    await checkAll(contender, () => first[at++], {
      ...ALL,
      lanes: Math.min(256, first.length),
      count: first.length,
    });
  }
  await checkAll(contender, next, { lanes: inFlight, patience: PATIENCE / 2 });
  await ready();
  const { checks, allowed, ...found } = await checkAll(contender, next, { lanes: inFlight });
  // A figure is worthless if the limiter did not limit.
  const expected = open || contender.limitless ? checks : 0;
  if (allowed !== expected) throw new Error(`${name} allowed ${allowed} of ${checks}, not ${expected}`);
  return { checks, ...found };
}

async function fill() {
  const { limits, next, count } = bytes(scale);
  const contender = await made(limits);
  await ready();
  return checkAll(contender, next, { ...ALL, count });
}

/** Fills a log with one check at a time, because actions of one call have the same time and would be stored as one entry. */
async function checkLog() {
  const { limits, key, actions } = log(rest[0] === 'room', scale);
  const contender = await made(limits);
  const { record = (_, count) => checkAll(contender, () => key, { count, patience: Infinity }) } = contender;
  await record(key, actions);
  await ready();
  return checkAll(contender, () => key, { count: 1000 });
}

/**
 * Measures a flood on a key whose burst is used up, with injected latency: decisions per second, the fraction of the rate that is
 * admitted, and percentiles of the latency. After each answer, a lane yields to the event loop, as a server does between
 * requests.
 */
async function floodSpent() {
  const { limits, key } = spent();
  const { check } = await made({ ...limits, through: roundTrip });
  const until = async (end, each) => {
    const lane = async () => {
      while (performance.now() < end) {
        const asked = performance.now();
        each(await check(key), performance.now() - asked);
        await nextTurn();
      }
    };
    await Promise.all(Array.from({ length: inFlight }, lane));
  };
  let isSpent = false;
  while (!isSpent)
    await until(performance.now() + PATIENCE / 2, ({ allowed }) => {
      isSpent ||= !allowed;
    });
  await ready();
  const started = performance.now();
  const waits = [];
  const found = { checks: 0, allowed: 0 };
  await until(started + PATIENCE, ({ allowed }, wait) => {
    found.checks++;
    if (allowed) found.allowed++;
    waits.push(wait);
  });
  const elapsed = performance.now() - started;
  waits.sort((a, b) => a - b);
  const expected = (elapsed * limits.rate) / limits.window;
  const at = (part) => waits[Math.min(waits.length - 1, Math.floor(waits.length * part))];
  return {
    ...found,
    perSecond: (found.checks / elapsed) * 1000,
    latency: at(0.5) * 1000,
    share: found.allowed / expected,
    slow: at(0.999),
  };
}

process.once('disconnect', () => process.exit());
const found = await scenarios[scenario]();
process.send(found, () => process.exit());
