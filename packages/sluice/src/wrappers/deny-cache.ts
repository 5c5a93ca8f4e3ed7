/**
 * Remembers denials until they end, so that a flood on a denied key costs the store nothing. A denial holds for the same
 * cost or a greater one. What gives something back through this store ends it; what does so elsewhere is seen when it
 * ends, or never if it is remembered: so it is off by default.
 */
import { systemClock } from '../clock.ts';
import type { Decision, Hit, Millis, Plan, Store } from '../contract.ts';
import { bound, known } from '../options.ts';
import { rowIdOf } from './held.ts';
import { copyOf, isKept } from './kept-key.ts';

/** Of the `denyCache` of a store. */
export interface DenyCacheOptions {
  /**
   * The most denials that are remembered; default 10,000. Beyond that the oldest is evicted. Denials of keys longer than
   * about 1,000 characters are not remembered.
   */
  readonly maxKeys?: number | undefined;
}

interface Denial {
  readonly decision: Decision;
  readonly plan: string;
  readonly cost: number;
  /** When the answer came. The server decided a moment before: it would pass by the time it is asked again. */
  readonly since: Millis;
  /** When it is over: units that may be asked for at once, as the last answer said. */
  room: number;
}

/** `listen`: is handed what has to be called when something was given back below this store. */
export function denyCache(
  store: Store<Promise<Decision>>,
  options: DenyCacheOptions = {},
  listen: (givenBack: (hit: Hit) => void) => void = () => {},
): Store<Promise<Decision>> {
  const { maxKeys = 10_000 } = known('denyCache', options, ['maxKeys']);
  bound('denyCache.maxKeys', maxKeys);
  // A Map keeps the order of insertion: the first is the oldest.
  const denials = new Map<string, Denial>();
  /** Keys whose denial is over: one asks, the others wait for what it hears; true: it came from the store. */
  const asking = new Map<string, Promise<boolean>>();
  /** How often something was given back: a denial that was on its way meanwhile may be over. */
  let givenBack = 0;

  function apply(hit: Hit): Promise<Decision> {
    const id = rowIdOf(hit);
    if (hit.verb !== 'take' && hit.verb !== 'peek') {
      if (hit.verb !== 'reserve') forget(hit);
      return store.apply(hit);
    }
    if (hit.mode !== 'whole' || hit.cost === 0 || countsDenials(hit.plan) || !isKept(id))
      return store.apply(hit);
    const denial = denials.get(id);
    if (denial === undefined || denial.plan !== hit.plan.id || !covers(denial, hit)) return ask(hit, id);
    const passed = systemClock.now() - denial.since;
    if (passed < denial.decision.retryAfter) return Promise.resolve(later(denial.decision, passed));
    if (denial.room >= hit.cost) {
      denial.room -= hit.cost;
      return ask(hit, id);
    }
    const other = asking.get(id);
    // Where the store does not answer, nobody waits twice.
    if (other !== undefined) return other.then((heard) => (heard ? apply(hit) : store.apply(hit)));
    const answer = ask(hit, id, denial);
    const heard = answer.then(
      ({ source }) => asking.delete(id) && source === 'store',
      () => !asking.delete(id),
    );
    asking.set(id, heard);
    return answer;
  }

  function forget(hit: Hit): void {
    givenBack++;
    denials.delete(rowIdOf(hit));
  }
  listen(forget);

  /** `over`: the denial that the hit asks about, alone. */
  async function ask(hit: Hit, id: string, over?: Denial): Promise<Decision> {
    const before = givenBack;
    const decision = await store.apply(hit);
    if (decision.source !== 'store') return decision;
    const { allowed, remaining, retryAfter } = decision;
    if (allowed && over !== undefined) over.room = remaining;
    // Used up: the next one is likely to be denied, and should ask alone, too.
    const denied = allowed ? remaining < hit.cost && !denials.has(id) : retryAfter < Infinity;
    if (denied && before === givenBack) {
      const since = systemClock.now();
      remember(id, { decision, plan: hit.plan.id, cost: hit.cost, since, room: 0 });
    }
    return decision;
  }

  function remember(id: string, denial: Denial): void {
    denials.delete(id);
    const [oldest] = denials.keys();
    if (denials.size >= maxKeys && oldest !== undefined) denials.delete(oldest);
    denials.set(copyOf(id), denial);
  }

  return { clock: store.clock, ephemeral: store.ephemeral, apply, close: () => store.close() };
}

/** The same cost or a greater one, unless that could never pass. */
function covers({ cost }: Denial, hit: Hit): boolean {
  return hit.cost === cost || (hit.cost > cost && hit.plan.policies.every(({ limit }) => hit.cost <= limit));
}

/** A penalty has to see every denial. */
function countsDenials(plan: Plan): boolean {
  return plan.policies.some(({ algorithm }) => algorithm.countsDenials);
}

/** The same denial, seen later. */
function later(decision: Decision, passed: Millis): Decision {
  const left = (span: Millis): Millis => Math.max(0, span - passed);
  return {
    ...decision,
    retryAfter: left(decision.retryAfter),
    resetAfter: left(decision.resetAfter),
    policies: decision.policies.map((policy) => ({
      ...policy,
      retryAfter: left(policy.retryAfter),
      resetAfter: left(policy.resetAfter),
      refill: typeof policy.refill === 'number' ? left(policy.refill) : policy.refill,
    })),
    source: 'deny-cache',
  };
}
