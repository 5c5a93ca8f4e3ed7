/**
 * The load on all nodes together. With `perSecond`, checks start at that rate, regardless of the answers. Otherwise, `inFlight`
 * checks run concurrently, and each is repeated as soon as it is answered. `span` is the duration in milliseconds.
 */

/** The burst, and the units replenished per second. */
const BURST = 10_000;
const RATE = 10_000;

const paced = { limits: { limit: RATE, per: '1s', burst: BURST }, isBounded: true, keys: 1 };
const hurried = { keys: 1, inFlight: 256, span: 400 };
/** Limits that never deny. */
const open = { ...hurried, limits: { limit: 1e8, per: '1s', burst: 1e9 }, isBounded: false };

export const phases = {
  // These phases are long, so that a node's first calls barely affect the result, and so that the rate, not the burst, determines
  // what passes.
  half: { ...paced, perSecond: RATE / 2, span: 4000 },
  // Leases hold back an eighth of the burst once, and nodes still hold units at the end. Together, these units are 4 % of what
  // can pass in 4 s, so this phase lasts longer.
  twice: { ...paced, perSecond: RATE * 2, span: 8000 },
  // Most checks are denied. The rate is lower, so that a denial lasts for a millisecond.
  flood: { ...hurried, limits: { limit: RATE / 10, per: '1s', burst: BURST }, isBounded: true },
  open,
  // These phases are long enough that most checks find a key that was checked before, and code that V8 has optimized.
  keys: { ...open, keys: 1000, span: 2000 },
  // Each check starts only after the previous one was answered.
  single: { ...open, keys: 1000, inFlight: 1, span: 2000 },
};
