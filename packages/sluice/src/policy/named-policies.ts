/** Turns the policies that a caller passed into plans for a store. */
import type { Plan, Policy } from '../engine/contract.ts';
import { show, SluiceError } from '../internal/errors.ts';
import { type Inherit, inheriting } from './inherit.ts';
import { isPromise } from '../internal/maybe-promise.ts';
import { isPolicy, type NamedPolicies, placeTogether } from './layout.ts';
import { parsePolicies } from './text.ts';

/** Policies as text, a single policy, a list of policies, or policies by name. */
export type Policies =
  | string
  | Policy
  | readonly (string | Policy)[]
  | { readonly [name: string]: string | Policy };

export function planOf(policies: Policies, name?: string, inherit?: Inherit): Plan {
  return plansFor([policies], name, inherit)[0];
}

/** Creates the plans of one limiter. They share one row per key, except with 'reset', which carries no state over. */
export function plansFor(all: readonly Policies[], name?: string, inherit?: Inherit): Plan[] {
  const named = all.map(namedPolicies);
  if (inherit === undefined) return placeTogether(named, name);
  if (inherit !== 'reset') return placeTogether(named, name).map((plan) => inheriting(plan, inherit));
  const [first, ...others] = named;
  const [base] = placeTogether([first], name);
  return [base, ...others.map((one) => placeTogether([one], base.name)[0])].map((plan) =>
    inheriting(plan, inherit),
  );
}

/**
 * The names that a caller gave to policies. Undefined if there are several policies whose names were derived from their texts or
 * algorithms.
 */
export function namesIn(policies: Policies): readonly string[] | undefined {
  if (typeof policies === 'object' && !isPolicy(policies) && !Array.isArray(policies))
    return Object.keys(policies);
  const names = Object.keys(namedPolicies(policies));
  return names.length === 1 && names[0] === 'default' ? names : undefined;
}

function namedPolicies(policies: unknown): NamedPolicies {
  if (typeof policies === 'string') return parsePolicies(policies);
  if (isPolicy(policies)) return { default: policies };
  if (typeof policies !== 'object' || policies === null)
    throw new SluiceError('ERR_POLICY', 'policies', policies);
  const misplaced = misplacedAs(policies);
  if (misplaced !== undefined) throw new SluiceError('ERR_POLICY', 'policies', policies, misplaced);
  // This object has no prototype, because a policy may be named __proto__.
  const named = Object.create(null) as Record<string, Policy>;
  const isList = Array.isArray(policies);
  for (const [name, given] of Object.entries(policies)) {
    if (typeof given !== 'string' && (typeof given !== 'object' || given === null))
      throw new SluiceError(
        'ERR_POLICY',
        'policies',
        policies,
        factoryFor(policies) ?? `${name} is ${show(given)}`,
      );
    for (const [part, policy] of Object.entries(namedPolicies(given))) {
      const own = isList ? policy.algorithm.name : name;
      const whole = part === 'default' ? own : isList ? part : `${name} ${part}`;
      named[nameFor(named, whole)] = policy;
    }
  }
  return named;
}

/** Advice for a caller that passed another kind of object, such as a store, instead of policies. */
function misplacedAs(given: object): string | undefined {
  if (isPromise(given)) return 'await it first';
  const { take, apply } = given as Record<string, unknown>;
  if (typeof take === 'function') return 'this is already a limiter';
  if (typeof apply === 'function')
    return "a store belongs in the options: createLimiter('100/min', { store })";
  return undefined;
}

/** Advice for a caller that passed options such as `{ limit, per }` without calling a policy factory. */
function factoryFor(given: object): string | undefined {
  const { limit, max, per, windowMs } = given as Record<string, unknown>;
  const [most, window] = [limit ?? max, per ?? windowMs];
  if (typeof most !== 'number') return undefined;
  if (typeof window === 'number')
    return `use gcra({ limit: ${most}, per: ${window} }) or '${most}/${window}ms'`;
  return typeof window === 'string'
    ? `use gcra({ limit: ${most}, per: '${window}' }) or '${most}/${window}'`
    : undefined;
}

/** A name that no other policy has yet. For example, the second gcra policy in a list is named 'gcra-2'. */
function nameFor(taken: NamedPolicies, name: string): string {
  let free = name;
  for (let i = 2; Object.hasOwn(taken, free); i++) free = `${name}-${i}`;
  return free;
}
