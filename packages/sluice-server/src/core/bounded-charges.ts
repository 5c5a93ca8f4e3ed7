/**
 * Bounds what one call may charge or give back, because calls come from the network. Without these bounds, a client that is not
 * permitted to reset or block keys could reset a key with a refund of 2^53 units, or deny it forever with a settlement of 2^53
 * units.
 */
import { type Decision, type MaybePromise, type Millis, SluiceError, type Store } from 'sluice';
import { declareDecision, type Hit, type PlacedPolicy } from 'sluice/store';
import { chain } from './maybe-promise.ts';

/** An error about a cost that is too high. */
export type CostError = SluiceError & {
  /** The highest cost that all policies of the limit accept. */
  readonly most: number;
};

export function isCostError(error: unknown): error is CostError {
  return error instanceof SluiceError && 'most' in error;
}

export interface BoundedStore extends Store {
  /**
   * Calls the function. Its hits are checked but not sent to the store, so an invalid call throws its usual error, and a valid
   * call has no effect.
   */
  rehearse<T>(call: () => T): T;
}

/**
 * Wraps a store so that no hit charges or gives back more units of a policy than `maxCost`, which defaults to the policy's limit.
 *
 * - A refund or release above this number, or a settlement that gives back more than this number, throws a CostError, because no
 *   charge can have been that high.
 * - A take or reservation above this number also throws, unless the policy itself denies it. In mode 'always', which also charges
 *   denied takes, the library limits the charge, so that the charge denies the key for at most one more window.
 * - A settlement is charged up to this number, because it reports what was really used.
 */
export function boundCharges(store: Store, maxCost: number | undefined): BoundedStore {
  const mostOf = ({ limit }: PlacedPolicy): number => maxCost ?? limit;
  let isRehearsal = false;

  /** Throws a CostError if the hit would charge or give back too much. */
  function check(hit: Hit): void {
    const { verb, cost, plan } = hit;
    const isTake = verb === 'take' || verb === 'reserve';
    if (!isTake && !GIVES_BACK.has(verb)) return;
    for (let i = 0; i < plan.policies.length; i++) {
      const policy = plan.policies[i];
      const units = verb === 'settle' ? -costAt(cost, i) : costAt(cost, i);
      if (!(units > mostOf(policy)) || policy.algorithm.countsDenials === true) continue;
      const isDenied = isTake && maxCost === undefined && !admitsAnyCost(policy);
      if (!isDenied) throw costError(hit, policy, units, maxCost);
    }
  }

  /**
   * Returns the settlement with lower costs if necessary. A policy that carries an overdraft over to later windows is charged at
   * most `mostOf(policy)`.
   */
  function reduced(hit: Hit): Hit {
    const { cost, plan } = hit;
    const parts = plan.policies.map((policy, i) =>
      policy.algorithm.booking === undefined ? costAt(cost, i) : Math.min(costAt(cost, i), mostOf(policy)),
    );
    return parts.every((part, i) => part === costAt(cost, i)) ? hit : { ...hit, cost: parts };
  }

  function apply(hit: Hit): MaybePromise<Decision> {
    // A take of one unit is the most frequent hit. It skips the checks to save time.
    if (hit.cost === 1 && hit.verb === 'take' && !isRehearsal) return store.apply(hit);
    check(hit);
    if (hit.verb === 'reserve') checkDelay(hit);
    if (isRehearsal) return REHEARSED;
    if (hit.verb !== 'settle') return store.apply(hit);
    const settlement = reduced(hit);
    return chain(store.apply(settlement), (made) => limitOverdraft(store, settlement, made, mostOf));
  }

  return {
    ...store,
    apply,
    taker(plan) {
      const take = store.taker?.(plan);
      if (take === undefined || maxCost !== undefined || plan.policies.some(admitsAnyCost)) return undefined;
      return (key, cost) => (isRehearsal ? REHEARSED : take(key, cost));
    },
    allTaker(hits) {
      for (const hit of hits) check(hit);
      return store.allTaker?.(hits);
    },
    rehearse(call) {
      isRehearsal = true;
      try {
        return call();
      } finally {
        isRehearsal = false;
      }
    },
  };
}

/** The decision on a hit that was not sent to the store. */
const REHEARSED: Decision = declareDecision('rehearsal', true, 0, 0);
const GIVES_BACK: ReadonlySet<Hit['verb']> = new Set(['refund', 'release', 'settle']);

function costAt(cost: Hit['cost'], index: number): number {
  return typeof cost === 'number' ? cost : cost[index];
}

/** Whether the policy allows a cost above its limit and makes later calls wait instead. */
function admitsAnyCost({ algorithm }: PlacedPolicy): boolean {
  return algorithm.name === 'pacer';
}

function costError(
  { verb, plan }: Hit,
  { name, limit }: PlacedPolicy,
  units: number,
  maxCost: number | undefined,
): CostError {
  const option = verb === 'settle' ? 'charged - used' : 'cost';
  const words =
    maxCost === undefined
      ? `must be at most ${limit}, the limit of policy ${JSON.stringify(name)}`
      : `must be at most ${maxCost}, the maximum cost of this server`;
  const charged = plan.policies.filter(({ algorithm }) => algorithm.countsDenials !== true);
  const most = maxCost ?? Math.min(...charged.map((policy) => policy.limit));
  const hint = "the server's --max-cost option sets a different maximum";
  return Object.assign(new SluiceError('ERR_COST', option, units, hint, words), { most });
}

/**
 * Throws if the longest delay that a reservation accepts is longer than the limit's longest window. Without this bound, a client
 * could book all future turns.
 */
function checkDelay({ plan, span }: Hit): void {
  const longest = longestWindow(plan.policies);
  if (longest > 0 && span > longest)
    throw new SluiceError(
      'ERR_DURATION',
      'maxDelay',
      span,
      '',
      `must be at most ${longest} ms, the longest window of the limit`,
    );
}

function longestWindow(policies: readonly PlacedPolicy[]): Millis {
  return Math.max(0, ...policies.map((policy) => (policy.algorithm.booking ? windowOf(policy) : 0)));
}

function windowOf({ window, per = window }: PlacedPolicy): Millis {
  return Math.max(window, per);
}

/**
 * Refunds a settlement's charge if the key would be denied for too long: longer than the sum of one window and the time in which
 * the largest single charge is replenished. Without this refund, a client could deny a key forever by sending one settlement
 * after another. Only policies that carry overdrafts over to later windows are affected.
 */
function limitOverdraft(
  store: Store,
  hit: Hit,
  decision: Decision,
  mostOf: (policy: PlacedPolicy) => number,
): MaybePromise<Decision> {
  let isOverdrawn = false;
  const excess = hit.plan.policies.map((policy, i) => {
    const { algorithm, limit, window } = policy;
    const units = costAt(hit.cost, i);
    const longestWait = windowOf(policy) + (mostOf(policy) / limit) * window;
    if (!(units > 0) || algorithm.booking === undefined) return 0;
    // A fallback decision has no policies.
    if (!((decision.policies.at(i)?.retryAfter ?? 0) > longestWait)) return 0;
    isOverdrawn = true;
    return units;
  });
  if (!isOverdrawn) return decision;
  return store.apply({ ...hit, verb: 'refund', cost: excess, of: undefined });
}
