/** The goals as rows: the target, the measured figure, and whether it was reached. */
import { contenders, peerNames } from './contenders.mjs';

const verdict = (isReached) => (isReached ? 'reached' : 'missed');
/** Extra microseconds for reading the server's clock, as Sluice does. */
const CLOCK = 1;

export function goals({ load, bytes, log, flood, spent }) {
  const { alone, many } = load.live;
  const [best] = peerNames.toSorted((a, b) => many[b].perSecond - many[a].perSecond);
  const ahead = many.sluice.perSecond / many[best].perSecond;
  const slower = alone.sluice.latency / alone.bare.latency;
  const three = {
    alone: alone['sluice-three'].server / alone.sluice.server,
    many: many['sluice-three'].server / many.sluice.server,
  };
  const worst = (figures) =>
    Math.max(...Object.values(load).map((workload) => workload[figures].sluice.server));
  const slowest = Math.max(log.room['sluice-log'].server, log.full['sluice-log'].server);
  const asked = Math.max(...Object.values(flood).map(({ asked, denials }) => asked / denials));

  return [
    [
      '≥ 3× the best peer at 256 in flight',
      `${ahead.toFixed(2)}× (${contenders[best].label})`,
      verdict(ahead >= 3),
    ],
    ['alone within 10 % of a bare EVALSHA', `${slower.toFixed(2)}×`, verdict(slower <= 1.1)],
    [
      `≤ 4 + ${CLOCK} µs of the server per single check`,
      `${alone.sluice.server.toFixed(1)}; ${worst('alone').toFixed(1)} at worst`,
      verdict(alone.sluice.server <= 4 + CLOCK),
    ],
    [
      `≤ 3 + ${CLOCK} µs of the server per batched check`,
      `${many.sluice.server.toFixed(1)}; ${worst('many').toFixed(1)} at worst`,
      verdict(many.sluice.server <= 3 + CLOCK),
    ],
    [
      '≤ 120 bytes a key',
      `${bytes.sluice.bytes.toFixed(0)}; ${bytes.sluice.held.toFixed(0)} of used_memory`,
      // The goal refers to used_memory, which includes the entry for the expiry.
      verdict(bytes.sluice.held <= 120),
    ],
    [
      'three policies ≤ 1.5× one, µs of the server',
      `${three.alone.toFixed(2)}× single, ${three.many.toFixed(2)}× batched`,
      verdict(Math.max(three.alone, three.many) <= 1.5),
    ],
    ['sliding log at 10,000 actions ≤ 60 µs', slowest.toFixed(1), verdict(slowest <= 60)],
    ['denyCache: the store denies ≤ once per retryAfter', asked.toFixed(2), verdict(asked <= 1)],
    ...Object.entries(spent).map(([roundTrip, { sluice: direct, 'sluice-deny': cached }]) => {
      const times = cached.perSecond / direct.perSecond;
      return [
        `denyCache: ≥ 2× direct checks in a flood, round trip + ${roundTrip} ms`,
        `${times.toFixed(1)}×; ${(100 * cached.share).toFixed(1)} % of the rate passed`,
        verdict(times >= 2 && Math.abs(cached.share - 1) <= 0.02),
      ];
    }),
  ];
}
