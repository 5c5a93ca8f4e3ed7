/** How a `Table` computes the fingerprints of keys, for modules that need fingerprints or their seed without a `Table`. */
export { fingerprint, high, low, randomSeed } from './table.ts';
