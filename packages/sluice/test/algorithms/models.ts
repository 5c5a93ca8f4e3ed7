/** Slow, simple and exact models of the algorithms. */

export interface Model {
  /** The exact number of units that can be taken. */
  available(now: number): number;
  take(now: number, cost: number): void;
}

/** Computes with integers. Time is in ticks of 1/limit ms, so that the interval is a whole number of ticks. */
export function gcraModel(limit: number, per: number, burst: number): Model {
  const [ticks, interval] = [BigInt(limit), BigInt(per)];
  let tat = 0n;
  const ahead = (now: number) => (tat > BigInt(now) * ticks ? tat - BigInt(now) * ticks : 0n);
  return {
    available: (now) => Number((BigInt(burst) * interval - ahead(now)) / interval),
    take(now, cost) {
      tat = BigInt(now) * ticks + ahead(now) + BigInt(cost) * interval;
    },
  };
}

/** Empties the bucket one drip at a time. */
export function leakyBucketModel(options: { size: number; dripSize: number; dripRate: number }): Model {
  let [level, drip] = [0, 0];
  return {
    available(now) {
      for (; level > 0 && drip <= now; drip += options.dripRate)
        level = Math.max(0, level - options.dripSize);
      return options.size - level;
    },
    take(now, cost) {
      if (level === 0) drip = now + options.dripRate;
      level += cost;
    },
  };
}

/** Keeps a list of all actions. */
export function slidingLogModel(limit: number, per: number): Model {
  const log: { at: number; units: number }[] = [];
  return {
    available: (now) =>
      limit - log.filter(({ at }) => at + per > now).reduce((sum, { units }) => sum + units, 0),
    take: (at, units) => void log.push({ at, units }),
  };
}

/** Keeps a count per window. */
export function fixedWindowModel(limit: number, per: number): Model {
  const counts = new Map<number, number>();
  const count = (now: number) => counts.get(Math.floor(now / per)) ?? 0;
  return {
    available: (now) => limit - count(now),
    take: (now, cost) => void counts.set(Math.floor(now / per), count(now) + cost),
  };
}

/** Weights two counts with exact fractions. */
export function slidingWindowModel(limit: number, per: number): Model {
  const counts = new Map<number, number>();
  const count = (index: number) => counts.get(index) ?? 0;
  return {
    // Computes with integers, in units of 1/per, and rounds down only at the end.
    available(now) {
      const index = Math.floor(now / per);
      const left = limit * per - count(index - 1) * (per - (now - index * per)) - count(index) * per;
      return Math.floor(left / per);
    },
    take: (now, cost) => void counts.set(Math.floor(now / per), count(Math.floor(now / per)) + cost),
  };
}
