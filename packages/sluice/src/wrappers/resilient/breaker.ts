/**
 * Circuit breakers. One stands before a store, or before each node of a cluster, and counts failures in a row. Once it is
 * open, hits are not sent; a probe finds out when the store is back.
 */
import { systemClock } from '../../internal/clock.ts';
import type { Hit, Millis } from '../../engine/contract.ts';
import type { StoreFault } from '../../internal/errors.ts';

/**
 * The breaker opened, so the store is not asked for a while, or it closed. `openFor`: how long it was open.
 * `node`: on a cluster, the address of the node that this is about, if the client tells it.
 */
export type BreakerEvent =
  | {
      readonly type: 'open';
      readonly fault: StoreFault;
      readonly error: unknown;
      readonly node?: string | undefined;
    }
  | { readonly type: 'close'; readonly openFor: Millis; readonly node?: string | undefined };

/** Failures in a row that open the breaker. With a deadline of 50 ms it then opens within 200 ms, although each turn counts once. */
const FAILURES = 4;
/** Failures of hits that were under way together count once in this time: they may all have the same cause. */
const TOGETHER: Millis = 10;
/** How often an open breaker is probed, and so after which time a caller may try again. */
export const PROBE_EVERY: Millis = 100;
/** If the last probe is older than this, nobody knows how the store is: hits wait for the next probe. */
const STALE: Millis = 1000;
/** Nodes remembered; beyond this, the one that was added first is forgotten. */
const MOST_NODES = 1000;

export class Breaker {
  readonly node: string | undefined;
  /** When it opened; 0: it is closed. */
  openedAt: Millis = 0;
  /** The probe that hits wait for. */
  trial: Promise<void> | undefined;
  #failures = 0;
  /** The last failure that counted: when it was, and the number of the latest hit by then. */
  #countedAt: Millis = -Infinity;
  #countedTo = 0;
  #probing = 0;
  #probedAt: Millis = 0;

  constructor(node: string | undefined) {
    this.node = node;
  }

  /** Returns for how long it was open, if this closed it. */
  succeeded(): Millis | undefined {
    this.#failures = 0;
    if (this.openedAt === 0) return undefined;
    const openFor = systemClock.now() - this.openedAt;
    this.openedAt = 0;
    return openFor;
  }

  /** `hit`: the number of the hit that failed; `latest`: that of the last one sent. Returns true if this opened it. */
  failed(hit: number, latest: number): boolean {
    if (this.openedAt > 0) return false;
    const now = systemClock.now();
    if (hit <= this.#countedTo && now < this.#countedAt + TOGETHER) return false;
    this.#countedAt = now;
    this.#countedTo = latest;
    if (++this.#failures < FAILURES) return false;
    this.openedAt = this.#probedAt = now;
    return true;
  }

  /** Sends a probe with `ask` if one is due. It must not reject. */
  probe(ask: () => Promise<unknown>): void {
    const now = systemClock.now();
    if (now < this.#probedAt + PROBE_EVERY) return;
    const isStale = this.#probing === 0 && now >= this.#probedAt + STALE;
    this.#probedAt = now;
    this.#probing++;
    const probe = ask().then(() => {
      this.#probing--;
      if (this.trial === probe) this.trial = undefined;
    });
    if (isStale) this.trial = probe;
  }
}

/** The breaker for a hit. `nodeOf`: which node of a cluster a hit is for; undefined: not known. */
export function breakersBy(nodeOf: ((hit: Hit) => string | undefined) | undefined): (hit: Hit) => Breaker {
  const common = new Breaker(undefined);
  if (nodeOf === undefined) return () => common;
  const nodes = new Map<string, Breaker>();
  return (hit) => {
    const node = nodeOf(hit);
    if (node === undefined) return common;
    const known = nodes.get(node);
    if (known !== undefined) return known;
    for (const oldest of nodes.keys()) {
      if (nodes.size < MOST_NODES) break;
      nodes.delete(oldest);
    }
    const breaker = new Breaker(node);
    nodes.set(node, breaker);
    return breaker;
  };
}
