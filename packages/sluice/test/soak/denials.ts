/** What a process may answer by itself: only what the store denied it, no longer than it said, until something was given back. */
import { setImmediate as immediate } from 'node:timers/promises';
import type { Decision, MaybePromise, Store } from '../../src/index.ts';
import type { Hit } from '../../src/store.ts';
import { denyCache } from '../../src/wrappers/deny-cache.ts';
import type { Stage } from './scene.ts';

/** Milliseconds for which a denial that is over is kept: somebody may have waited for so long. */
const KEPT = 5000;
/** Milliseconds: float error. */
const GRAIN = 0.001;

/** By the process's clock. */
interface Denied {
  readonly cost: number;
  until: number;
  /** When something was given back. */
  ended: number;
}

const isGift = ({ verb }: Hit): boolean => !['take', 'peek', 'reserve'].includes(verb);

/** Denials remembered, between a watch that hears what the store says and one that hears what callers are told. */
export function denialsKept(store: Store<Promise<Decision>>, stage: Stage, scene: string): Store {
  const keys = new Map<string, Denied[]>();
  let gifts = 0;

  function denialsOf({ plan, key }: Hit): Denied[] {
    const id = `${plan.name} ${plan.id} ${key}`;
    const since = performance.now() - KEPT;
    const denials = (keys.get(id) ?? []).filter(({ until }) => until > since);
    keys.set(id, denials);
    return denials;
  }

  async function heard(hit: Hit): Promise<Decision> {
    if (isGift(hit)) {
      gifts++;
      for (const denial of denialsOf(hit)) denial.ended = Math.min(denial.ended, performance.now());
      return store.apply(hit);
    }
    const before = gifts;
    const decision = await store.apply(hit);
    // What was given back meanwhile may have come later than the denial.
    if (!decision.allowed && decision.source === 'store' && before === gifts) {
      const denial = { cost: hit.cost, until: Infinity, ended: Infinity };
      denialsOf(hit).push(denial);
      // It is remembered from when its answer came: a little later, but in this tick.
      setImmediate(() => {
        denial.until = performance.now() + decision.retryAfter;
      });
    }
    return decision;
  }

  const remembering = denyCache({ ...store, apply: heard });

  async function judge(hit: Hit, answer: Promise<Decision>, asked: number): Promise<void> {
    const { source, allowed, retryAfter } = await answer;
    if (source !== 'deny-cache') return;
    // Those who heard of the denial in the same tick have told of it by then.
    await immediate();
    stage.checked(scene);
    stage.denied(scene);
    const left = denialsOf(hit)
      .filter(({ cost, ended }) => cost <= hit.cost && ended >= asked)
      .map(({ until }) => until - asked);
    if (allowed || hit.mode !== 'whole' || isGift(hit) || retryAfter > Math.max(...left) + GRAIN)
      stage.wrong(
        scene,
        `${hit.verb} ${hit.cost} denied for ${retryAfter} ms; the store: ${Math.max(...left)}`,
      );
  }

  function apply(hit: Hit): MaybePromise<Decision> {
    const asked = performance.now();
    const answer = remembering.apply(hit);
    judge(hit, answer, asked).catch(() => {});
    return answer;
  }

  return { clock: store.clock, apply, close: () => remembering.close() };
}
