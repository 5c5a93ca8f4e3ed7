/** Helpers for tests: a clock that you control, and the claims that every store must meet. */
export { type Claim, conformance } from './conformance.ts';
export { type ManualClock, manualClock } from './manual-clock.ts';
