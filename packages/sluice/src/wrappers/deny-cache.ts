/**
 * Answers hits of a denied key from memory, so that a flood of hits on that key causes few store calls. A denial applies to later
 * hits with the same or a greater cost, for at most two seconds. When it ends, one hit is sent to the store as a scout for each
 * unit that is replenished. The other hits are denied, or wait for a scout's answer if units are not replenished one by one
 * (docs/decisions/0041-the-denial-cache-sends-scouts.md).
 */
import { systemClock } from '../internal/clock.ts';
import {
  type AllTaker,
  type Decision,
  type Hit,
  isPlain,
  type Millis,
  type PlainHit,
  type Plan,
  type Store,
} from '../engine/contract.ts';
import { cachedDenial } from '../engine/decision.ts';
import { bound, checkOptionNames } from '../internal/options.ts';
import { rowIdOf } from './resilient/held-places.ts';
import { copyOf, isCacheable } from './shared/cacheable-key.ts';
import { passedOn } from './shared/passed-on.ts';

/** Options of a store's `denyCache`. */
export interface DenyCacheOptions {
  /**
   * The maximum number of denials that are remembered. Default 10,000. Beyond that, the oldest denial is evicted. A denial is not
   * remembered if its key and the limiter's name together have more than about 1,000 characters.
   */
  readonly maxKeys?: number | undefined;
}

/**
 * Maximum time for which a denial is answered from memory. After this time, a reset or refund made by another process takes effect.
 */
const MAX_AGE: Millis = 2000;
/**
 * Maximum number of scouts that a hit waits for before the hit itself is sent to the store. Together with this last call, the hit
 * takes at most three round trips.
 */
const MAX_WAITS = 2;
/** Fraction of a round trip by which a scout is delayed, so that it rarely arrives before the denial has ended. */
const SCOUT_DELAY = 1 / 8;

/** The state of a key that was denied, or that has fewer units left than the last hit cost. */
interface Denial {
  /** The id of the plan that was denied, and the cost. */
  plan: string;
  cost: number;
  /** The last answer of the store, and when it arrived. */
  decision: Decision;
  since: Millis;
  /** Number of units that the store reported as left. Hits are sent to the store directly until these are used up. */
  left: number;
  /**
   * When the next scout may start. This is a round trip before the denial ends, so that the scout arrives when the next unit is
   * available.
   */
  scoutAt: Millis;
  /** Number of scouts in flight. */
  scouts: number;
  /** Resolves when the last scout is answered, with true if the store itself answered that scout. */
  scoutAnswered: Promise<boolean> | undefined;
}

/**
 * Wraps a store in a deny cache. `listen` receives a function to call whenever `store` has given back units or places in the
 * background.
 */
export function denyCache(
  store: Store<Promise<Decision>>,
  options: DenyCacheOptions = {},
  listen: (givenBack: (hit: Hit) => void) => void = () => {},
): Store<Promise<Decision>> {
  const { maxKeys = 10_000 } = checkOptionNames('denyCache', options, ['maxKeys']);
  bound('denyCache.maxKeys', maxKeys);
  // A Map keeps insertion order, so the first entry is the oldest.
  const denials = new Map<string, Denial>();
  /** How many times units or places were given back. A denial that was in flight when this number changed may be outdated. */
  let givenBack = 0;

  function apply(hit: Hit): Promise<Decision> {
    if (hit.verb !== 'take' && hit.verb !== 'peek') {
      if (hit.verb !== 'reserve' && hit.verb !== 'renew') forget(hit);
      return store.apply(hit);
    }
    const id = rowIdOf(hit);
    return isRemembered(hit, id) ? decide(hit, id, 0) : store.apply(hit);
  }

  /**
   * Returns a function that sends the hits to the store, which decides them in one step, and remembers their denials. Returns
   * undefined while one of the hits is denied, so that the hits are decided one by one and the cache can answer.
   */
  function allTaker(this: Store, hits: readonly Hit[]): AllTaker | undefined {
    // If a wrapper copied this object and replaced `apply`, the hits are decided one by one, so that the wrapper sees each of them.
    if (this.apply !== apply || hits.some(isDenied)) return undefined;
    const takeAll = store.allTaker?.(hits);
    if (takeAll === undefined) return undefined;
    return async () => {
      const before = givenBack;
      const sent = systemClock.now();
      const decisions = await takeAll();
      for (const [i, decision] of (decisions ?? []).entries()) {
        const id = rowIdOf(hits[i]);
        if (!decision.allowed && isRemembered(hits[i], id)) note(hits[i], id, decision, before, sent);
      }
      return decisions;
    };
  }

  /** Whether a remembered denial that is still valid applies to the hit. */
  function isDenied(hit: Hit): boolean {
    const denial = denials.get(rowIdOf(hit));
    if (denial === undefined || !isPlain(hit) || denial.plan !== hit.plan.id || !covers(denial, hit))
      return false;
    return systemClock.now() - denial.since < Math.min(denial.decision.retryAfter, MAX_AGE);
  }

  /** Decides on a hit. `waits` is the number of scouts that the hit has waited for. */
  function decide(hit: PlainHit, id: string, waits: number): Promise<Decision> {
    const denial = denials.get(id);
    if (denial === undefined || denial.plan !== hit.plan.id || !covers(denial, hit)) return ask(hit, id);
    if (denial.left >= hit.cost) {
      denial.left -= hit.cost;
      return ask(hit, id);
    }
    const now = systemClock.now();
    if (now >= denial.scoutAt) {
      // One hit is sent for each unit that was replenished since the denial ended. The last of these hits is the scout. The scout's
      // peek shows how many units are left after all of these hits.
      const nextScoutAt = Math.max(denial.scoutAt, now - MAX_AGE) + replenishTime(hit);
      if (nextScoutAt > now) return scout(hit, id, denial, now);
      denial.scoutAt = nextScoutAt;
      return ask(hit, id);
    }
    const age = now - denial.since;
    if (age < Math.min(denial.decision.retryAfter, MAX_AGE))
      return Promise.resolve(cachedDenial(denial.decision, age, denial.decision.retryAfter - age));
    if (denial.scoutAnswered === undefined || waits === MAX_WAITS) return ask(hit, id);
    // The scouts in flight were sent for the units that are replenished until `scoutAt`. A hit that is sent now would reach the store
    // after them and be denied, so it is denied here.
    if (age < MAX_AGE && replenishTime(hit) < Infinity)
      return Promise.resolve(cachedDenial(denial.decision, age, denial.scoutAt - now));
    // If the store does not answer the scout, each waiting hit is sent to the store.
    return denial.scoutAnswered.then((isAnswered) =>
      isAnswered ? decide(hit, id, waits + 1) : store.apply(hit),
    );
  }

  function forget(hit: Hit): void {
    givenBack++;
    denials.delete(rowIdOf(hit));
  }
  listen(forget);

  async function ask(hit: PlainHit, id: string): Promise<Decision> {
    const before = givenBack;
    const sent = systemClock.now();
    const decision = await store.apply(hit);
    note(hit, id, decision, before, sent);
    return decision;
  }

  /**
   * Records the answer to a hit if later hits are likely to be denied. `before` is the value of `givenBack` when the hit was sent.
   */
  function note(hit: PlainHit, id: string, decision: Decision, before: number, sent: Millis): void {
    const { allowed, remaining, retryAfter, source } = decision;
    if (source !== 'store' || before !== givenBack) return;
    // If an allowed hit leaves too few units for another hit like it, the next hit is likely to be denied and is sent as a scout.
    if (allowed ? remaining < hit.cost && !denials.has(id) : retryAfter < Infinity)
      learn(hit, id, decision, sent, systemClock.now(), 0);
  }

  /**
   * Sends the hit and, right after it, a peek that shows how the next hit would be answered. Without the peek, the cache would
   * learn nothing from a scout that is allowed, and all other hits would be sent to the store one after another.
   */
  function scout(hit: PlainHit, id: string, denial: Denial, sent: Millis): Promise<Decision> {
    const before = givenBack;
    denial.scouts++;
    denial.scoutAt = sent + replenishTime(hit);
    const answer = store.apply(hit);
    const next = hit.verb === 'take' ? store.apply({ ...hit, verb: 'peek' }) : answer;
    let arrived = sent;
    const timedNext = next.then((after) => {
      arrived = systemClock.now();
      return after;
    });
    const answered = Promise.all([answer, timedNext]).then(
      ([{ source }, after]) => {
        const isStore = source === 'store' && after.source === 'store';
        // The answer to a cost that can never pass does not apply to other costs.
        finish(isStore && before === givenBack && after.retryAfter < Infinity ? after : undefined);
        return isStore;
      },
      () => {
        finish(undefined);
        return false;
      },
    );
    function finish(after: Decision | undefined): void {
      denial.scouts--;
      if (denial.scoutAnswered === answered) denial.scoutAnswered = undefined;
      if (after === undefined) denial.scoutAt = systemClock.now();
      else learn(hit, id, after, sent, arrived, after.allowed ? after.remaining : 0);
    }
    denial.scoutAnswered = answered;
    return answer;
  }

  /** Records an answer. `sent` is when the hit was sent, and `since` is when the answer arrived. */
  function learn(
    hit: PlainHit,
    id: string,
    decision: Decision,
    sent: Millis,
    since: Millis,
    left: number,
  ): void {
    const { retryAfter } = decision;
    const denial = denials.get(id);
    // The next units to be replenished go to the scouts in flight, so the next scout waits for the units after those.
    const due =
      denial === undefined || denial.scouts === 0
        ? sent + retryAfter + SCOUT_DELAY * (since - sent)
        : Math.max(denial.scoutAt, sent + retryAfter + denial.scouts * replenishTime(hit));
    const scoutAt = Math.min(due, since + MAX_AGE);
    const learned = { plan: hit.plan.id, cost: hit.cost, decision, since, left, scoutAt };
    denials.delete(id);
    const [oldest] = denials.keys();
    if (denials.size >= maxKeys && oldest !== undefined) denials.delete(oldest);
    // The same object must be kept, because scouts in flight refer to it.
    denials.set(copyOf(id), Object.assign(denial ?? { scouts: 0, scoutAnswered: undefined }, learned));
  }

  return {
    ...passedOn(store),
    apply,
    allTaker,
    close: () => store.close(),
  };
}

/** Whether denials of the hit are remembered. `id` identifies its row. */
function isRemembered(hit: Hit, id: string): hit is PlainHit {
  return (
    isPlain(hit) && hit.mode === 'whole' && hit.cost !== 0 && !countsDenials(hit.plan) && isCacheable(id)
  );
}

/** How long the cost takes to be replenished. Infinity if units are not replenished one by one. */
function replenishTime({ plan, cost }: PlainHit): Millis {
  let longest = 0;
  for (const { refill, window, limit } of plan.policies)
    longest = Math.max(longest, refill === 'even' ? (cost * window) / limit : Infinity);
  return longest;
}

/**
 * Whether a denial applies to the hit. This is the case if the hit's cost is the same or greater, but not so great that it can
 * never pass.
 */
function covers({ cost }: Denial, hit: PlainHit): boolean {
  return hit.cost === cost || (hit.cost > cost && hit.plan.policies.every(({ limit }) => hit.cost <= limit));
}

/** Whether the plan has a penalty, which must count every denial. */
function countsDenials(plan: Plan): boolean {
  return plan.policies.some(({ algorithm }) => algorithm.countsDenials);
}
