/**
 * Answers hits on a denied key from memory, so that a flood on it costs the store little. A denial holds for the same cost
 * or a greater one, and for two seconds at most. When it ends, one hit goes to the store as a scout, and the others wait
 * for what it hears: docs/decisions/0041-the-denial-cache-sends-scouts.md.
 */
import { systemClock } from '../internal/clock.ts';
import type { Decision, Hit, Millis, Plan, Store } from '../engine/contract.ts';
import { agedDenial } from '../engine/decision.ts';
import { bound, checkOptionNames } from '../internal/options.ts';
import { rowIdOf } from './resilient/held-places.ts';
import { copyOf, isKept } from './shared/cacheable-key.ts';

/** Options of a store's `denyCache`. */
export interface DenyCacheOptions {
  /**
   * The most denials that are remembered; default 10,000. Beyond that the oldest is evicted. Denials of keys longer than
   * about 1,000 characters are not remembered.
   */
  readonly maxKeys?: number | undefined;
}

/** A denial is answered from memory for at most this long: then a reset or refund made elsewhere is seen. */
const LONGEST: Millis = 2000;
/** The most scouts that a hit waits for before it asks by itself. With its own call, that makes three round trips. */
const WAITS = 2;
/** The part of a round trip by which a scout starts late, so that it seldom arrives before the denial has ended. */
const MARGIN = 1 / 8;

/** What is known of a key that was denied, or that has less left than was last asked for. */
interface Denial {
  /** What was asked: the plan's id and the cost. */
  plan: string;
  cost: number;
  /** The store's last answer, and when it arrived. */
  decision: Decision;
  since: Millis;
  /** Units that the store said are left. Hits go to it directly until these are used up. */
  room: number;
  /** When the next scout may start: a round trip before callers stop hearing the denial, so that no unit is missed. */
  scoutAt: Millis;
  /** Scouts on their way, and whether the store answers the last one. */
  scouts: number;
  heard: Promise<boolean> | undefined;
}

/** `listen` receives a function to call whenever something was given back below this store. */
export function denyCache(
  store: Store<Promise<Decision>>,
  options: DenyCacheOptions = {},
  listen: (givenBack: (hit: Hit) => void) => void = () => {},
): Store<Promise<Decision>> {
  const { maxKeys = 10_000 } = checkOptionNames('denyCache', options, ['maxKeys']);
  bound('denyCache.maxKeys', maxKeys);
  // A Map keeps the order of insertion: the first is the oldest.
  const denials = new Map<string, Denial>();
  /** How often something was given back: a denial that was on its way meanwhile may be over. */
  let givenBack = 0;

  function apply(hit: Hit): Promise<Decision> {
    if (hit.verb !== 'take' && hit.verb !== 'peek') {
      if (hit.verb !== 'reserve' && hit.verb !== 'renew') forget(hit);
      return store.apply(hit);
    }
    const id = rowIdOf(hit);
    if (hit.mode !== 'whole' || hit.cost === 0 || countsDenials(hit.plan) || !isKept(id))
      return store.apply(hit);
    return decide(hit, id, 0);
  }

  /** `waits`: how many scouts the hit has waited for. */
  function decide(hit: Hit, id: string, waits: number): Promise<Decision> {
    const denial = denials.get(id);
    if (denial === undefined || denial.plan !== hit.plan.id || !covers(denial, hit)) return ask(hit, id);
    if (denial.room >= hit.cost) {
      denial.room -= hit.cost;
      return ask(hit, id);
    }
    const now = systemClock.now();
    if (now >= denial.scoutAt) {
      // A hit for each unit that has come back since; the last one is the scout, whose peek then sees what they left.
      const following = Math.max(denial.scoutAt, now - LONGEST) + timeFor(hit);
      if (following > now) return scout(hit, id, denial, now);
      denial.scoutAt = following;
      return ask(hit, id);
    }
    const passed = now - denial.since;
    if (passed < Math.min(denial.decision.retryAfter, LONGEST))
      return Promise.resolve(agedDenial(denial.decision, passed));
    if (denial.heard === undefined || waits === WAITS) return ask(hit, id);
    // If the store does not answer the scout, each hit asks for itself.
    return denial.heard.then((heard) => (heard ? decide(hit, id, waits + 1) : store.apply(hit)));
  }

  function forget(hit: Hit): void {
    givenBack++;
    denials.delete(rowIdOf(hit));
  }
  listen(forget);

  async function ask(hit: Hit, id: string): Promise<Decision> {
    const before = givenBack;
    const sent = systemClock.now();
    const decision = await store.apply(hit);
    const { allowed, remaining, retryAfter, source } = decision;
    if (source !== 'store' || before !== givenBack) return decision;
    // After the last unit the next hit is likely to be denied, so it goes as a scout.
    if (allowed ? remaining < hit.cost && !denials.has(id) : retryAfter < Infinity)
      learn(hit, id, decision, sent, systemClock.now(), 0);
    return decision;
  }

  /**
   * Sends the hit and, right behind it, a peek that says what the next hit would hear. Without the peek, a scout that is
   * allowed would learn nothing, and all the others would go to the store one after another.
   */
  function scout(hit: Hit, id: string, denial: Denial, sent: Millis): Promise<Decision> {
    const before = givenBack;
    denial.scouts++;
    denial.scoutAt = sent + timeFor(hit);
    const answer = store.apply(hit);
    const next = hit.verb === 'take' ? store.apply({ ...hit, verb: 'peek' }) : answer;
    let arrived = sent;
    const dated = next.then((after) => {
      arrived = systemClock.now();
      return after;
    });
    const heard = Promise.all([answer, dated]).then(
      ([{ source }, after]) => {
        const isStore = source === 'store' && after.source === 'store';
        // A cost that can never pass says nothing about others.
        ended(isStore && before === givenBack && after.retryAfter < Infinity ? after : undefined);
        return isStore;
      },
      () => {
        ended(undefined);
        return false;
      },
    );
    function ended(after: Decision | undefined): void {
      denial.scouts--;
      if (denial.heard === heard) denial.heard = undefined;
      if (after === undefined) denial.scoutAt = systemClock.now();
      else learn(hit, id, after, sent, arrived, after.allowed ? after.remaining : 0);
    }
    denial.heard = heard;
    return answer;
  }

  /** `sent`, `since`: when the store was asked, and when its answer arrived. */
  function learn(hit: Hit, id: string, decision: Decision, sent: Millis, since: Millis, room: number): void {
    const { retryAfter } = decision;
    const denial = denials.get(id);
    // Scouts on their way will take what comes back first.
    const due =
      denial === undefined || denial.scouts === 0
        ? sent + retryAfter + MARGIN * (since - sent)
        : Math.max(denial.scoutAt, sent + retryAfter + denial.scouts * timeFor(hit));
    const scoutAt = Math.min(due, since + LONGEST);
    const learned = { plan: hit.plan.id, cost: hit.cost, decision, since, room, scoutAt };
    denials.delete(id);
    const [oldest] = denials.keys();
    if (denials.size >= maxKeys && oldest !== undefined) denials.delete(oldest);
    // The same object again: its scouts refer to it.
    denials.set(copyOf(id), Object.assign(denial ?? { scouts: 0, heard: undefined }, learned));
  }

  return {
    clock: store.clock,
    ephemeral: store.ephemeral,
    backend: store.backend ?? store,
    apply,
    close: () => store.close(),
  };
}

/** How long the cost takes to come back where units come back one by one; elsewhere Infinity. */
function timeFor({ plan, cost }: Hit): Millis {
  let longest = 0;
  for (const { refill, window, limit } of plan.policies)
    longest = Math.max(longest, refill === 'even' ? (cost * window) / limit : Infinity);
  return longest;
}

/** The same cost or a greater one, unless that could never pass. */
function covers({ cost }: Denial, hit: Hit): boolean {
  return hit.cost === cost || (hit.cost > cost && hit.plan.policies.every(({ limit }) => hit.cost <= limit));
}

/** A penalty has to see every denial. */
function countsDenials(plan: Plan): boolean {
  return plan.policies.some(({ algorithm }) => algorithm.countsDenials);
}
