import { createLimiter, memory } from 'sluice';
import { describe, expect, test } from 'vitest';
import { boundsOf, type Costs, costsFor } from '../src/model/costs.ts';
import { type Part, policiesOf, read } from '../src/model/policy.ts';
import { createRun, explain, type Run } from '../src/model/run.ts';
import { FIRST, TRAFFIC } from '../src/model/state.ts';
import { generate, type TrafficOptions } from '../src/model/traffic.ts';

function partsOf(text: string): readonly Part[] {
  const reading = read(text);
  if (reading.mistake !== undefined) throw new Error(reading.mistake.why);
  return reading.parts;
}

function runOf(text: string, costs: Costs, traffic: TrafficOptions = FIRST.traffic): Run {
  const bounds = boundsOf(partsOf(text), costs);
  const run = createRun({ traffic: generate(traffic), policies: text, costs, bounds, patience: 0, focus: 0 });
  run.work(Infinity);
  return run;
}

test('costsFor defaults each cost to 1, always uses 1 for a penalty, and returns an empty list for a single policy or if all costs are 1', () => {
  expect(costsFor(partsOf('5/s & 9/min & 1/s gcra'), [1, 3])).toEqual([1, 3, 1]);
  expect(costsFor(partsOf('5/s & 9/min'), [1, 1, 3])).toEqual([]);
  expect(costsFor(partsOf('5/s'), [3])).toEqual([]);
  expect(costsFor(partsOf('5/s & penalty { after: 3, within: 10s, block: 20s }'), [2, 3])).toEqual([2, 1]);
});

describe('a run', () => {
  test.each([
    [
      '10/10s & 100/20s sliding-log',
      [1, 12],
      { '10/10s': 1, '100/20s sliding-log': 12 },
      '100/20s sliding-log',
    ],
    ['10/10s & 5/20s fixed-window', [2, 0], { '10/10s': 2, '5/20s fixed-window': 0 }, '10/10s'],
    ['9/3s & penalty { after: 9, within: 3s, block: 1s }', [4, 1], { '9/3s': 4 }, '9/3s'],
  ])('of %s with costs %j makes the same decisions as the library', (text, costs, cost, policy) => {
    const run = runOf(text, costs, { ...TRAFFIC.poisson, rate: 2 });
    let now = 0;
    const limiter = createLimiter(policiesOf(text), { store: memory({ clock: { now: () => now } }) });
    const allowed: number[] = [];
    for (const [i, time] of run.traffic.times.entries()) {
      now = time;
      if (limiter.take('ann', { cost }).allowed) allowed.push(i);
    }
    expect([...run.admitted.event.subarray(0, run.admitted.count)]).toEqual(allowed);
    expect(allowed.length).toBeGreaterThan(10);
    expect(explain(run, run.denied.event[0])?.decision).toMatchObject({ allowed: false, policy });
  });

  test('with costs counts units in windows, and shows how many requests are left', () => {
    const run = runOf('10/10s sliding-log & 60/10s sliding-log', [1, 12]);
    expect(run.worst.map((most) => most[run.admitted.count - 1])).toEqual([5, 60]);
    expect(run.full).toBe(5);
    expect(Math.min(...run.level)).toBe(0);
    expect(runOf('10/10s & 7/s', [0, 0])).toMatchObject({ full: 7, denied: { count: 0 } });
  });
});
