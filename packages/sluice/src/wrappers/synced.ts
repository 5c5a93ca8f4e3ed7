/**
 * Eventually consistent counting. A node decides locally, based on the remaining units that the store last reported. Once per
 * interval, it pushes the number of units that it has admitted. Only the first hit of a key waits for the store. In exchange, nodes
 * may together admit more than the limit, because each node learns late what the other nodes admitted. README.md in this folder
 * states by how much.
 */
import {
  type AllTaker,
  type Clock,
  type Decision,
  type Hit,
  isPlain,
  type MaybePromise,
  type Millis,
  type Plan,
  type Store,
} from '../engine/contract.ts';
import { localDecision } from '../engine/decision.ts';
import { type Duration, duration } from '../internal/duration.ts';
import { bound, checkOptionNames, storeIn } from '../internal/options.ts';
import { copyOf, isCacheable } from './shared/cacheable-key.ts';
import { equalPlansId } from './shared/equal-plans.ts';
import { quietClock } from './shared/quiet-clock.ts';
import { passedOn } from './shared/passed-on.ts';

/** Options of `synced`. */
export interface SyncedOptions {
  /**
   * The interval at which this process pushes its counts and pulls the totals. If it is longer than a tenth of a limiter's shortest
   * window, a tenth of that window is used instead.
   */
  readonly every: Duration;
  /**
   * The maximum number of keys that are counted in this process. Default 10,000. Hits on further keys, and on keys longer than
   * 1,024 characters, are always sent to the store.
   */
  readonly maxKeys?: number | undefined;
  /** Replaces this machine's monotonic clock in tests. */
  readonly clock?: Clock | undefined;
}

/**
 * Longest interval, as a fraction of the shortest window. With a longer interval, nodes would decide based on windows that have
 * already ended.
 */
const MAX_INTERVAL = 1 / 10;
/**
 * Shortest interval, in milliseconds. A shorter interval would cost more calls than it saves, so hits of limiters that would need
 * a shorter interval are sent to the store.
 */
const MIN_INTERVAL: Millis = 10;

/** The keys of all plans that have the same name and numbers. */
interface Group {
  readonly id: string;
  readonly plan: Plan;
  /** How often the keys are synchronized, in milliseconds. 0 if every hit of the plan is sent to the store. */
  readonly interval: Millis;
  readonly keys: Map<string, Count>;
  stop: (() => void) | undefined;
  nextSync: Millis;
}

/** The state of a key on this node. */
interface Count {
  readonly group: Group;
  readonly key: string;
  /** Resolves with true if the store itself answered the first hit. */
  firstAnswered: Promise<boolean>;
  /** The last answer of the store. Undefined while the first hit is in flight. */
  answer: Decision | undefined;
  answerAt: Millis;
  /**
   * The `retryAfter` of the last answer. 0 if the last answer was to a push, whose `retryAfter` is about the pushed cost and not
   * about a caller's hit.
   */
  wait: Millis;
  /** Units admitted since the last push. */
  admitted: number;
  /** Units in a push that is in flight. */
  pushing: number;
  /** Whether there was a hit since the last interval ended. */
  isInUse: boolean;
}

/**
 * Wraps a store so that each process counts locally and synchronizes with the store once per interval. Most decisions are
 * synchronous, and the limit is approximate.
 */
export function synced(store: Store, options: SyncedOptions): Store<MaybePromise<Decision>> {
  const {
    every,
    maxKeys = 10_000,
    clock = quietClock,
  } = checkOptionNames('synced', options, ['every', 'maxKeys', 'clock']);
  storeIn('synced.store', store);
  const maxInterval = duration('synced.every', every);
  bound('synced.maxKeys', maxKeys);
  const groupByPlan = new WeakMap<Plan, Group>();
  /** The groups that have keys, by name and numbers. */
  const groups = new Map<string, Group>();
  const counts = new Set<Count>();
  /** Pushes and pulls in flight. */
  const inFlight = new Set<Promise<void>>();
  let closed = false;

  function groupOf(plan: Plan): Group {
    const known = groupByPlan.get(plan);
    // A group without keys is not in `groups`, where another group may have taken its place.
    if (known !== undefined && (known.interval === 0 || known.keys.size > 0)) return known;
    const id = known?.id ?? equalPlansId(plan);
    const interval = known?.interval ?? intervalOf(plan, maxInterval);
    const group = groups.get(id) ??
      known ?? { id, plan, interval, keys: new Map(), stop: undefined, nextSync: 0 };
    groupByPlan.set(plan, group);
    return group;
  }

  function apply(hit: Hit): MaybePromise<Decision> {
    const group = groupOf(hit.plan);
    if (closed || group.interval === 0) return store.apply(hit);
    const count = group.keys.get(hit.key);
    if (!isPlain(hit)) return applyOther(hit, undefined);
    if (hit.mode !== 'whole' || (hit.verb !== 'take' && hit.verb !== 'peek')) return applyOther(hit, count);
    if (count === undefined) return hit.verb === 'take' ? startCounting(hit, group) : store.apply(hit);
    count.isInUse = true;
    if (count.answer === undefined)
      return count.firstAnswered.then((isAnswered) => (isAnswered ? apply(hit) : store.apply(hit)));
    const allowed = left(count) >= hit.cost;
    if (!allowed && hit.plan.policies.some(({ limit }) => hit.cost > limit)) return store.apply(hit);
    if (allowed && hit.verb === 'take') count.admitted += hit.cost;
    return decision(count, count.answer, allowed, allowed && hit.verb === 'take' ? hit.cost : 0);
  }

  /** Returns undefined if any of the hits is counted in this process, because such hits are decided one by one. */
  function allTaker(this: Store, hits: readonly Hit[]): AllTaker | undefined {
    // If a wrapper copied this object and replaced `apply`, the hits are decided one by one, so that the wrapper sees each of them.
    if (this.apply !== apply) return undefined;
    const isCounted = (hit: Hit): boolean => !closed && isPlain(hit) && groupOf(hit.plan).interval > 0;
    return hits.some(isCounted) ? undefined : store.allTaker?.(hits);
  }

  /** Sends the first hit of a key to the store. Hits that arrive before the store's answer wait for that answer. */
  function startCounting(hit: Hit, group: Group): MaybePromise<Decision> {
    if (counts.size >= maxKeys || !isCacheable(hit.key)) return store.apply(hit);
    const key = copyOf(hit.key);
    const count: Count = {
      group,
      key,
      firstAnswered: Promise.resolve(false),
      answer: undefined,
      answerAt: 0,
      wait: 0,
      admitted: 0,
      pushing: 0,
      isInUse: true,
    };
    counts.add(count);
    group.keys.set(key, count);
    groups.set(group.id, group);
    schedule(group);
    const answer = learn(count, hit, true);
    count.firstAnswered = answer.then(
      ({ source }) => source === 'store',
      () => false,
    );
    return answer;
  }

  /**
   * Sends hits that cannot be decided here to the store. Only a refund of units that were not pushed yet is applied to the local
   * count.
   */
  function applyOther(hit: Hit, count: Count | undefined): MaybePromise<Decision> {
    const isCounted = hit.verb === 'refund' && hit.of?.source !== 'fallback';
    if (isPlain(hit) && count?.answer !== undefined && isCounted && count.admitted >= hit.cost) {
      count.admitted -= hit.cost;
      return decision(count, count.answer, true, 0);
    }
    if (hit.verb === 'reset' || hit.verb === 'block') forgetAll(hit);
    return store.apply(hit);
  }

  /**
   * Stops counting the key in all groups whose plan has the same name, because tiers may share a row. After a reset, units that
   * were not pushed yet are dropped.
   */
  function forgetAll({ verb, plan, key }: Hit): void {
    for (const count of counts) {
      if (count.key !== key || count.group.plan.name !== plan.name) continue;
      if (verb === 'block') pushRest(count);
      forget(count);
    }
  }

  function forget(count: Count): void {
    const { group, key } = count;
    counts.delete(count);
    if (group.keys.get(key) === count) group.keys.delete(key);
    if (group.keys.size === 0 && groups.get(group.id) === group) groups.delete(group.id);
  }

  /** Calls the store. If it does not answer, nothing is known about the key, and the next hit starts counting from scratch. */
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
        if (!count.isInUse && count.admitted === 0 && count.pushing === 0) forget(count);
        else if (count.pushing === 0 && count.answer !== undefined) startSync(count);
        count.isInUse = false;
      }
      if (group.keys.size > 0) schedule(group);
    });
  }

  function pushRest(count: Count): void {
    if (count.admitted > 0) startSync(count);
  }

  function startSync(count: Count): void {
    const done = sync(count).finally(() => inFlight.delete(done));
    inFlight.add(done);
  }

  /**
   * Pushes the admitted units, or peeks if there are none. A push is sent only once, because the store may have counted it even if
   * the reply is lost.
   */
  async function sync(count: Count): Promise<void> {
    const { group, key, admitted } = count;
    const { plan } = group;
    count.pushing = admitted;
    count.admitted = 0;
    const push: Hit = { verb: 'take', plan, key, cost: admitted, mode: 'always', span: Infinity };
    const pull: Hit = { verb: 'peek', plan, key, cost: 1, mode: 'whole', span: 0 };
    await learn(count, admitted > 0 ? push : pull, admitted === 0).catch(() => {});
    count.pushing = 0;
  }

  function decision(count: Count, answer: Decision, allowed: boolean, taken: number): Decision {
    const now = clock.now();
    const age = now - count.answerAt;
    const used = count.admitted + count.pushing;
    const retryAfter = allowed ? 0 : Math.max(count.group.nextSync - now, count.wait - age, 1);
    // Units that this process admitted reduce the remaining units, but do not delay the time at which the store replenishes its
    // next unit.
    return localDecision(answer, allowed, taken, -used, age, retryAfter);
  }

  /** Pushes the remaining counts, and waits for everything that is in flight. */
  async function close(): Promise<void> {
    closed = true;
    for (const { stop } of groups.values()) stop?.();
    for (const count of counts) {
      pushRest(count);
      forget(count);
    }
    await Promise.all(inFlight);
    await store.close();
  }

  return {
    ...passedOn(store),
    apply,
    allTaker,
    close,
  };
}

/** How often the keys of a plan are synchronized. 0 if every hit of the plan must be sent to the store. */
function intervalOf({ policies }: Plan, maxInterval: Millis): Millis {
  // For algorithms that cannot be leased, `remaining` does not say how many units may still pass.
  if (policies.some(({ algorithm }) => algorithm.lease === undefined)) return 0;
  const most = MAX_INTERVAL * Math.min(...policies.map(({ window }) => window));
  if (maxInterval <= most) return maxInterval;
  return most >= MIN_INTERVAL ? most : 0;
}

function left({ answer, admitted, pushing }: Count): number {
  return (answer as Decision).remaining - admitted - pushing;
}
