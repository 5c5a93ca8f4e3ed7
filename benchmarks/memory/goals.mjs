/** The goals as rows: the target, the measured figure, and whether the target was reached. */
import { contenders, libraryNames, peerNames } from './contenders.mjs';
import { workloads } from './workloads.mjs';

const verdict = (isReached) => (isReached ? 'reached' : 'missed');

export function goals({ speed, mixed, bytes, pauses }) {
  /** Sluice's time divided by another contender's. */
  const ratio = (column, name) => speed[column].sluice.nanoseconds / speed[column][name].nanoseconds;

  /** Checks the goal that Sluice's time per check is at most `times` × that of each of these contenders. */
  function atMost(times, column, names, of) {
    const [worst] = names.toSorted((a, b) => ratio(column, b) - ratio(column, a));
    const measured = ratio(column, worst);
    const figure = `${measured.toFixed(2)}× (${contenders[worst].label})`;
    return [`${workloads[column].label}: ≤ ${times}× ${of}`, figure, verdict(measured <= times)];
  }
  const EVERY = 'every peer and the Map';
  const BEST = 'the best peer';

  function threePolicies(times, column) {
    const { sluice, 'sluice-three': three } = speed[column];
    const measured = three.nanoseconds / sluice.nanoseconds;
    return [
      `${workloads[column].label}: three policies ≤ ${times}× one`,
      `${measured.toFixed(2)}×`,
      verdict(measured <= times),
    ];
  }

  const [slowest] = Object.keys(mixed)
    .map((name) => ({ name, times: mixed[name].beside / mixed[name].alone }))
    .toSorted((a, b) => b.times - a.times);
  const [nearest] = Object.keys(speed)
    .map((column) => ({ column, times: 1 / ratio(column, 'rate-limiter-flexible') }))
    .toSorted((a, b) => a.times - b.times);

  return [
    atMost(1, 'one', peerNames, EVERY),
    atMost(1, '10k', peerNames, EVERY),
    atMost(0.75, 'concatenated', peerNames, EVERY),
    atMost(1.2, 'denied', libraryNames, BEST),
    atMost(1.3, 'denied', ['map'], 'the Map'),
    atMost(0.8, 'zipf', ['map'], 'the Map'),
    atMost(0.7, 'new', ['map'], 'the Map'),
    atMost(1.2, 'replenished', libraryNames, BEST),
    [
      'several algorithms in one process ≤ 1.25× the same limiter alone',
      `${slowest.times.toFixed(2)}× (${slowest.name})`,
      verdict(slowest.times <= 1.25),
    ],
    threePolicies(2.3, 'one'),
    threePolicies(2, '10k'),
    [
      '≤ 48 bytes a key',
      `${bytes.sluice.bytes.toFixed(1)} at 1M keys; ${bytes.sluice.worst.toFixed(1)} at worst from 500k on`,
      verdict(bytes.sluice.bytes <= 48),
    ],
    [
      'longest check while 2M keys come and go ≤ 2 ms',
      `${pauses.sluice.check.toFixed(1)} ms`,
      verdict(pauses.sluice.check <= 2),
    ],
    [
      '≥ 2.5× faster than rate-limiter-flexible everywhere',
      `${nearest.times.toFixed(2)}× (${workloads[nearest.column].label})`,
      verdict(nearest.times >= 2.5),
    ],
  ];
}
