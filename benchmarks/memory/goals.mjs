/** The goals as rows: the target, the measured figure, and whether it was reached. */
import { contenders, peerNames } from './contenders.mjs';
import { workloads } from './workloads.mjs';

const verdict = (isReached) => (isReached ? 'reached' : 'missed');

export function goals({ speed, bytes, pauses, flat }) {
  /** A peer's time divided by Sluice's time. */
  const ahead = (name, workload) => speed[workload][name].nanoseconds / speed[workload].sluice.nanoseconds;
  const every = Object.keys(workloads);

  function atLeast(times, among, columns, what) {
    const [worst] = columns
      .flatMap((column) => among.map((name) => ({ name, column, ratio: ahead(name, column) })))
      .toSorted((a, b) => a.ratio - b.ratio);
    const of = among.length > 1 ? `${contenders[worst.name].label}, ` : '';
    const figure = `${worst.ratio.toFixed(2)}× (${of}${workloads[worst.column].label})`;
    return [what, figure, verdict(worst.ratio > times || (times > 1 && worst.ratio === times))];
  }

  const RLF = ['rate-limiter-flexible'];
  const [leanest] = peerNames.toSorted((a, b) => bytes[a].bytes - bytes[b].bytes);
  const three = Math.max(...every.map((column) => ahead('sluice-three', column)));
  const { check, loop } = pauses.sluice;
  const sizes = Object.keys(flat);
  const grows = (name) => flat[sizes.at(-1)][name].nanoseconds - flat[sizes[0]][name].nanoseconds;

  return [
    atLeast(1, peerNames, every, 'faster than every peer and the bare Map, everywhere'),
    [
      'fewer bytes than every peer and the bare Map',
      `${bytes.sluice.bytes.toFixed(0)} against ${bytes[leanest].bytes.toFixed(0)} (${contenders[leanest].label})`,
      verdict(bytes.sluice.bytes < bytes[leanest].bytes),
    ],
    atLeast(5, RLF, every, '≥ 5× rate-limiter-flexible everywhere'),
    atLeast(8, RLF, ['zipf'], '≥ 8× rate-limiter-flexible at 1M keys'),
    atLeast(15, RLF, ['new', 'denied'], '≥ 15× rate-limiter-flexible for new and denied keys'),
    [
      '≤ 48 bytes a key',
      `${bytes.sluice.bytes.toFixed(1)} at 1M keys; ${bytes.sluice.worst.toFixed(1)} at worst from 500k on`,
      verdict(bytes.sluice.bytes <= 48),
    ],
    [
      'no pause above 5 ms while 1M keys come and go',
      `check ${check.toFixed(1)} ms, event loop ${loop.toFixed(1)} ms`,
      verdict(Math.max(check, loop) <= 5),
    ],
    ['three policies ≤ 2× one', `${three.toFixed(2)}×`, verdict(three <= 2)],
    // Not judged: the share of cache misses in the growth depends on the machine.
    [
      'flat from 1k to 10M keys but for cache misses',
      `+${grows('sluice').toFixed(0)} ns, of which reading the key +${grows('read').toFixed(0)} ns`,
      'see table',
    ],
  ];
}
