/** How much a key is asked for on this node: an average that fades, so that it follows the load. */
import type { Millis } from '../../engine/contract.ts';

/** Of a span that has hardly begun, at most three times what came is expected in all of it. */
const SEEN = 1 / 3;

/** The part of a span after which it is known that little is asked for. */
const WATCHED = 1 / 3;

export class Demand {
  /** Asked for since the last look, and before it. */
  arrived = 0;
  private earlier = 0;
  /** Units asked for in the last span, those before it fading; and how much of a span that is. */
  private seen = 0;
  private part = 0;
  private at: Millis;
  private readonly span: Millis;

  constructor(span: Millis, now: Millis) {
    this.span = span;
    this.at = now;
  }

  /** Whether so many units and more were asked for in the last span. */
  reaches(units: number, now: Millis): boolean {
    const spans = Math.max((now - this.at) / this.span, 1e-9);
    const faded = Math.exp(-spans);
    this.seen = this.seen * faded + (this.arrived * (1 - faded)) / spans;
    this.part = this.part * faded + 1 - faded;
    this.at = now;
    this.earlier += this.arrived;
    this.arrived = 0;
    return this.seen >= units;
  }

  /** All that was ever asked for. */
  get total(): number {
    return this.earlier + this.arrived;
  }

  /** Whether no more than so many units a span are asked for, and that is known. */
  staysBelow(units: number): boolean {
    return this.part >= WATCHED && this.seen <= units * this.part;
  }

  /** Expected within so much time, as far as was looked last. */
  within(time: Millis): number {
    return ((this.seen / Math.max(this.part, SEEN)) * time) / this.span;
  }
}
