/**
 * Bounds what one call may charge or give back, because calls come from the network. Without these bounds, a refund of 2^53 units
 * would be a reset, and a settlement of 2^53 units would deny a key forever, although the client may neither reset nor block keys.
 */
import { type Decision, type MaybePromise, type Millis, SluiceError, type Store } from 'sluice';
import type { Hit, PlacedPolicy } from 'sluice/store';
import { chain } from './maybe-promise.ts';

/** Verbs that give units back. For settle, negative parts of the cost are given back and positive parts are charged. */
const CORRECTIONS: ReadonlySet<Hit['verb']> = new Set(['refund', 'release', 'settle']);

/** An error about a cost that is too high. */
export type CostError = SluiceError & {
  /** The highest cost that all policies of the limit accept. */
  readonly most: number;
};

export function isCostError(error: unknown): error is CostError {
  return error instanceof SluiceError && 'most' in error;
}

/**
 * Wraps a store so that no hit charges or gives back more units of a policy than `maxCost`. Default: the policy's limit. Such hits
 * throw a CostError, and nothing is charged.
 */
export function boundCharges(store: Store, maxCost: number | undefined): Store {
  function check(hit: Hit): void {
    const { verb, cost, plan, mode } = hit;
    if (cost === 1 || verb === 'peek' || verb === 'block' || verb === 'reset' || verb === 'renew') return;
    const isCorrection = CORRECTIONS.has(verb);
    for (let i = 0; i < plan.policies.length; i++) {
      const policy = plan.policies[i];
      if (policy.algorithm.countsDenials === true) continue;
      const units = Math.abs(typeof cost === 'number' ? cost : cost[i]);
      const most = maxCost ?? policy.limit;
      if (!(units > most)) continue;
      // The policy itself denies a cost above its limit, or reduces it to what is available.
      const isDenied = maxCost === undefined && !isCorrection && mode !== 'always' && !admitsAnyCost(policy);
      if (!isDenied) throw costError(hit, policy, units, maxCost);
    }
  }

  function apply(hit: Hit): MaybePromise<Decision> {
    // The most frequent hit.
    if (hit.cost === 1 && hit.verb === 'take') return store.apply(hit);
    check(hit);
    if (hit.verb === 'reserve') checkDelay(hit);
    const decision = store.apply(hit);
    return hit.verb === 'settle' && hasPositivePart(hit)
      ? chain(decision, (made) => limitOverdraft(store, hit, made, maxCost))
      : decision;
  }

  return {
    ...store,
    apply,
    taker: (plan) =>
      maxCost === undefined && !plan.policies.some(admitsAnyCost) ? store.taker?.(plan) : undefined,
    allTaker(hits) {
      for (const hit of hits) check(hit);
      return store.allTaker?.(hits);
    },
  };
}

/** Whether the policy allows a cost above its limit, and makes later calls wait for it. */
function admitsAnyCost({ algorithm }: PlacedPolicy): boolean {
  return algorithm.name === 'pacer';
}

function costError(
  { verb, plan }: Hit,
  { name, limit }: PlacedPolicy,
  units: number,
  maxCost: number | undefined,
): CostError {
  const option = verb === 'settle' ? 'the difference between charged and used' : 'cost';
  const words =
    maxCost === undefined
      ? `must be at most ${limit}, the limit of policy ${JSON.stringify(name)}`
      : `must be at most ${maxCost}, the maximum cost of this server`;
  const charged = plan.policies.filter(({ algorithm }) => algorithm.countsDenials !== true);
  const most = maxCost ?? Math.min(...charged.map((policy) => policy.limit));
  const hint = 'the option --max-cost of the server sets another maximum';
  return Object.assign(new SluiceError('ERR_COST', option, units, hint, words), { most });
}

/** Turns can be booked at most one window ahead, because anything else would let a client book all turns of the future. */
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

function hasPositivePart({ cost }: Hit): boolean {
  return typeof cost === 'number' ? cost > 0 : cost.some((units) => units > 0);
}

/**
 * Takes a settlement back if the key was already denied for longer than one window before it. Otherwise, a client could add any
 * number of settlements, and so deny a key forever. This concerns only policies that carry overdrafts over to later windows.
 */
function limitOverdraft(
  store: Store,
  hit: Hit,
  decision: Decision,
  maxCost: number | undefined,
): MaybePromise<Decision> {
  const { plan, cost } = hit;
  let isOverdrawn = false;
  const excess = plan.policies.map((policy, i) => {
    const { algorithm, limit, window, name } = policy;
    const units = Math.max(0, typeof cost === 'number' ? cost : cost[i]);
    const wait = decision.policies.find((state) => state.name === name)?.retryAfter ?? 0;
    const longestWait = windowOf(policy) + ((maxCost ?? limit) / limit) * window;
    if (units === 0 || algorithm.booking === undefined || wait <= longestWait) return 0;
    isOverdrawn = true;
    return units;
  });
  if (!isOverdrawn) return decision;
  return store.apply({ ...hit, verb: 'refund', cost: excess, of: undefined });
}
