/**
 * What one node holds of one key, and what it does with a hit:
 *
 *   leased     enough left of a live lot: spend it, here and now. Nearly used up: fetch the next one ahead
 *   dry        the store had nothing left for us: deny until it is time to ask again
 *   cold       too few hits for a lease to pay: ask the store for this one
 *   far        a lot would be over when it arrives: those who wait go to the store together, as one hit
 *   otherwise  fetch a lot; those who come meanwhile wait for the same one
 *
 * The clock is read at each spend. No timer keeps a lot from being spent late, so a stalled event loop cannot either.
 */
import type { Decision, Hit, MaybePromise, Millis, PolicyState, Store } from '../contract.ts';
import type { Lot, Terms } from './lease-terms.ts';

/** What the keys of one wrapper share. */
export interface Node {
  readonly store: Store;
  readonly now: () => Millis;
  readonly random: () => number;
  /** A round trip to the store, smoothed. */
  roundTrip: Millis;
}

/** A hit in line. */
interface Waiting {
  readonly hit: Hit;
  resolve(decision: MaybePromise<Decision>): void;
  reject(error: unknown): void;
}

/** Hits like this one within a lease's span from which a lease pays. */
const HITS = 5;
/** A lot holds what is spent in this part of its life, so that it is used up rather than outlived. */
const FILL = 0.8;
/** And no fewer than this, however little is left for a node's share. */
const SMALLEST = 10;
/** Round trips of supply at which the next lot is fetched. */
const AHEAD = 3;
/** A dry node asks again after the store's announcement, but no sooner and no later than these parts of the span. */
const SOONEST = 0.4;
const LATEST = 3.2;

const NONE: Lot = { left: 0, granted: 0, sent: 0, end: -Infinity, counts: -Infinity };

export class KeyLease {
  /** Whether there was a hit since the last look. */
  seen = true;
  private lot = NONE;
  /** Fetched ahead; spent when the lot is used up. */
  private next: Lot | undefined;
  /** Units left at which the next lot is fetched. */
  private low = 0;
  /** Units asked for in the last span, those before it fading; and those not yet added. */
  private heat = 0;
  private heatAt: Millis;
  private arrived = 0;
  /** Those who go to a far store together next. */
  private readonly line: Waiting[] = [];
  private travelling = false;
  /** True: the store answered. */
  private asking: Promise<boolean> | undefined;
  /** Dry until then. */
  private askAt = -Infinity;
  /** The store's last answer, and when it was asked. */
  private answer: Decision | undefined;
  private answerAt: Millis = 0;
  /** No longer the key's: what still arrives goes back, or nowhere after a reset. */
  private over: 'no' | 'returned' | 'forgotten' = 'no';

  private readonly key: string;
  private readonly terms: Terms;
  private readonly node: Node;

  constructor(key: string, terms: Terms, node: Node) {
    this.key = key;
    this.terms = terms;
    this.node = node;
    this.heatAt = node.now();
  }

  take(hit: Hit): MaybePromise<Decision> {
    const now = this.node.now();
    this.seen = true;
    this.arrived += hit.cost;
    return this.spend(hit.cost, now) ? this.decision(true, hit.cost, now) : this.otherwise(hit, now);
  }

  peek(hit: Hit): MaybePromise<Decision> {
    const now = this.node.now();
    const enough = now < this.lot.end && this.lot.left >= hit.cost;
    return enough ? this.decision(true, 0, now) : this.ask(hit);
  }

  /** Back to the lot that it came from; what is older goes to the store. */
  refund(hit: Hit): MaybePromise<Decision> {
    const now = this.node.now();
    const { lot } = this;
    if (now >= lot.end || lot.left + hit.cost > lot.granted) {
      this.askAt = -Infinity;
      return this.ask(hit);
    }
    lot.left += hit.cost;
    return this.decision(true, 0, now);
  }

  /** Sends back what is left. What is still on its way here follows when it arrives. */
  async giveBack(): Promise<void> {
    this.over = 'returned';
    const now = this.node.now();
    await Promise.all([this.asking, this.returned(this.lot, now), this.returned(this.next, now)]);
  }

  /** After a reset: what was debited before is nobody's. */
  forget(): void {
    this.over = 'forgotten';
    this.lot = NONE;
    this.next = undefined;
  }

  /** Sends back what can no longer be spent. */
  dropExpired(now: Millis): void {
    if (now >= this.lot.end && this.lot.left > 0) void this.returned(this.lot, now);
    if (this.next !== undefined && now >= this.next.end) {
      void this.returned(this.next, now);
      this.next = undefined;
    }
  }

  private spend(cost: number, now: Millis): boolean {
    const { lot } = this;
    if (lot.left >= cost && now < lot.end) lot.left -= cost;
    else if (!this.spendNext(cost, now)) return false;
    if (this.lot.left < this.low) this.fetchAhead(now);
    return true;
  }

  /** The rest of this lot and the beginning of the next. */
  private spendNext(cost: number, now: Millis): boolean {
    this.dropExpired(now);
    const { lot, next } = this;
    if (next === undefined || lot.left + next.left < cost) return false;
    next.left -= cost - lot.left;
    if (lot.left > 0) lot.left = 0;
    this.lot = next;
    this.next = undefined;
    return true;
  }

  private otherwise(hit: Hit, now: Millis): MaybePromise<Decision> {
    if (this.over !== 'no' || hit.cost > this.terms.largest) return this.ask(hit);
    if (now < this.askAt) return this.decision(false, 0, now);
    if (this.next !== undefined || !this.pays(hit.cost, now)) return this.ask(hit);
    if (this.node.roundTrip >= this.terms.span) return this.together(hit);
    return this.fetch(hit.cost, now).then((heard) => (heard ? this.again(hit) : this.ask(hit)));
  }

  private again(hit: Hit): MaybePromise<Decision> {
    const now = this.node.now();
    return this.spend(hit.cost, now) ? this.decision(true, hit.cost, now) : this.otherwise(hit, now);
  }

  private fetchAhead(now: Millis): void {
    if (this.asking !== undefined || this.next !== undefined || now < this.askAt || this.over !== 'no')
      return;
    if (this.pays(1, now) && this.node.roundTrip < this.terms.span) void this.fetch(1, now);
  }

  /** Whether the store answered; one question at a time. */
  private fetch(cost: number, now: Millis): Promise<boolean> {
    this.asking ??= this.lease(Math.max(cost, this.batch()), now)
      .catch(() => false)
      .finally(() => {
        this.asking = undefined;
      });
    return this.asking;
  }

  private async lease(wanted: number, sent: Millis): Promise<boolean> {
    const decision = await this.ask({
      verb: 'take',
      plan: this.terms.plan,
      key: this.key,
      cost: wanted,
      mode: 'partial',
      span: 0,
    });
    // An answer in the store's place debited nothing.
    if (decision.source !== 'store') return false;
    const { span } = this.terms;
    const now = this.node.now();
    if (decision.taken > 0) await this.keep(this.terms.lot(decision, sent), now);
    if (decision.taken < wanted) {
      const spread = span * (1 + this.node.random() / 2);
      this.askAt = now + Math.max(SOONEST * spread, Math.min(decision.retryAfter, LATEST * spread));
    }
    const supply = (AHEAD * this.heat * this.node.roundTrip) / span;
    this.low = Math.min(supply, decision.taken / 2);
    return true;
  }

  /**
   * In line for a place in the next group: one question at a time, however many wait, or a slow store would never catch
   * up. Whoever goes was here before the question was sent, so a late answer is as good as one to a hit of its own.
   */
  private together(hit: Hit): Promise<Decision> {
    return new Promise((resolve, reject) => {
      this.line.push({ hit, resolve, reject });
      if (this.line.length === 1 && !this.travelling) void this.travel();
    });
  }

  private async travel(): Promise<void> {
    this.travelling = true;
    while (this.line.length > 0) {
      const group = this.line.splice(0);
      const cost = group.reduce((sum, { hit }) => sum + hit.cost, 0);
      try {
        await this.serve(group, await this.ask({ ...group[0].hit, cost, mode: 'partial' }));
      } catch (error) {
        for (const waiting of group) waiting.reject(error);
      }
    }
    this.travelling = false;
  }

  /** First come, first served. An answer in the store's place is for each to hear by itself. */
  private async serve(group: readonly Waiting[], answer: Decision): Promise<void> {
    const now = this.node.now();
    let left = answer.taken;
    for (const waiting of group) {
      const { hit } = waiting;
      if (answer.source !== 'store') waiting.resolve(this.ask(hit));
      else if (hit.cost <= left) {
        left -= hit.cost;
        waiting.resolve({ ...answer, taken: hit.cost });
      } else {
        this.askAt = now + Math.max(SOONEST * this.terms.span, answer.retryAfter);
        waiting.resolve(this.decision(false, 0, now));
      }
    }
    if (answer.source === 'store' && left > 0)
      await this.ask({ ...group[0].hit, verb: 'refund', cost: left });
  }

  /** A promise only where nobody wants it any more: whoever closes waits until it is back. */
  private keep(lot: Lot, now: Millis): MaybePromise<void> {
    if (this.over === 'forgotten') return;
    if (this.over === 'returned') return this.returned(lot, now);
    if (this.lot.left > 0 && now < this.lot.end) this.next = lot;
    else {
      void this.returned(this.lot, now);
      this.lot = lot;
    }
  }

  /** Asks the store, and learns from its answer. */
  private ask(hit: Hit): MaybePromise<Decision> {
    const sent = this.node.now();
    const { store } = this.node;
    const decision = store.apply(hit.plan === this.terms.plan ? hit : { ...hit, plan: this.terms.plan });
    return isPromise(decision)
      ? decision.then((heard) => this.heard(heard, sent))
      : this.heard(decision, sent);
  }

  private heard(decision: Decision, sent: Millis): Decision {
    if (decision.source !== 'store') return decision;
    this.node.roundTrip += (this.node.now() - sent - this.node.roundTrip) / 8;
    this.answer = decision;
    this.answerAt = sent;
    return decision;
  }

  private async returned(lot: Lot | undefined, now: Millis): Promise<void> {
    if (lot === undefined || lot.left === 0) return;
    const cost = this.terms.returnable(lot, now);
    lot.left = 0;
    if (cost === 0) return;
    const { plan } = this.terms;
    try {
      await this.node.store.apply({ verb: 'refund', plan, key: this.key, cost, mode: 'whole', span: 0 });
    } catch {
      // Nobody can tell whether it arrived: not sent twice, at worst lost.
    }
  }

  /** Whether a lease would be used: enough hits of this cost. */
  private pays(cost: number, now: Millis): boolean {
    const { span } = this.terms;
    const spans = Math.max((now - this.heatAt) / span, 1e-9);
    const faded = Math.exp(-spans);
    this.heat = this.heat * faded + (this.arrived * (1 - faded)) / spans;
    this.heatAt = now;
    this.arrived = 0;
    return this.heat >= HITS * cost;
  }

  private batch(): number {
    const remaining = this.answer?.remaining ?? 0;
    // Known to be used up: whatever has come back since is for the first who asks.
    const share = remaining > 0 ? Math.max(Math.ceil(remaining / this.terms.share), SMALLEST) : Infinity;
    return Math.min(Math.ceil(FILL * this.heat), share);
  }

  /** The store's last answer, brought up to date with what is held here. */
  private decision(allowed: boolean, taken: number, now: Millis): Decision {
    const answer = this.answer as Decision;
    const { policies, limit, remaining, resetAfter, policy } = answer;
    const passed = now - this.answerAt;
    const held = this.next === undefined ? this.lot.left : this.lot.left + this.next.left;
    const wait = allowed ? 0 : Math.max(this.askAt - now, answer.retryAfter - passed);
    // Most limiters have one policy, and most decisions are made here: no loop and no closure for it.
    const states = [later(policies[0], held, passed, wait)];
    for (let i = 1; i < policies.length; i++) states.push(later(policies[i], held, passed, wait));
    return {
      allowed,
      taken,
      limit,
      remaining: allowed ? Math.floor(Math.min(limit, remaining + held)) : 0,
      retryAfter: wait,
      resetAfter: Math.max(wait, resetAfter - passed),
      policy,
      policies: states,
      source: 'lease',
    };
  }
}

/** A policy's numbers as they are now, as far as this node knows. */
function later(state: PolicyState, held: number, passed: Millis, wait: Millis): PolicyState {
  const { name, limit, window } = state;
  return {
    name,
    limit,
    window,
    remaining: Math.floor(Math.min(limit, state.remaining + held)),
    retryAfter: wait,
    resetAfter: Math.max(wait, state.resetAfter - passed),
  };
}

function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof (value as { then?: unknown }).then === 'function';
}
