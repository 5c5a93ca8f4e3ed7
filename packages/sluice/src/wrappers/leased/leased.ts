/**
 * Strict leases. A node debits a batch of units from the store and spends them locally, so that most decisions need no call to
 * the store. Whatever fails, no more units pass than the policies allow (docs/decisions/0020-strict-leases.md).
 */
import {
  type AllTaker,
  type Clock,
  type Decision,
  type Hit,
  isPlain,
  type MaybePromise,
  type PlainHit,
  type Plan,
  type Store,
} from '../../engine/contract.ts';
import { type Duration, duration } from '../../internal/duration.ts';
import { bound, checkOptionNames, storeIn, whole } from '../../internal/options.ts';
import { equalPlansId } from '../shared/equal-plans.ts';
import { copyOf, isCacheable } from '../shared/cacheable-key.ts';
import { quietClock } from '../shared/quiet-clock.ts';
import type { Node } from './key-store.ts';
import { LeasedKey } from './leased-key.ts';
import { type Terms, termsOf } from './terms.ts';
import { passedOn } from '../shared/passed-on.ts';

/**
 * Options of `leased`. Use the same `lease` and `nodes` in all processes of a limiter, because the burst in the store depends on
 * them.
 */
export interface LeasedOptions {
  /** The longest time for which a process holds units. Default 5 s, and never more than a quarter of a policy's window. */
  readonly lease?: Duration | undefined;
  /**
   * The approximate number of processes that share the store. Default 8. With limits below 20 units per process, every hit is
   * sent to the store.
   */
  readonly nodes?: number | undefined;
  /**
   * The maximum number of keys with a lease, per limiter. Default 10,000. Beyond that, the least recently used key is evicted.
   * Hits on keys longer than 1,024 characters are always sent to the store.
   */
  readonly maxKeys?: number | undefined;
  /** Replaces this machine's monotonic clock in tests. */
  readonly clock?: Clock | undefined;
  /** Replaces Math.random in tests. */
  readonly random?: (() => number) | undefined;
}

/** The keys of all plans that have the same name and numbers. */
interface Group {
  readonly plan: Plan;
  readonly id: string;
  /** The terms of leases. Undefined if the plan is not leased, so that every hit is sent to the store. */
  readonly terms: Terms | undefined;
  readonly keys: Map<string, LeasedKey>;
  stopSweeping: (() => void) | undefined;
  /** False once the group was dropped because it had no keys. Equal plans must no longer use this group. */
  isListed: boolean;
}

/**
 * Wraps a store so that each process debits units in batches and spends them locally. Most decisions are then synchronous, and no
 * more units pass than the limit allows.
 */
export function leased(store: Store, options: LeasedOptions = {}): Store<MaybePromise<Decision>> {
  const {
    lease = '5s',
    nodes = 8,
    maxKeys = 10_000,
    clock = quietClock,
    random = Math.random,
  } = checkOptionNames('leased', options, ['lease', 'nodes', 'maxKeys', 'clock', 'random']);
  storeIn('leased.store', store);
  const maxDuration = duration('leased.lease', lease);
  whole('leased.nodes', nodes);
  bound('leased.maxKeys', maxKeys);
  const node: Node = { store, now: clock.now.bind(clock), random, roundTrip: 0 };
  const groupByPlan = new WeakMap<Plan, Group>();
  /**
   * The groups whose plan is leased. The map's key is `equalPlansId`, not the plan object, because a policy function may return a
   * new object for each hit.
   */
  const groups = new Map<string, Group>();
  let lastPlan: Plan | undefined;
  let lastGroup: Group | undefined;
  let isClosed = false;

  function groupOf(plan: Plan): Group {
    if (plan === lastPlan) return lastGroup as Group;
    const known = groupByPlan.get(plan);
    const group = known?.isListed ? known : findGroup(plan);
    groupByPlan.set(plan, group);
    lastPlan = plan;
    lastGroup = group;
    return group;
  }

  function findGroup(plan: Plan): Group {
    const id = equalPlansId(plan);
    const known = groups.get(id);
    if (known !== undefined) return known;
    const terms = termsOf(plan, maxDuration, nodes);
    const group: Group = { plan, id, terms, keys: new Map(), stopSweeping: undefined, isListed: true };
    if (terms !== undefined && !isClosed) {
      groups.set(id, group);
      scheduleSweep(group, terms);
    }
    return group;
  }

  function scheduleSweep(group: Group, terms: Terms): void {
    group.stopSweeping = clock.after(terms.duration / 2, () => sweep(group, terms));
  }

  function apply(hit: Hit): MaybePromise<Decision> {
    const group = groupOf(hit.plan);
    const { terms, keys } = group;
    if (terms === undefined) return store.apply(hit);
    const found = keys.get(hit.key);
    if (hit.isLease && isPlain(hit) && hit.verb === 'refund' && hit.of?.source === 'lease') {
      // The hit returns units of a lease that this node passed on. If that lease is over, the units are lost.
      const kept = found?.takeBack(hit.cost, hit.of.at ?? 0);
      return kept ?? store.apply({ ...hit, verb: 'peek', plan: terms.plan });
    }
    if (isLeasable(hit) && !isClosed && isCacheable(hit.key)) {
      if (hit.verb === 'take') return (found ?? add(group, terms, hit.key)).take(hit);
      if (hit.verb === 'peek' && found !== undefined) return found.peek(hit);
      if (hit.verb === 'refund' && found !== undefined) return found.refund(hit);
    }
    if (hit.verb === 'reset' || hit.verb === 'block') drop(hit);
    return store.apply({ ...hit, plan: terms.plan });
  }

  /**
   * Returns undefined if a lease may answer any of the hits. Such hits are decided one by one, because most of them need no call to
   * the store.
   */
  function allTaker(this: Store, hits: readonly Hit[]): AllTaker | undefined {
    // If a wrapper copied this object and replaced `apply`, the hits are decided one by one, so that the wrapper sees each of them.
    if (this.apply !== apply) return undefined;
    const sent: Hit[] = [];
    for (const hit of hits) {
      const { terms } = groupOf(hit.plan);
      if (terms !== undefined && isLeasable(hit) && !isClosed && isCacheable(hit.key)) return undefined;
      sent.push(terms === undefined ? hit : { ...hit, plan: terms.plan });
    }
    return store.allTaker?.(sent);
  }

  function add(group: Group, terms: Terms, key: string): LeasedKey {
    // Evicts the oldest key that was not used since it was last considered.
    for (const [oldest, entry] of group.keys) {
      if (group.keys.size < maxKeys) break;
      group.keys.delete(oldest);
      if (entry.isInUse) {
        entry.isInUse = false;
        group.keys.set(oldest, entry);
      } else void entry.close();
    }
    const copy = copyOf(key);
    const entry = new LeasedKey(copy, terms, node);
    group.keys.set(copy, entry);
    return entry;
  }

  /** Returns the units of idle keys, and ends the expired leases of other keys. */
  function sweep(group: Group, terms: Terms): void {
    for (const [key, entry] of group.keys) {
      if (entry.isInUse) entry.endExpired(clock.now());
      else {
        group.keys.delete(key);
        void entry.close();
      }
      entry.isInUse = false;
    }
    if (group.keys.size > 0) {
      scheduleSweep(group, terms);
      return;
    }
    group.isListed = false;
    groups.delete(group.id);
    lastPlan = undefined;
  }

  /** Ends the leases of the key in all groups whose plan has the same name, because tiers may share a row. */
  function drop({ verb, plan, key }: Hit): void {
    for (const { plan: other, keys } of groups.values()) {
      const entry = other.name === plan.name ? keys.get(key) : undefined;
      if (entry === undefined) continue;
      keys.delete(key);
      if (verb === 'reset') entry.forget();
      else void entry.close();
    }
  }

  /** Returns all leases, then closes the store. */
  async function close(): Promise<void> {
    isClosed = true;
    const entries = [...groups.values()].flatMap(({ keys }) => [...keys.values()]);
    for (const { keys, stopSweeping } of groups.values()) {
      stopSweeping?.();
      keys.clear();
    }
    await Promise.all(entries.map((entry) => entry.close()));
    await store.close();
  }

  return {
    ...passedOn(store),
    apply,
    allTaker,
    close,
  };
}

/**
 * Whether a lease can answer the hit. A lease holds the same number of units of every policy, so it cannot answer a hit that has
 * a separate cost for each policy. A refund of units that the fallback charged does not belong to a lease.
 */
function isLeasable(hit: Hit): hit is PlainHit {
  if (!isPlain(hit)) return false;
  // If another node returns units that the store leased to it directly, the refund is sent to the store.
  if (hit.isLease) return hit.verb === 'take';
  return hit.mode === 'whole' && hit.of?.source !== 'fallback';
}
