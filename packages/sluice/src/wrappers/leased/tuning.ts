/**
 * Every number that leases are tuned by. "Decision 20" is docs/decisions/0020-strict-leases.md. The limit holds because of
 * the first group; the other groups only decide how many calls a node makes and how much it holds.
 */
import type { Millis } from '../../engine/contract.ts';

// What the proof depends on.

/** Longest lease τ, as a fraction of a policy's window. A bucket keeps r·τ/2 back, so at most an eighth of its burst (decision 20, "How long"). */
export const MAX_DURATION: number = 1 / 4;
/** Longest lease while the limit is binding, as a fraction of the window; for a log this is σ. The algorithm may set its own (decision 20, "How long" and "Logs"). */
export const MAX_BINDING_DURATION: number = 1 / 10;
/** Fraction of an announced duration that a node relies on: clocks run alike to one part in a thousand (decision 20, "Consequences"). */
export const CLOCK_ACCURACY = 0.999;
/** Milliseconds that a return is assumed to need to reach the store (decision 20, "Returned units" and "Consequences"). */
export const MAX_RETURN_DELAY: Millis = 1000;

// Whether leases pay (decision 20, "When a node leases").

/** Milliseconds. A shorter lease would end before it is used. */
export const MIN_DURATION: Millis = 20;
/** Units of the smallest limit per node. With fewer, batches are too small to save calls. */
export const MIN_UNITS_PER_NODE = 20;
/** Hits of one cost within τ. A key with fewer costs more calls with leases than without. */
export const MIN_HITS = 3;

// How many units a node asks for (decision 20, "How many units").

/** Units. A batch is at least this large, however small a node's share of what is left. */
export const MIN_BATCH = 10;
/** Minimum batch of a log, in even shares of a node: at twice the load, two nodes in three get one. */
export const MIN_LOG_SHARES = 1.5;
/** A node asks for at most what is left divided by this, so that half stays for others. */
export const REMAINING_DIVISOR = 2;
/** Fraction of the expected demand that a batch covers while the limit is binding: the batch is used up before it expires. */
export const BINDING_FILL = 0.8;
/**
 * Fraction of the expected demand that a batch covers while the limit is not binding, for windows and logs. It is above 1,
 * because a window renews unused units, and a second store call for a log costs more than unused units do.
 */
export const RENEWED_FILL = 1.1;
/** Fraction of the expected demand that a batch covers for a window with other policies, where unused units are missing until the window ends. */
export const WINDOW_FILL = 0.8;
/** Fraction of the expected demand that a batch covers for buckets, whose unused units fade while the bucket replenishes them. */
export const BUCKET_FILL = 0.9;
/** Times the cost of the hit that a node fetches a batch for: some of it fades before it arrives. */
export const COST_MARGIN = 1.25;
/** Leases per window from which on units lost with a process are missed for long (decision 20, "Consequences"). */
export const LONG_WINDOW = 12;
/** Where a window is that long, a batch is at most this fraction of all units the key was ever asked for on this node (decision 20, "Consequences"). */
export const MAX_BATCH_OF_DEMAND: number = 1 / 4;

// Whether the limit is binding (decision 20, "How long").

/** Fraction of the limit. While more than this is left, the limit is not binding. */
export const PLENTY: number = 1 / 8;
/** Fraction of a log's rate. Up to this demand its leases last τ, although the store remembers their entries for longer. */
export const LIGHT_LOG_LOAD: number = 2 / 3;

// When a node asks, and what it returns (decision 20, "When a node asks").

/** Round trips. The next batch is fetched when the units left last for fewer. */
export const FETCH_AHEAD = 3;
/** An exhausted key asks again when the store announced, but not before this many durations of a binding lease. */
export const MIN_ASK_AGAIN = 0.4;
/** An exhausted key asks again after at most this many durations of a binding lease, because another node may return units early. */
export const MAX_ASK_AGAIN = 3.2;
/** Random fraction added to both, so that nodes do not ask together. */
export const ASK_AGAIN_JITTER: number = 1 / 2;
/** Batches that a hit waits for while others are served first or units fade on their way. Then the store decides it. */
export const MAX_WAITS = 4;
/** Fraction of a batch. If less is left when the lease ends, returning it is not worth a call. */
export const MIN_RETURN: number = 1 / 8;
/** Weight of the latest round trip in the average. */
export const ROUND_TRIP_WEIGHT: number = 1 / 8;

// How demand is estimated, in fractions of τ (decision 20, "How many units").

/** Early estimates divide by at least this, so that the first hits are multiplied by at most three. */
export const MIN_OBSERVED: number = 1 / 3;
/** Observation after which a node relies on the demand being light. */
export const MIN_OBSERVED_LIGHT: number = 1 / 3;
