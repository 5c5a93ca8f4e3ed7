/**
 * A queue of hits of one key, for a store that takes longer to answer than a lease lasts. Waiting hits are sent to the store
 * together, as one hit, and one request at a time. With a request per hit, a slow store would never catch up. Every hit in a
 * request arrived before the request was sent, so the answer is as valid as an answer to that hit alone.
 */
import type { Decision, MaybePromise, PlainHit } from '../../engine/contract.ts';
import { partOfDecision } from '../../engine/decision.ts';

interface Waiter {
  readonly hit: PlainHit;
  readonly resolve: (decision: MaybePromise<Decision>) => void;
  readonly reject: (error: unknown) => void;
}

export class SlowStoreQueue {
  private readonly waiters: Waiter[] = [];
  private isAsking = false;
  private readonly ask: (hit: PlainHit) => MaybePromise<Decision>;
  private readonly deny: (answer: Decision) => Decision;

  /** `deny` makes the decision for a hit that gets no units, because the store granted too few. */
  constructor(ask: (hit: PlainHit) => MaybePromise<Decision>, deny: (answer: Decision) => Decision) {
    this.ask = ask;
    this.deny = deny;
  }

  join(hit: PlainHit): Promise<Decision> {
    return new Promise((resolve, reject) => {
      this.waiters.push({ hit, resolve, reject });
      if (!this.isAsking) void this.askUntilEmpty();
    });
  }

  private async askUntilEmpty(): Promise<void> {
    this.isAsking = true;
    while (this.waiters.length > 0) {
      const group = this.waiters.splice(0);
      const cost = group.reduce((sum, { hit }) => sum + hit.cost, 0);
      try {
        await this.serve(group, await this.ask({ ...group[0].hit, cost, mode: 'partial' }));
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
    this.isAsking = false;
  }

  /**
   * Distributes an answer among the hits, first come, first served. If the fallback answered instead of the store, each hit is
   * sent separately.
   */
  private async serve(group: readonly Waiter[], answer: Decision): Promise<void> {
    let left = answer.taken;
    for (const { hit, resolve } of group) {
      if (answer.source !== 'store') resolve(this.ask(hit));
      else if (hit.cost <= left) {
        left -= hit.cost;
        resolve(partOfDecision(answer, hit.cost));
      } else resolve(this.deny(answer));
    }
    if (answer.source === 'store' && left > 0)
      await this.ask({ ...group[0].hit, verb: 'refund', cost: left, of: answer });
  }
}
