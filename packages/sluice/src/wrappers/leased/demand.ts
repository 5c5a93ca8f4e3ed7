/** Estimates the demand for a key on this node with an average that follows the load, because older hits count less. */
import type { Millis } from '../../engine/contract.ts';
import { MIN_OBSERVED, MIN_OBSERVED_LIGHT } from './tuning.ts';

export class Demand {
  /** Units requested since the last update. */
  arrived = 0;
  /** Units requested before the last update. */
  private earlier = 0;
  /** Units requested within τ, as a decaying average. */
  private average = 0;
  /** Fraction of τ that the average has observed, from 0 to 1. */
  private observed = 0;
  private updatedAt: Millis;
  private readonly duration: Millis;

  /** `duration` is the duration of a lease, τ. */
  constructor(duration: Millis, now: Millis) {
    this.duration = duration;
    this.updatedAt = now;
  }

  /** Updates the estimate. Returns whether at least this many units were requested within τ. */
  reaches(units: number, now: Millis): boolean {
    const durations = Math.max((now - this.updatedAt) / this.duration, 1e-9);
    const decay = Math.exp(-durations);
    this.average = this.average * decay + (this.arrived * (1 - decay)) / durations;
    this.observed = this.observed * decay + 1 - decay;
    this.updatedAt = now;
    this.earlier += this.arrived;
    this.arrived = 0;
    return this.average >= units;
  }

  /** All units that were ever requested. */
  get total(): number {
    return this.earlier + this.arrived;
  }

  /** Whether at most this many units are requested within τ. False until the node has observed the key for long enough. */
  staysBelow(units: number): boolean {
    return this.observed >= MIN_OBSERVED_LIGHT && this.average <= units * this.observed;
  }

  /** Units expected within a duration, according to the last estimate. */
  within(time: Millis): number {
    return ((this.average / Math.max(this.observed, MIN_OBSERVED)) * time) / this.duration;
  }
}
