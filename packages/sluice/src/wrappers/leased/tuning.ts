/**
 * Every constant that tunes leases. "Decision 20" is docs/decisions/0020-strict-leases.md. The first group of constants ensures
 * that the limit holds. The other groups only decide how many calls a node makes and how many units it holds.
 */
import type { Millis } from '../../engine/contract.ts';

// Constants on which the proof depends.

/**
 * Longest lease τ, as a fraction of a policy's window. A bucket with the rate r keeps r·τ/2 back, which is at most an eighth of its
 * burst (decision 20, "How long").
 */
export const MAX_DURATION: number = 1 / 4;
/**
 * Longest lease while the limit is binding, as a fraction of the window. For a sliding log, this is σ. An algorithm may set its own
 * value (decision 20, "How long" and "Logs").
 */
export const MAX_BINDING_DURATION: number = 1 / 10;
/**
 * Fraction of an announced duration that a node relies on. The clocks of two machines may differ in rate by one part in a
 * thousand (decision 20, "Consequences").
 */
export const CLOCK_ACCURACY = 0.999;
/**
 * The longest time, in milliseconds, that returned units are assumed to need to reach the store (decision 20, "Returned units" and
 * "Consequences").
 */
export const MAX_RETURN_DELAY: Millis = 1000;

// Constants that decide whether leases are worthwhile (decision 20, "When a node leases").

/** Minimum duration of a lease, in milliseconds. A shorter lease would end before it is used. */
export const MIN_DURATION: Millis = 20;
/** Minimum number of units per node. With a lower limit, batches are too small to save calls. */
export const MIN_UNITS_PER_NODE = 20;
/** Minimum number of hits within τ, all of the same cost. A key with fewer hits needs more calls with leases than without. */
export const MIN_HITS = 3;
/**
 * Minimum number of requests for leases within τ, all of the same size, from nodes that lease from this node (decision 46). If
 * there are fewer requests, each of them is sent to the store.
 */
export const MIN_LOANS = 1.5;

// Constants that decide how many units a node requests (decision 20, "How many units").

/** A node may request this many units, however few units are left. */
export const MIN_BATCH = 10;
/**
 * A node may request this multiple of its even share of the units that a sliding log replenishes, however few units are left. If
 * the load is twice what the limit admits, two nodes in three get such a batch.
 */
export const MIN_LOG_SHARES = 1.5;
/** A node requests at most the remaining units divided by this number, so that half of them stay for other nodes. */
export const REMAINING_DIVISOR = 2;
/**
 * Fraction of the expected demand that a batch covers while the limit is binding. It is below 1, so that the batch is used up
 * before it expires.
 */
export const BINDING_FILL = 0.8;
/**
 * Fraction of the expected demand that a batch covers while the limit is not binding, for windows and sliding logs. It is above 1,
 * because unused units of a window become part of the next lease, and because for a sliding log, a second call to the store costs
 * more than unused units do.
 */
export const RENEWED_FILL = 1.1;
/**
 * Fraction of the expected demand that a batch covers if a window is combined with other policies. Unused units are then missing
 * until the window ends.
 */
export const WINDOW_FILL = 0.8;
/** Fraction of the expected demand that a batch covers for buckets, whose unused units fade while the bucket replenishes them. */
export const BUCKET_FILL = 0.9;
/**
 * Minimum size of a batch as a multiple of the cost of the hit that waits for it, because some units of the batch fade before the
 * batch arrives.
 */
export const COST_MARGIN = 1.25;
/**
 * A window is considered long if it lasts for at least this many leases. In a long window, units that are lost with a process are
 * missing for a long time (decision 20, "Consequences").
 */
export const LONG_WINDOW = 12;
/**
 * In a long window, a batch is at most this fraction of all units that were ever requested for the key on this node (decision 20,
 * "Consequences").
 */
export const MAX_BATCH_OF_DEMAND: number = 1 / 4;

// Constants that decide whether the limit is binding (decision 20, "How long").

/** Fraction of the limit. While more than this fraction is left, the limit is not binding. */
export const PLENTY: number = 1 / 8;
/**
 * Fraction of a sliding log's rate. While the demand is at most this fraction, leases of a sliding log last τ, although the store
 * must then remember their entries for longer.
 */
export const LIGHT_LOG_LOAD: number = 2 / 3;

// Constants that decide when a node requests units, and which units it returns (decision 20, "When a node calls the store").

/** The next batch is fetched when the remaining units last for fewer round trips than this. */
export const FETCH_AHEAD = 3;
/**
 * For an exhausted key, the node calls the store again at the time that the store announced, but waits for at least this many
 * durations of a binding lease.
 */
export const MIN_ASK_AGAIN = 0.4;
/**
 * For an exhausted key, the node calls the store again after at most this many durations of a binding lease, because another node
 * may return units early.
 */
export const MAX_ASK_AGAIN = 3.2;
/**
 * MIN_ASK_AGAIN and MAX_ASK_AGAIN are raised by a random fraction of up to this value, so that nodes do not call the store at the
 * same time.
 */
export const ASK_AGAIN_JITTER: number = 1 / 2;
/**
 * Maximum number of batches that a hit waits for, while other hits are served first or units fade in transit. After that, the hit
 * is sent to the store.
 */
export const MAX_WAITS = 4;
/** Fraction of a batch. If less than this is left when the lease ends, returning the rest is not worth a call. */
export const MIN_RETURN: number = 1 / 8;
/** Weight of the latest round trip in the average. */
export const ROUND_TRIP_WEIGHT: number = 1 / 8;

// Constants of the demand estimate, in fractions of τ (decision 20, "How many units").

/** Early estimates are divided by at least this fraction, so that an estimate is at most three times the observed demand. */
export const MIN_OBSERVED: number = 1 / 3;
/** Time for which a node must have observed a key before it may treat the demand as light. */
export const MIN_OBSERVED_LIGHT: number = 1 / 3;
