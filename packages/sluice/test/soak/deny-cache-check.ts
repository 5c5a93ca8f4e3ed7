/**
 * Checks that the deny cache denies only hits that the store denied, for no longer than the announced wait, and not after a
 * refund.
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

/** A deny cache between two observers: one of the store's answers, and one of the answers that callers get. */
export function checkedDenyCache(store: Store<Promise<Decision>>, run: Run, scenario: string): Store {
  const keys = new Map<string, Denied[]>();
  let giveBacks = 0;

  function denialsOf({ plan, key }: Hit): Denied[] {
    const id = `${plan.name} ${plan.id} ${key}`;
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
    const decision = await store.apply(hit);
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

  async function check(hit: Hit, answer: Promise<Decision>, asked: number): Promise<void> {
    const { source, allowed, retryAfter } = await answer;
    if (source !== 'deny-cache') return;
    // Waits until `observed` has recorded all denials of this tick.
    await immediate();
    run.checked(scenario);
    run.denied(scenario);
    const left = denialsOf(hit)
      .filter(({ cost, ended }) => cost <= Number(hit.cost) && ended >= asked)
      .map(({ until }) => until - asked);
    if (allowed || hit.mode !== 'whole' || givesBack(hit) || retryAfter > Math.max(...left) + GRAIN)
      run.violation(
        scenario,
        `${hit.verb} ${String(hit.cost)} denied for ${retryAfter} ms; the store: ${Math.max(...left)}`,
      );
  }

  function apply(hit: Hit): MaybePromise<Decision> {
    const asked = performance.now();
    const answer = cached.apply(hit);
    check(hit, answer, asked).catch(() => {});
    return answer;
  }

  return { clock: store.clock, apply, close: () => cached.close() };
}
