/**
 * Eventually consistent: a node decides by itself on what the store last said was left, and tells the store what it let
 * pass once an interval. It never waits for the store but at a key's first hit; in exchange, nodes that have not yet
 * heard of each other may let more pass than the limit. The README has the bound.
 */
import type { Clock, Decision, Hit, MaybePromise, Millis, Plan, Store } from '../contract.ts';
import { type Duration, duration } from '../duration.ts';
import { bound, known } from '../options.ts';
import { quietClock } from './quiet-clock.ts';

export interface SyncedOptions {
  /** How often counts are pushed and totals pulled. */
  readonly every: Duration;
  /** Keys looked after at once; default 10,000. What does not fit is checked directly. */
  readonly maxKeys?: number | undefined;
  /** In place of this machine's monotonic clock: for tests. */
  readonly clock?: Clock | undefined;
}

/** What this node knows of a key. */
interface Count {
  readonly plan: Plan;
  readonly key: string;
  /** The store's last answer, without the time it took; undefined: the first is on its way. */
  answer: Decision | undefined;
  answerAt: Millis;
  /** Then, how long one unit would have to wait, if that was asked. */
  wait: Millis;
  /** Let pass since the last push, and on its way in one. */
  passed: number;
  pushing: number;
  seen: boolean;
}

/** Those whose `remaining` counts what may still pass. The others are checked directly. */
const COUNTING: ReadonlySet<string> = new Set([
  'gcra',
  'leaky-bucket',
  'fixed-window',
  'calendar-window',
  'sliding-window',
  'sliding-log',
]);

export function synced(store: Store, options: SyncedOptions): Store<MaybePromise<Decision>> {
  const {
    every,
    maxKeys = 10_000,
    clock = quietClock,
  } = known('synced', options, ['every', 'maxKeys', 'clock']);
  const interval = duration('synced.every', every);
  bound('synced.maxKeys', maxKeys);
  const counts = new Map<string, Count>();
  let stop: (() => void) | undefined;
  let nextSync: Millis = 0;
  let closed = false;

  function apply(hit: Hit): MaybePromise<Decision> {
    if (closed || !hit.plan.policies.every(({ algorithm }) => COUNTING.has(algorithm.name)))
      return store.apply(hit);
    const id = `${hit.plan.name}\0${hit.plan.variant}\0${hit.plan.id}\0${hit.key}`;
    const count = counts.get(id);
    if (hit.mode !== 'whole' || (hit.verb !== 'take' && hit.verb !== 'peek')) return other(hit, count);
    if (count === undefined) return hit.verb === 'take' ? begin(hit, id) : store.apply(hit);
    count.seen = true;
    if (count.answer === undefined) return store.apply(hit);
    const allowed = left(count) >= hit.cost;
    if (!allowed && hit.plan.policies.some(({ limit }) => hit.cost > limit)) return store.apply(hit);
    if (allowed && hit.verb === 'take') count.passed += hit.cost;
    return decision(count, count.answer, allowed, allowed && hit.verb === 'take' ? hit.cost : 0);
  }

  /** The first hit of a key asks the store, and so do those that come before its answer. */
  async function begin(hit: Hit, id: string): Promise<Decision> {
    if (counts.size >= maxKeys) return store.apply(hit);
    const { plan, key } = hit;
    const count: Count = { plan, key, answer: undefined, answerAt: 0, wait: 0, passed: 0, pushing: 0, seen: true };
    counts.set(id, count);
    schedule();
    try {
      const answer = await store.apply(hit);
      learn(count, answer, answer.retryAfter);
      if (answer.source !== 'store') counts.delete(id);
      return answer;
    } catch (error) {
      counts.delete(id);
      throw error;
    }
  }

  function other(hit: Hit, count: Count | undefined): MaybePromise<Decision> {
    if (count?.answer !== undefined && hit.verb === 'refund' && count.passed >= hit.cost) {
      count.passed -= hit.cost;
      return decision(count, count.answer, true, 0);
    }
    if (hit.verb === 'reset' || hit.verb === 'block') forget(hit);
    return store.apply(hit);
  }

  /** Tiers may read the same row. After a reset, what passed before is nobody's. */
  function forget({ plan, key }: Hit): void {
    for (const [id, count] of counts)
      if (count.key === key && count.plan.name === plan.name) counts.delete(id);
  }

  function learn(count: Count, answer: Decision, wait: Millis): void {
    count.answer = answer;
    count.wait = wait;
    count.answerAt = clock.now();
  }

  function schedule(): void {
    if (stop !== undefined || closed) return;
    nextSync = clock.now() + interval;
    stop = clock.after(interval, () => {
      stop = undefined;
      for (const [id, count] of counts) {
        if (!count.seen && count.passed === 0 && count.pushing === 0) counts.delete(id);
        else if (count.pushing === 0 && count.answer !== undefined) void sync(id, count);
        count.seen = false;
      }
      if (counts.size > 0) schedule();
    });
  }

  /** Pushes what passed, or just asks. Without an answer nobody knows whether it arrived: the next hit begins anew. */
  async function sync(id: string, count: Count): Promise<void> {
    const { plan, key, passed } = count;
    count.pushing = passed;
    count.passed = 0;
    const push: Hit = { verb: 'take', plan, key, cost: passed, mode: 'always', span: 0 };
    try {
      const answer = await store.apply(passed > 0 ? push : { ...push, verb: 'peek', cost: 1, mode: 'whole' });
      if (answer.source !== 'store') counts.delete(id);
      learn(count, answer, passed > 0 ? 0 : answer.retryAfter);
    } catch {
      counts.delete(id);
    }
    count.pushing = 0;
  }

  function decision(count: Count, answer: Decision, allowed: boolean, taken: number): Decision {
    const now = clock.now();
    const age = now - count.answerAt;
    const used = count.passed + count.pushing;
    const retryAfter = allowed ? 0 : Math.max(nextSync - now, count.wait - age, 1);
    const states = answer.policies.map((policy) => ({
      ...policy,
      remaining: Math.max(0, Math.floor(policy.remaining - used)),
      retryAfter,
      resetAfter: Math.max(retryAfter, policy.resetAfter - age),
    }));
    return {
      ...answer,
      allowed,
      taken,
      remaining: Math.max(0, Math.floor(answer.remaining - used)),
      retryAfter,
      resetAfter: Math.max(retryAfter, answer.resetAfter - age),
      policies: states,
      source: 'lease',
    };
  }

  /** Pushes what is left to tell. */
  async function close(): Promise<void> {
    closed = true;
    stop?.();
    await Promise.all([...counts].map(([id, count]) => (count.passed > 0 ? sync(id, count) : undefined)));
    counts.clear();
    await store.close();
  }

  return { clock: store.clock, apply, close };
}

function left({ answer, passed, pushing }: Count): number {
  return (answer as Decision).remaining - passed - pushing;
}
