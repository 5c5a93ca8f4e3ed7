/**
 * What nodes are asked, all of them together. `perSecond`: so often, whatever the answers; else `inFlight` at once, each
 * again as soon as it was answered. `span` in milliseconds.
 */

/** The most that passes at once, and what comes back in a second. */
const BURST = 10_000;
const RATE = 10_000;

const paced = { limits: { limit: RATE, per: '1s', burst: BURST }, isBounded: true, keys: 1 };
const hurried = { keys: 1, inFlight: 256, span: 400 };
/** Never denies. */
const open = { ...hurried, limits: { limit: 1e8, per: '1s', burst: 1e9 }, isBounded: false };

export const phases = {
  // Long enough for a node's first calls not to count for much, for the burst to be spent, and then for the rate to count.
  half: { ...paced, perSecond: RATE / 2, span: 4000 },
  twice: { ...paced, perSecond: RATE * 2, span: 4000 },
  // Mostly denied; slower, so that a denial lasts for a millisecond.
  flood: { ...hurried, limits: { limit: RATE / 10, per: '1s', burst: BURST }, isBounded: true },
  open,
  keys: { ...open, keys: 1000 },
  // In one process: each check waits for the one before.
  single: { ...open, keys: 1000, inFlight: 1 },
};
