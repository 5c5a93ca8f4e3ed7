export { type Claim, conformance } from './conformance.ts';
export { type ManualClock, manualClock } from './manual-clock.ts';
