/**
 * Keeps the counts of the last hour, so that the Live page can show the past. A timer reads the counters that the metrics keep
 * anyway, so a decision costs nothing extra. Memory is bounded: at most `maxLimits` limits have a ring of counts of their own.
 */
import type { Millis } from 'sluice';
import type { Counts, Metrics } from './metrics.ts';

export interface HistoryOptions {
  readonly metrics: Pick<Metrics, 'totals'>;
  /** Duration that each element of a ring covers. Default 10 s. */
  readonly every?: Millis | undefined;
  /** Number of elements of each ring. Default 360, which is one hour. */
  readonly length?: number | undefined;
  /** Maximum number of limits that have a ring. Default 50, which is 220 kB. */
  readonly maxLimits?: number | undefined;
}

/** Counts of consecutive periods, oldest first. */
interface Series {
  readonly allowed: readonly number[];
  readonly denied: readonly number[];
  /** Takes that would have been denied without shadow mode. */
  readonly shadowed: readonly number[];
}

/** The data of the `history` event of /live. */
export interface Past {
  /** When the last period ended, in epoch milliseconds. */
  readonly at: Millis;
  /** Duration of each period except the last one. */
  readonly every: Millis;
  /** Duration of the last period, which is not over yet. */
  readonly span: Millis;
  /** Counts of all limits together, including those that have no ring. */
  readonly all: Series;
  /** Counts of each limit that has a ring. */
  readonly limits: readonly ({ readonly name: string } & Series)[];
}

export interface History {
  /** Returns the last hour, up to the given totals. */
  past(limits: ReadonlyMap<string, Readonly<Counts>>): Past;
  /** Size of the rings in bytes. */
  bytes(): number;
  /** Stops the timer. */
  close(): void;
}

const OUTCOMES = ['allowed', 'denied', 'shadowed'] as const;

/** Numbers of requests by outcome. */
type Outcomes = Record<(typeof OUTCOMES)[number], number>;

/** Requests of each period by outcome. The element at `allowed[n % length]` belongs to period n. */
type Ring = Readonly<Record<keyof Outcomes, Uint32Array>>;

/** A limit that the metrics know. There are at most as many of these objects as there are limits in the metrics. */
interface Known {
  /** Totals at the end of the last complete period. */
  totals: Readonly<Outcomes>;
  /** Number of requests, in which recent periods count more. It decides which limits have a ring. */
  score: number;
  ring: Ring | undefined;
}

const NONE: Readonly<Outcomes> = { allowed: 0, denied: 0, shadowed: 0 };
const NOTHING: Readonly<Known> = { totals: NONE, score: 0, ring: undefined };

/** What a limit has counted since the last reading. */
interface Growth {
  readonly known: Known;
  readonly more: Readonly<Outcomes>;
}

/** Factor by which a score shrinks in each period. The requests of a period count half after about ten minutes. */
const DECAY = 0.99;
/** A limit without a ring gets the ring of another one only if its score is this many times higher. */
const LEAD = 2;

export function createHistory(options: HistoryOptions): History {
  const { metrics, every = 10_000, length = 360, maxLimits = 50 } = options;
  const start = performance.now();
  const all = createRing(length);
  /** Stands for the ring of a limit whose first requests are in the current period. */
  const empty = createRing(length);
  const limits = new Map<string, Known>();
  let tracked: (Known & { ring: Ring })[] = [];
  /** Number of complete periods. */
  let periods = 0;

  /** Ends the current period. */
  function record(): void {
    const now = Math.round((performance.now() - start) / every);
    // If the timer is too early, the next reading includes these counts.
    if (now <= periods) return;
    // If the timer is late, the skipped periods stay empty, and their requests count in the last one.
    for (let period = Math.max(periods, now - length); period < now; period++)
      for (const ring of [all, ...tracked.map((one) => one.ring)])
        for (const outcome of OUTCOMES) ring[outcome][period % length] = 0;
    periods = now;
    const grown: Growth[] = [];
    for (const [name, counts] of metrics.totals().limits) {
      const known = limits.get(name) ?? { ...NOTHING };
      limits.set(name, known);
      const more = growthOf(known, counts);
      known.totals = { allowed: counts.allowed, denied: counts.denied, shadowed: counts.shadowed };
      known.score = known.score * DECAY + sumOf(more);
      if (sumOf(more) > 0) grown.push({ known, more });
    }
    assignRings(grown);
    for (const { known, more } of grown)
      for (const ring of known.ring === undefined ? [all] : [all, known.ring])
        for (const outcome of OUTCOMES) ring[outcome][(now - 1) % length] += more[outcome];
  }

  /** Gives rings to the busiest limits that have none. */
  function assignRings(grown: readonly Growth[]): void {
    const waiting = grown.map(({ known }) => known).filter(({ ring }) => ring === undefined);
    for (const known of waiting.sort((a, b) => b.score - a.score)) {
      if (tracked.length >= maxLimits) {
        const weakest = tracked.reduce((least, one) => (one.score < least.score ? one : least));
        if (known.score <= LEAD * weakest.score) return;
        tracked = tracked.filter((one) => one !== weakest);
        (weakest as Known).ring = undefined;
      }
      tracked.push(Object.assign(known, { ring: createRing(length) }));
    }
  }

  /** The counts of a ring in order, followed by the counts of the current period. */
  function seriesOf(ring: Ring, more: Readonly<Outcomes>): Series {
    const count = Math.min(periods, length);
    const order = Array.from({ length: count }, (_, i) => (periods - count + i) % length);
    const part = (outcome: keyof Outcomes) => [...order.map((at) => ring[outcome][at]), more[outcome]];
    return { allowed: part('allowed'), denied: part('denied'), shadowed: part('shadowed') };
  }

  const timer = setInterval(record, every).unref();

  return {
    past(totals) {
      const sum = { ...NONE };
      const own: Past['limits'][number][] = [];
      for (const [name, counts] of totals) {
        const known = limits.get(name) ?? NOTHING;
        const more = growthOf(known, counts);
        for (const outcome of OUTCOMES) sum[outcome] += more[outcome];
        const ring = known.ring ?? (sumOf(more) > 0 ? empty : undefined);
        if (ring !== undefined && own.length < maxLimits) own.push({ name, ...seriesOf(ring, more) });
      }
      const span = Math.max(1, Math.round(performance.now() - start - periods * every));
      return { at: Date.now(), every, span, all: seriesOf(all, sum), limits: own };
    },
    bytes: () => (1 + tracked.length) * OUTCOMES.length * length * Uint32Array.BYTES_PER_ELEMENT,
    close: () => clearInterval(timer),
  };
}

function createRing(length: number): Ring {
  const counts = (): Uint32Array => new Uint32Array(length);
  return { allowed: counts(), denied: counts(), shadowed: counts() };
}

function growthOf({ totals }: Readonly<Known>, counts: Readonly<Counts>): Outcomes {
  return {
    allowed: counts.allowed - totals.allowed,
    denied: counts.denied - totals.denied,
    shadowed: counts.shadowed - totals.shadowed,
  };
}

function sumOf({ allowed, denied, shadowed }: Readonly<Outcomes>): number {
  return allowed + denied + shadowed;
}
