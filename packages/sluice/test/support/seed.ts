/**
 * Property tests use the same seed in each run, so that a new failure is caused by a change of the code. Set SEED=7 to try other
 * values.
 */
import fc from 'fast-check';

fc.configureGlobal({ seed: Number(process.env['SEED'] ?? 1) });
