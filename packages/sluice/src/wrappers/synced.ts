/**
 * Eventually consistent: a node decides by itself on what the store last said was left, and tells the store what it let
 * pass once an interval. It never waits for the store but at a key's first hit; in exchange, nodes that have not yet
 * heard of each other may let more pass than the limit. The README has the bound.
 */
import type { Clock, Decision, Hit, MaybePromise, Millis, Plan, Store } from '../engine/contract.ts';
import { localDecision } from '../engine/decision.ts';
import { type Duration, duration } from '../internal/duration.ts';
import { bound, checkOptionNames, storeHint, storeIn } from '../internal/options.ts';
import { copyOf, isKept, numbersOf } from './shared/cacheable-key.ts';
import { quietClock } from './shared/quiet-clock.ts';

export interface SyncedOptions {
  /** How often counts are pushed and totals pulled; for each limiter, at least ten times in its shortest window. */
  readonly every: Duration;
  /**
   * The most keys that are counted here; default 10,000. Further keys, and keys longer than 1,024 characters, are
   * checked directly.
   */
  readonly maxKeys?: number | undefined;
  /** In place of this machine's monotonic clock: for tests. */
  readonly clock?: Clock | undefined;
}

/** The longest interval, as a part of the shortest window: a node that hears less often decides by a window that is over. */
const PART = 1 / 10;
/** A shorter interval would cost more than it saves: limiters that need one are checked directly. */
const SHORTEST: Millis = 10;

/** The keys of all plans with one name and the same numbers. */
interface Group {
  readonly id: string;
  readonly plan: Plan;
  /** 0: checked directly. */
  readonly interval: Millis;
  readonly keys: Map<string, Count>;
  stop: (() => void) | undefined;
  nextSync: Millis;
}

/** What this node knows of a key. */
interface Count {
  readonly group: Group;
  readonly key: string;
  /** Whether the store answered the first hit. */
  first: Promise<boolean>;
  /** Its last answer; undefined: the first is on its way. */
  answer: Decision | undefined;
  answerAt: Millis;
  /** Then, how long one unit would have to wait, if that was asked. */
  wait: Millis;
  /** Let pass since the last push, and on its way in one. */
  passed: number;
  pushing: number;
  seen: boolean;
}

/** Counts here and tells the store once an interval: answers come at once, and the limit is kept roughly. */
export function synced(store: Store, options: SyncedOptions): Store<MaybePromise<Decision>> {
  const {
    every,
    maxKeys = 10_000,
    clock = quietClock,
  } = checkOptionNames('synced', options, ['every', 'maxKeys', 'clock']);
  storeIn('synced.store', store, storeHint);
  const longest = duration('synced.every', every);
  bound('synced.maxKeys', maxKeys);
  const byPlan = new WeakMap<Plan, Group>();
  /** The groups that have keys, by name and numbers. */
  const groups = new Map<string, Group>();
  const counts = new Set<Count>();
  /** Pushes and pulls on their way. */
  const underWay = new Set<Promise<void>>();
  let closed = false;

  function groupOf(plan: Plan): Group {
    const known = byPlan.get(plan);
    // A group without keys is not listed: by now, another one may be.
    if (known !== undefined && (known.interval === 0 || known.keys.size > 0)) return known;
    const id = known?.id ?? numbersOf(plan);
    const interval = known?.interval ?? intervalOf(plan, longest);
    const group = groups.get(id) ??
      known ?? { id, plan, interval, keys: new Map(), stop: undefined, nextSync: 0 };
    byPlan.set(plan, group);
    return group;
  }

  function apply(hit: Hit): MaybePromise<Decision> {
    const group = groupOf(hit.plan);
    if (closed || group.interval === 0) return store.apply(hit);
    const count = group.keys.get(hit.key);
    if (hit.mode !== 'whole' || (hit.verb !== 'take' && hit.verb !== 'peek')) return other(hit, count);
    if (count === undefined) return hit.verb === 'take' ? begin(hit, group) : store.apply(hit);
    count.seen = true;
    if (count.answer === undefined)
      return count.first.then((heard) => (heard ? apply(hit) : store.apply(hit)));
    const allowed = left(count) >= hit.cost;
    if (!allowed && hit.plan.policies.some(({ limit }) => hit.cost > limit)) return store.apply(hit);
    if (allowed && hit.verb === 'take') count.passed += hit.cost;
    return decision(count, count.answer, allowed, allowed && hit.verb === 'take' ? hit.cost : 0);
  }

  /** The first hit of a key asks the store; those that come before the answer wait for it. */
  function begin(hit: Hit, group: Group): MaybePromise<Decision> {
    if (counts.size >= maxKeys || !isKept(hit.key)) return store.apply(hit);
    const key = copyOf(hit.key);
    const count: Count = {
      group,
      key,
      first: Promise.resolve(false),
      answer: undefined,
      answerAt: 0,
      wait: 0,
      passed: 0,
      pushing: 0,
      seen: true,
    };
    counts.add(count);
    group.keys.set(key, count);
    groups.set(group.id, group);
    schedule(group);
    const answer = learn(count, hit, true);
    count.first = answer.then(
      ({ source }) => source === 'store',
      () => false,
    );
    return answer;
  }

  function other(hit: Hit, count: Count | undefined): MaybePromise<Decision> {
    const isCounted = hit.verb === 'refund' && hit.of?.source !== 'fallback';
    if (count?.answer !== undefined && isCounted && count.passed >= hit.cost) {
      count.passed -= hit.cost;
      return decision(count, count.answer, true, 0);
    }
    if (hit.verb === 'reset' || hit.verb === 'block') forgetAll(hit);
    return store.apply(hit);
  }

  /** Tiers may read the same row. After a reset, what passed before is nobody's. */
  function forgetAll({ verb, plan, key }: Hit): void {
    for (const count of counts) {
      if (count.key !== key || count.group.plan.name !== plan.name) continue;
      if (verb === 'block') tell(count);
      forget(count);
    }
  }

  function forget(count: Count): void {
    const { group, key } = count;
    counts.delete(count);
    if (group.keys.get(key) === count) group.keys.delete(key);
    if (group.keys.size === 0 && groups.get(group.id) === group) groups.delete(group.id);
  }

  /** Asks the store. Without an answer from it nothing is known of the key: the next hit begins anew. */
  async function learn(count: Count, hit: Hit, isOneUnit: boolean): Promise<Decision> {
    try {
      const answer = await store.apply(hit);
      if (answer.source !== 'store') forget(count);
      else count.answer = answer;
      count.answerAt = clock.now();
      count.wait = isOneUnit ? answer.retryAfter : 0;
      return answer;
    } catch (error) {
      forget(count);
      throw error;
    }
  }

  function schedule(group: Group): void {
    if (group.stop !== undefined || closed) return;
    group.nextSync = clock.now() + group.interval;
    group.stop = clock.after(group.interval, () => {
      group.stop = undefined;
      for (const count of group.keys.values()) {
        if (!count.seen && count.passed === 0 && count.pushing === 0) forget(count);
        else if (count.pushing === 0 && count.answer !== undefined) start(count);
        count.seen = false;
      }
      if (group.keys.size > 0) schedule(group);
    });
  }

  function tell(count: Count): void {
    if (count.passed > 0) start(count);
  }

  function start(count: Count): void {
    const done = sync(count).finally(() => underWay.delete(done));
    underWay.add(done);
  }

  /** Pushes what passed; if nothing did, just asks. Never twice: nobody knows whether it arrived. */
  async function sync(count: Count): Promise<void> {
    const { group, key, passed } = count;
    const { plan } = group;
    count.pushing = passed;
    count.passed = 0;
    const push: Hit = { verb: 'take', plan, key, cost: passed, mode: 'always', span: Infinity };
    const pull: Hit = { verb: 'peek', plan, key, cost: 1, mode: 'whole', span: 0 };
    await learn(count, passed > 0 ? push : pull, passed === 0).catch(() => {});
    count.pushing = 0;
  }

  function decision(count: Count, answer: Decision, allowed: boolean, taken: number): Decision {
    const now = clock.now();
    const age = now - count.answerAt;
    const used = count.passed + count.pushing;
    const retryAfter = allowed ? 0 : Math.max(count.group.nextSync - now, count.wait - age, 1);
    // What passed here costs as much as it leaves less: the store's next unit comes when it would have come.
    return localDecision(answer, allowed, taken, -used, age, retryAfter);
  }

  /** Pushes what is left to tell, and waits for what is under way. */
  async function close(): Promise<void> {
    closed = true;
    for (const { stop } of groups.values()) stop?.();
    for (const count of counts) {
      tell(count);
      forget(count);
    }
    await Promise.all(underWay);
    await store.close();
  }

  return { clock: store.clock, ephemeral: store.ephemeral, backend: store.backend ?? store, apply, close };
}

/** How often the plan's keys are told and heard of; 0 if that would be too rough or too often. */
function intervalOf({ policies }: Plan, longest: Millis): Millis {
  // Only where `remaining` counts what may still pass.
  if (policies.some(({ algorithm }) => algorithm.lease === undefined)) return 0;
  const most = PART * Math.min(...policies.map(({ window }) => window));
  if (longest <= most) return longest;
  return most >= SHORTEST ? most : 0;
}

function left({ answer, passed, pushing }: Count): number {
  return (answer as Decision).remaining - passed - pushing;
}
