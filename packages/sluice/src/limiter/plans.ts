/** Creates the plans of a limiter, from the policies of each tier and those that a policy function returns for a key. */
import type { Plan, Policy } from '../engine/contract.ts';
import { SluiceError } from '../internal/errors.ts';
import type { Inherit } from '../policy/inherit.ts';
import { boundedCache } from '../internal/bounded-cache.ts';
import { isPromise } from '../internal/maybe-promise.ts';
import { processState } from '../internal/process-state.ts';
import type { Shape } from './open-names.ts';
import { type Policies, namesIn, planOf, plansFor } from '../policy/named-policies.ts';
import { signatureOf } from '../policy/layout.ts';
import type { Plans } from './verbs.ts';

/** Policies, or a function that returns the policies of a key. */
export type PolicySource = Policies | ((key: string) => Policies);

/** The names of the policies that a limiter was given as an object. If they were given in another form, any name is accepted. */
export type NamesIn<P> = P extends string | Policy | readonly unknown[] | ((key: string) => unknown)
  ? string
  : keyof P & string;

/** Number of unnamed limiters with a policy function so far. Each of them gets its own name. */
const unnamed = /* @__PURE__ */ processState('unnamed limiters', () => ({ count: 0 }));

export function plansOf(
  policies: PolicySource,
  name: string | undefined,
  tiers: { readonly [tier: string]: Policies },
  inherit: Inherit | undefined,
): Plans & {
  readonly shape: Shape;
  /** All plans except those for policies that a policy function returns. */
  readonly fixed: readonly Plan[];
  /** Whether a cost may name this policy. Returns undefined if no key is given and the policies depend on the key. */
  has(policy: string, key?: string, tier?: string): boolean | undefined;
} {
  const isByKey = typeof policies === 'function';
  if (isByKey) name ??= `by key ${++unnamed.count}`;
  const fixed = [...(isByKey ? [] : [policies]), ...Object.values(tiers)];
  const plans = fixed.length === 0 ? [] : plansFor(fixed, name, inherit);
  const base = isByKey ? undefined : plans[0];
  const own = isByKey ? plansByKey(policies, name as string, inherit) : () => base as Plan;
  const tierPlans = isByKey ? plans : plans.slice(1);
  const byTier = new Map(Object.keys(tiers).map((tier, i) => [tier, tierPlans[i]]));
  return {
    base,
    fixed: plans,
    shape: shapeOf(isByKey ? policies : undefined, fixed, plans, inherit),
    of(key, tier) {
      if (tier === undefined) return base ?? own(key);
      const plan = byTier.get(tier);
      if (plan !== undefined) return plan;
      throw new SluiceError('ERR_TIER', 'tier', tier, `tiers: ${[...byTier.keys()].join(', ') || 'none'}`);
    },
    has(policy, key, tier) {
      if (key !== undefined) return hasPolicy(this.of(key, tier), policy);
      return plans.some((plan) => hasPolicy(plan, policy)) || (isByKey ? undefined : false);
    },
    /** Plans that together cover all rows of the key. Plans with different signatures have different rows. */
    all(key) {
      const first = own(key);
      const apart = ({ signature }: Plan) => signature !== first.signature;
      return [first, ...tierPlans.filter(apart)];
    },
  };
}

function hasPolicy({ policies, slots }: Plan, name: string): boolean {
  return policies.some((own) => own.name === name) || slots.some((other) => other.name === name);
}

/** The properties that limiters with the same name must have in common to share rows. */
function shapeOf(
  byKey: ((key: string) => Policies) | undefined,
  fixed: readonly Policies[],
  plans: readonly Plan[],
  inherit: Inherit | undefined,
): Shape {
  // With 'reset', limiters with different numbers are meant to count separately.
  const rows = new Set(plans.map((plan) => (inherit === 'reset' ? signatureOf(plan.slots) : plan.signature)));
  const names = fixed.map(namesIn);
  const slots = plans.flatMap((plan) => plan.slots);
  const shown = [
    ...new Set(slots.map(({ name, algorithm }) => `${JSON.stringify(name)}: ${algorithm.name}`)),
  ];
  return {
    rows: sorted(rows).join(' ') + (byKey === undefined ? '' : ` by ${String(byKey)}`),
    names: names.includes(undefined) ? undefined : sorted(names.flat() as string[]).join('\0'),
    shown:
      (byKey === undefined ? '' : 'a policy function') +
      (shown.length === 0 ? '' : `${byKey === undefined ? '' : ' and '}{ ${shown.join(', ')} }`) +
      (inherit === undefined ? '' : ` with inherit '${inherit}'`),
  };
}

function sorted(texts: Iterable<string>): string[] {
  return [...new Set(texts)].sort((a, b) => (a < b ? -1 : 1));
}

const ANSWER =
  'a policy function must return a policy synchronously; load limits beforehand, or choose a tier per call';

/** The cache keeps at least this many plans for texts that a policy function returned. An evicted plan is created again. */
const READY = 1000;

/**
 * Returns the plan for the policies that the function returns. A plan is created once for each object, and once for each text
 * while that text is cached.
 */
function plansByKey(
  policiesOf: (key: string) => Policies,
  name: string,
  inherit: Inherit | undefined,
): (key: string) => Plan {
  const byText = boundedCache<Plan>(READY);
  const byObject = new WeakMap<object, Plan>();
  return (key) => {
    const policies = policiesOf(key);
    if (policies === undefined || policies === null || isPromise(policies))
      throw new SluiceError('ERR_POLICY', 'policies', policies, ANSWER);
    const known = typeof policies === 'string' ? byText.get(policies) : byObject.get(policies);
    if (known !== undefined) return known;
    const plan = planOf(policies, name, inherit);
    if (typeof policies === 'string') byText.set(policies, plan);
    else byObject.set(policies, plan);
    return plan;
  };
}
