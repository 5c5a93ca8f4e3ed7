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
import type { Decision, Hit, MaybePromise, Millis, Store } from '../../engine/contract.ts';
import { chain, ignoreFailure } from '../../internal/maybe-promise.ts';
import { FarLine } from './slow-store-queue.ts';
import { localDecision } from '../../engine/decision.ts';
import { Demand } from './demand.ts';
import { type Lot, type Terms, usable } from './terms.ts';

/** What the keys of one wrapper share. */
export interface Node {
  readonly store: Store;
  readonly now: () => Millis;
  readonly random: () => number;
  /** A round trip to the store, smoothed. */
  roundTrip: Millis;
}

/** Hits like this one within a lease's span from which a lease pays. */
const HITS = 3;
/** While the limit binds, a lot holds what is spent in this part of its life, so that it is used up rather than outlived. */
const FILL = 0.8;
/** The limit does not bind while more than this part of it is left. */
const PLENTY = 1 / 8;
/** Lots that a hit waits for, if others are served first or units fade on their way; then it asks by itself. */
const PATIENCE = 4;
/** Times its cost that are fetched for a hit. */
const SPARE = 1.25;
/** Round trips of supply at which the next lot is fetched. */
const AHEAD = 3;
/** A dry node asks again after the store's announcement, but no sooner and no later than these parts of the short span. */
const SOONEST = 0.4;
const LATEST = 3.2;
/**
 * Where lost units are missed for long, a lot holds no more than this part of all that the key was asked for here. So a
 * process that ends early, without returning what it holds, loses less than it has spent.
 */
const YOUNG = 1 / 4;
/** Less than this part of a lot is not worth the call that returns it. */
const WORTH = 1 / 8;

const NONE: Lot = {
  left: 0,
  granted: 0,
  sent: 0,
  end: -Infinity,
  edge: -Infinity,
  slope: 1,
  counts: -Infinity,
};

export class KeyLease {
  /** Whether there was a hit since the last look. */
  seen = true;
  private lot = NONE;
  /** Fetched ahead; spent when the lot is used up. */
  private next: Lot | undefined;
  /** Units left at which the next lot is fetched. */
  private low = 0;
  private readonly demand: Demand;
  private far: FarLine | undefined;
  /** True: the store answered. */
  private asking: Promise<boolean> | undefined;
  /** Dry until then. */
  private askAt = -Infinity;
  /** The limit is thought to bind until then. */
  private bindsUntil = -Infinity;
  /** Of the last lot. */
  private edge: Millis = 0;
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
    this.demand = new Demand(terms.span, node.now());
  }

  take(hit: Hit): MaybePromise<Decision> {
    this.seen = true;
    this.demand.arrived += hit.cost;
    return this.decide(hit, 0);
  }

  peek(hit: Hit): MaybePromise<Decision> {
    const now = this.node.now();
    return usable(this.lot, now) >= hit.cost ? this.decision(true, 0, now) : this.ask(hit);
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

  /** Ends what can no longer be spent. */
  dropExpired(now: Millis): void {
    if (now >= this.lot.end && !this.renews(this.lot, now)) this.ended(this.lot, now);
    if (this.next === undefined || now < this.next.end) return;
    this.ended(this.next, now);
    this.next = undefined;
  }

  /** `waited`: for so many lots. */
  private decide(hit: Hit, waited: number): MaybePromise<Decision> {
    const now = this.node.now();
    return this.spend(hit.cost, now) ? this.decision(true, hit.cost, now) : this.otherwise(hit, now, waited);
  }

  private spend(cost: number, now: Millis): boolean {
    const { lot } = this;
    const here = usable(lot, now);
    if (here >= cost) lot.left = here - cost;
    else if (!this.spendNext(cost, now)) return false;
    if (this.lot.left < this.low) this.fetchAhead(now);
    return true;
  }

  /** The rest of this lot and the beginning of the next. */
  private spendNext(cost: number, now: Millis): boolean {
    this.dropExpired(now);
    const { lot, next } = this;
    if (next === undefined) return false;
    const here = Math.max(0, usable(lot, now));
    const there = usable(next, now);
    if (here + there < cost) {
      // Faded: nothing to wait for.
      if (here + there < 1) this.next = undefined;
      return false;
    }
    next.left = there - (cost - here);
    if (lot !== NONE) lot.left = 0;
    this.lot = next;
    this.next = undefined;
    return true;
  }

  private otherwise(hit: Hit, now: Millis, waited: number): MaybePromise<Decision> {
    if (this.over !== 'no' || hit.cost > this.terms.largest) return this.ask(hit);
    if (now < this.askAt) return this.decision(false, 0, now);
    if (this.next !== undefined || waited === PATIENCE || !this.demand.reaches(HITS * hit.cost, now))
      return this.ask(hit);
    if (this.isFar()) return this.farLine().join(hit);
    return this.fetch(hit.cost, now).then((heard) => (heard ? this.decide(hit, waited + 1) : this.ask(hit)));
  }

  private fetchAhead(now: Millis): void {
    if (this.asking !== undefined || this.next !== undefined || now < this.askAt || this.over !== 'no')
      return;
    if (this.demand.reaches(HITS, now) && !this.isFar()) void this.fetch(1, now);
  }

  /** Whether the store answered; one question at a time. */
  private fetch(cost: number, now: Millis): Promise<boolean> {
    this.asking ??= this.lease(cost, now)
      .catch(() => false)
      .finally(() => {
        this.asking = undefined;
      });
    return this.asking;
  }

  private async lease(cost: number, sent: Millis): Promise<boolean> {
    const { short, lots, window } = this.terms;
    const isBinding = this.isBinding(sent);
    // Some may fade on their way.
    const wanted = Math.max(Math.ceil(SPARE * cost), this.batch(isBinding, sent));
    const plan = isBinding ? this.terms.plan : lots;
    const hit: Hit = { verb: 'take', plan, key: this.key, cost: wanted, mode: 'partial', span: 0 };
    const decision = await this.ask(hit);
    if (decision.source !== 'store') {
      // What the fallback charged for a lot is not spent.
      if (decision.taken > 0)
        ignoreFailure(() =>
          this.ask({ ...hit, verb: 'refund', cost: decision.taken, mode: 'whole', of: decision }),
        );
      return false;
    }
    const now = this.node.now();
    if (decision.taken > 0) {
      const lot = this.terms.lot(decision, sent);
      this.edge = lot.edge;
      await this.keep(lot, now);
    }
    if (decision.taken < wanted) {
      const spread = short * (1 + this.node.random() / 2);
      this.askAt = now + Math.max(SOONEST * spread, Math.min(decision.retryAfter, LATEST * spread));
      this.bindsUntil = now + window;
    }
    this.low = Math.min(this.demand.within(AHEAD * this.node.roundTrip), decision.taken / 2);
    return true;
  }

  private batch(isBinding: boolean, now: Millis): number {
    const { span, short, fill, share, smallest, isSlow } = this.terms;
    const life = this.lifeOf(isBinding ? short : span, now);
    const most = isSlow ? YOUNG * this.demand.total : Infinity;
    const expected = Math.ceil(Math.min(most, this.demand.within((isBinding ? FILL : fill) * life)));
    const remaining = this.answer?.remaining ?? 0;
    // Known to be used up: whatever has come back since is for the first who asks.
    if (remaining === 0) return expected;
    return Math.min(expected, Math.ceil(Math.max(remaining / share, smallest)));
  }

  private isBinding(now: Millis): boolean {
    const { largest, light } = this.terms;
    if (now < this.bindsUntil || (light < Infinity && !this.demand.staysBelow(light))) return true;
    return this.answer !== undefined && this.answer.remaining < PLENTY * largest;
  }

  /** How long a lot would last that is debited now, as far as the last one tells. */
  private lifeOf(span: Millis, now: Millis): Millis {
    const ahead = this.edge - now;
    return ahead > 0 ? Math.max(this.terms.least, Math.min(span, ahead)) : span;
  }

  /** A promise only where nobody wants it any more: whoever closes waits until it is back. */
  private keep(lot: Lot, now: Millis): MaybePromise<void> {
    if (this.over === 'forgotten') return;
    if (this.over === 'returned') return this.returned(lot, now);
    const { left, end } = this.lot;
    if (left > 0 && now < end) this.next = lot;
    else if (left > 0 && this.renews(this.lot, now))
      this.lot = { ...lot, left: lot.left + left, granted: lot.granted + left };
    else {
      this.ended(this.lot, now);
      this.lot = lot;
    }
  }

  private renews({ edge }: Lot, now: Millis): boolean {
    return this.terms.renews && now < edge;
  }

  private isFar(): boolean {
    return this.node.roundTrip >= this.terms.short;
  }

  private farLine(): FarLine {
    this.far ??= new FarLine(
      (hit) => this.ask(hit),
      ({ retryAfter }) => {
        const now = this.node.now();
        this.askAt = now + Math.max(SOONEST * this.terms.short, retryAfter);
        return this.decision(false, 0, now);
      },
    );
    return this.far;
  }

  /** Asks the store, and learns from its answer. */
  private ask(hit: Hit): MaybePromise<Decision> {
    const sent = this.node.now();
    const { plan, lots } = this.terms;
    const isOurs = hit.plan === plan || hit.plan === lots;
    return chain(this.node.store.apply(isOurs ? hit : { ...hit, plan }), (decision) => {
      if (decision.source !== 'store') return decision;
      this.node.roundTrip += (this.node.now() - sent - this.node.roundTrip) / 8;
      this.answer = decision;
      this.answerAt = sent;
      return decision;
    });
  }

  /** Sends back what is left, if that is worth a call. */
  private ended(lot: Lot, now: Millis): void {
    const isWorth = lot.left >= WORTH * lot.granted && (this.terms.isMissed || this.isBinding(now));
    if (isWorth) void this.returned(lot, now);
    else if (lot !== NONE) lot.left = 0;
  }

  private async returned(lot: Lot | undefined, now: Millis): Promise<void> {
    if (lot === undefined || lot.left === 0) return;
    const cost = this.terms.returnable(lot, now);
    lot.left = 0;
    if (cost === 0) return;
    const { plan } = this.terms;
    // Any answer of the store's: it says that the store charged the lot, and not the fallback.
    const of = this.answer;
    try {
      await this.node.store.apply({ verb: 'refund', plan, key: this.key, cost, mode: 'whole', span: 0, of });
    } catch {
      // Nobody can tell whether it arrived: not sent twice, at worst lost.
    }
  }

  private decision(allowed: boolean, taken: number, now: Millis): Decision {
    const answer = this.answer as Decision;
    const passed = now - this.answerAt;
    const next = this.next === undefined ? 0 : this.next.left;
    const held = Math.max(0, usable(this.lot, now)) + next;
    const wait = allowed ? 0 : Math.max(this.askAt - now, answer.retryAfter - passed);
    return localDecision(answer, allowed, taken, held, passed, wait, allowed ? undefined : 0);
  }
}
