/** Connects one key on this node to the store: sends requests for the key, and keeps the last answer. */
import type { Decision, Hit, MaybePromise, Millis, Plan, Store } from '../../engine/contract.ts';
import { chain, ignoreFailure } from '../../internal/maybe-promise.ts';
import { localDecision } from '../../engine/decision.ts';
import type { Lease } from './lease.ts';
import type { Terms } from './terms.ts';
import { ROUND_TRIP_WEIGHT } from './tuning.ts';

/** State that all keys of one wrapper share. */
export interface Node {
  readonly store: Store;
  readonly now: () => Millis;
  readonly random: () => number;
  /** Moving average of the time that the store takes to answer. */
  roundTrip: Millis;
}

export class KeyStore {
  /** The last answer of the store itself, not of the fallback. */
  private answer: Decision | undefined;
  private askedAt: Millis = 0;
  private readonly key: string;
  private readonly terms: Terms;
  private readonly node: Node;

  constructor(key: string, terms: Terms, node: Node) {
    this.key = key;
    this.terms = terms;
    this.node = node;
  }

  /** Units left according to the last answer. Undefined if the store has not answered yet. */
  get remaining(): number | undefined {
    return this.answer?.remaining;
  }

  /** Whether the store takes at least as long to answer as a lease may last while the limit is binding. */
  get isSlow(): boolean {
    return this.node.roundTrip >= this.terms.bindingDuration;
  }

  /** Sends a hit to the store, with the reduced plan. */
  ask(hit: Hit): MaybePromise<Decision> {
    const { node } = this;
    const { plan, longPlan } = this.terms;
    const askedAt = node.now();
    const isReduced = hit.plan === plan || hit.plan === longPlan;
    return chain(node.store.apply(isReduced ? hit : { ...hit, plan }), (decision) => {
      if (!isStoreAnswer(decision)) return decision;
      node.roundTrip += (node.now() - askedAt - node.roundTrip) * ROUND_TRIP_WEIGHT;
      this.answer = decision;
      this.askedAt = askedAt;
      return decision;
    });
  }

  /**
   * Requests a batch of units. Resolves with undefined if the fallback answered instead of the store, because a fallback does not
   * grant leases.
   */
  async debit(units: number, plan: Plan): Promise<Decision | undefined> {
    const hit: Hit = {
      verb: 'take',
      plan,
      key: this.key,
      cost: units,
      mode: 'partial',
      span: 0,
      isLease: true,
    };
    const decision = await this.ask(hit);
    if (isStoreAnswer(decision)) return decision;
    const { taken } = decision;
    if (taken > 0)
      ignoreFailure(() => this.ask({ ...hit, verb: 'refund', cost: taken, mode: 'whole', of: decision }));
    return undefined;
  }

  /**
   * Returns the remaining units of a lease to the store, but at most as many as the terms allow. The refund is sent only once,
   * because the store may have applied it even if its reply is lost.
   */
  async giveBack(lease: Lease, now: Millis): Promise<void> {
    if (lease.left === 0) return;
    const cost = this.terms.returnable(lease, now);
    lease.left = 0;
    if (cost === 0) return;
    const { plan } = this.terms;
    const { outerEnd } = lease;
    // `of` says that the units came from the store's row, or from a lease that the store itself holds, and not from the fallback.
    const of =
      outerEnd === undefined ? ({ source: 'store' } as const) : ({ source: 'lease', at: outerEnd } as const);
    const hit: Hit = { verb: 'refund', plan, key: this.key, cost, mode: 'whole', span: 0, of, isLease: true };
    try {
      await this.node.store.apply(hit);
    } catch {
      // At worst, these units are lost until the store has replenished them.
    }
  }

  /**
   * A decision that the node makes itself. `units` is the number of units that it holds. `denyUntil` is undefined if the hit is
   * allowed.
   */
  decision(taken: number, units: number, now: Millis, denyUntil?: Millis): Decision {
    const answer = this.answer as Decision;
    const age = now - this.askedAt;
    const isAllowed = denyUntil === undefined;
    const wait = isAllowed ? 0 : Math.max(denyUntil - now, answer.retryAfter - age);
    return localDecision(answer, isAllowed, taken, units, age, wait, isAllowed ? undefined : 0);
  }
}

/** Whether the store made the decision, possibly with a lease that it holds itself. A fallback does not grant leases. */
function isStoreAnswer({ source }: Decision): boolean {
  return source === 'store' || source === 'lease';
}
