/**
 * Checks that the deny cache denies a hit only while a denial by the store applies to it, or if hits in flight will take the next
 * units. The cache must not announce a longer wait than the one that the store announced plus the time in which the units of the
 * hits in flight are replenished. After a refund, the cache must not deny because of an earlier denial.
 */
import { setImmediate as immediate } from 'node:timers/promises';
import type { Decision, MaybePromise, Store } from '../../src/index.ts';
import type { Hit } from '../../src/store.ts';
import { denyCache } from '../../src/wrappers/deny-cache.ts';
import type { Run } from './scenario.ts';

/** Milliseconds for which an ended denial is kept, because a caller may have waited that long for its answer. */
const KEPT = 5000;
/** Milliseconds of float error. */
const GRAIN = 0.001;

/** A denial by the store, with times from this process's clock. */
interface Denied {
  readonly cost: number;
  until: number;
  /** When units of the key were given back. */
  ended: number;
}

const givesBack = ({ verb }: Hit): boolean => !['take', 'peek', 'reserve'].includes(verb);

/** How long the cost takes to be replenished if units come back one by one, and otherwise 0. */
const replenishTime = ({ plan, cost }: Hit): number =>
  plan.policies.every(({ refill }) => refill === 'even')
    ? Math.max(...plan.policies.map(({ window, limit }) => (Number(cost) * window) / limit))
    : 0;

/** A deny cache between two observers: one of the store's answers, and one of the answers that callers get. */
export function checkedDenyCache(store: Store<Promise<Decision>>, run: Run, scenario: string): Store {
  const keys = new Map<string, Denied[]>();
  /** For each row, how long it takes to replenish the units that takes in flight may charge. */
  const inFlight = new Map<string, number>();
  let giveBacks = 0;

  const idOf = ({ plan, key }: Hit): string => `${plan.name} ${plan.id} ${key}`;

  function denialsOf(hit: Hit): Denied[] {
    const id = idOf(hit);
    const since = performance.now() - KEPT;
    const denials = (keys.get(id) ?? []).filter(({ until }) => until > since);
    keys.set(id, denials);
    return denials;
  }

  async function observed(hit: Hit): Promise<Decision> {
    if (givesBack(hit)) {
      giveBacks++;
      for (const denial of denialsOf(hit)) denial.ended = Math.min(denial.ended, performance.now());
      return store.apply(hit);
    }
    const before = giveBacks;
    const id = idOf(hit);
    const replenished = hit.verb === 'take' ? replenishTime(hit) : 0;
    inFlight.set(id, (inFlight.get(id) ?? 0) + replenished);
    const decision = await store
      .apply(hit)
      .finally(() => inFlight.set(id, (inFlight.get(id) ?? 0) - replenished));
    // Units that were given back while the hit was in flight may have reached the store after the denial, so such a denial is
    // not recorded.
    if (!decision.allowed && decision.source === 'store' && before === giveBacks) {
      const denial = { cost: Number(hit.cost), until: Infinity, ended: Infinity };
      denialsOf(hit).push(denial);
      // The cache measures the wait from the arrival of the answer, which is later in this tick.
      setImmediate(() => {
        denial.until = performance.now() + decision.retryAfter;
      });
    }
    return decision;
  }

  const cached = denyCache({ ...store, apply: observed });

  async function check(hit: Hit, answer: Promise<Decision>, asked: number, ahead: number): Promise<void> {
    const { source, allowed, retryAfter } = await answer;
    if (source !== 'deny-cache') return;
    // Waits until `observed` has recorded all denials of this tick.
    await immediate();
    run.checked(scenario);
    run.denied(scenario);
    const left = denialsOf(hit)
      .filter(({ cost, ended }) => cost <= Number(hit.cost) && ended >= asked)
      .map(({ until }) => until - asked);
    // If hits in flight will take the next units, this hit waits for the unit after those.
    const most = ahead < GRAIN ? Math.max(...left) : Math.max(0, ...left) + ahead + replenishTime(hit);
    if (allowed || hit.mode !== 'whole' || givesBack(hit) || retryAfter > most + GRAIN)
      run.violation(
        scenario,
        `${hit.verb} ${String(hit.cost)} denied for ${retryAfter} ms; expected at most ${most} ms`,
      );
  }

  function apply(hit: Hit): MaybePromise<Decision> {
    const asked = performance.now();
    const ahead = inFlight.get(idOf(hit)) ?? 0;
    const answer = cached.apply(hit);
    check(hit, answer, asked, ahead).catch(() => {});
    return answer;
  }

  return { clock: store.clock, apply, close: () => cached.close() };
}
