/**
 * The goals as rows: the target, the measured figure, and whether the target was reached. The goals for leases are in the scale
 * suite.
 */
import { contenders, peerNames } from './contenders.mjs';

const verdict = (isReached) => (isReached ? 'reached' : 'missed');
const atMost = (goal, most, ratio, note = '') => [
  `${goal} ≤ ${most}×`,
  `${ratio.toFixed(2)}×${note}`,
  verdict(ratio <= most),
];

export function goals({ load, two, time, bytes, log, spent }) {
  const { alone, many } = load.live;
  const slowest = Math.max(log.room['sluice-log'].server, log.full['sluice-log'].server);
  return [
    atMost('server time of a live check, times a bare EVALSHA', 1.2, time.live.sluice.times),
    atMost('server time of a denied check, times a bare EVALSHA', 1.5, time.denied.sluice.times),
    atMost('server time per check of 64 keys, times a single bare EVALSHA', 0.45, time.batch),
    atMost(
      'server time of three policies, times one',
      1.2,
      time.three.single,
      ` single, ${time.three.batch.toFixed(2)}× of 64`,
    ),
    throughput('256 in flight', many),
    throughput('256 in flight in each of 2 processes', two.many),
    atMost('latency alone, times a bare EVALSHA', 1.1, alone.sluice.latency / alone.bare.latency),
    atMost(
      'used_memory per key, times rate-limit-redis',
      1.45,
      bytes.sluice.held / bytes['rate-limit-redis'].held,
    ),
    ['server time of a sliding log of 10,000 actions ≤ 60 µs', slowest.toFixed(1), verdict(slowest <= 60)],
    ...Object.entries(spent).flatMap(denyCacheGoals),
  ];
}

function throughput(how, figures) {
  const [best] = peerNames.toSorted((a, b) => figures[b].perSecond - figures[a].perSecond);
  const times = figures.sluice.perSecond / figures[best].perSecond;
  return [
    `checks/s, ${how}, times the best peer ≥ 2.3×`,
    `${times.toFixed(2)}× (${contenders[best].label})`,
    verdict(times >= 2.3),
  ];
}

function denyCacheGoals([roundTrip, { sluice: direct, 'sluice-deny': cached }]) {
  const times = cached.perSecond / direct.perSecond;
  // In the same flood, a direct check takes one round trip.
  const waits = (cached.slow * 1000) / direct.latency;
  const where = `round trip + ${roundTrip} ms`;
  return [
    [`denyCache in a flood, times direct checks, ${where} ≥ 2×`, `${times.toFixed(1)}×`, verdict(times >= 2)],
    [
      `denyCache in a flood, share of the rate that is admitted, ${where}`,
      `${(100 * cached.share).toFixed(1)} %`,
      verdict(Math.abs(cached.share - 1) <= 0.02),
    ],
    [
      `denyCache in a flood, 99.9th percentile, ${where} ≤ 3 round trips`,
      waits.toFixed(1),
      verdict(waits <= 3),
    ],
  ];
}
