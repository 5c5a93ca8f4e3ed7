/** The fingerprints of tables, for stores that keep their rows elsewhere. */
export { fingerprint, high, low, randomSeed } from './table.ts';
