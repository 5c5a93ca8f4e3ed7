/**
 * Circuit breakers. There is one per store, or one per node of a cluster. A breaker opens after several consecutive failures. While
 * it is open, no hits are sent, and probes find out when the store is back.
 */
import { systemClock } from '../../internal/clock.ts';
import type { Hit, Millis } from '../../engine/contract.ts';
import type { StoreFault } from '../../internal/errors.ts';

/**
 * An event of a circuit breaker. With `open`, the breaker opened, and no hits are sent to the store until a probe succeeds. With
 * `close`, the breaker closed after `openFor` milliseconds. On a cluster, `node` is the address of the node concerned, if the
 * client reports it.
 */
export type BreakerEvent =
  | {
      readonly type: 'open';
      readonly fault: StoreFault;
      readonly error: unknown;
      readonly node?: string | undefined;
    }
  | { readonly type: 'close'; readonly openFor: Millis; readonly node?: string | undefined };

/**
 * Number of consecutive failures that open the breaker. With the default deadline of 200 ms, hits that are sent one after another
 * open it within 800 ms.
 */
const FAILURES_TO_OPEN = 4;
/**
 * Failures of hits that were in flight together count once within this many milliseconds, because they may have the same cause.
 */
const SAME_CAUSE_WITHIN: Millis = 10;
/** Milliseconds between probes of an open breaker, and therefore until a denied caller may try again. */
export const PROBE_EVERY: Millis = 100;
/** If the last probe is older than this, in milliseconds, the state of the store is unknown, and hits wait for the next probe. */
const STALE_AFTER: Millis = 1000;
/** Maximum number of breakers for the nodes of a cluster. Beyond this, the oldest one is dropped. */
const MAX_NODES = 1000;

export class Breaker {
  readonly node: string | undefined;
  /** When the breaker opened, or 0 while it is closed. */
  openedAt: Millis = 0;
  /** The probe that hits wait for, if the previous probe was too long ago. */
  awaitedProbe: Promise<void> | undefined;
  #failures = 0;
  /** When a failure was last counted. */
  #countedAt: Millis = -Infinity;
  /** Number of the last hit that had been sent when a failure was last counted. */
  #countedTo = 0;
  /** Number of probes in flight. */
  #probing = 0;
  #probedAt: Millis = 0;

  constructor(node: string | undefined) {
    this.node = node;
  }

  /** Records a success. Returns how long the breaker was open if this success closes it. */
  succeeded(): Millis | undefined {
    this.#failures = 0;
    if (this.openedAt === 0) return undefined;
    const openFor = systemClock.now() - this.openedAt;
    this.openedAt = 0;
    return openFor;
  }

  /**
   * Records a failure. `hit` is the number of the hit that failed, and `latest` the number of the last hit sent. Returns true if
   * this failure opens the breaker.
   */
  failed(hit: number, latest: number): boolean {
    if (this.openedAt > 0) return false;
    const now = systemClock.now();
    if (hit <= this.#countedTo && now < this.#countedAt + SAME_CAUSE_WITHIN) return false;
    this.#countedAt = now;
    this.#countedTo = latest;
    if (++this.#failures < FAILURES_TO_OPEN) return false;
    this.openedAt = this.#probedAt = now;
    return true;
  }

  /** Calls `ask` to send a probe, if one is due. The promise that `ask` returns must not reject. */
  probe(ask: () => Promise<unknown>): void {
    const now = systemClock.now();
    if (now < this.#probedAt + PROBE_EVERY) return;
    const isStale = this.#probing === 0 && now >= this.#probedAt + STALE_AFTER;
    this.#probedAt = now;
    this.#probing++;
    const probe = ask().then(() => {
      this.#probing--;
      if (this.awaitedProbe === probe) this.awaitedProbe = undefined;
    });
    if (isStale) this.awaitedProbe = probe;
  }
}

/** Returns a function that finds the breaker for a hit. `nodeOf` returns the cluster node that serves a hit, if it is known. */
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
      if (nodes.size < MAX_NODES) break;
      nodes.delete(oldest);
    }
    const breaker = new Breaker(node);
    nodes.set(node, breaker);
    return breaker;
  };
}
