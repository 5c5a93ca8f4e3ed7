/** From what a caller wrote to what a store needs: policies with names, side by side in one row. */
import type { Inheritance, PlacedPolicy, Plan, Policy } from './contract.ts';
import { digest } from './digest.ts';
import { SluiceError } from './errors.ts';
import { signatureWidth } from './inherit.ts';
import { parsePolicies } from './policy-text.ts';

/** Text, a policy, several in a list, or several by name. */
export type Policies =
  | string
  | Policy
  | readonly (string | Policy)[]
  | { readonly [name: string]: string | Policy };

/** What becomes of a key's state when its limit changes. */
export type Inherit = Inheritance['keeps'] | 'reset';

/** Places the policies in a row; of a tier, beside the `base`. Without a name, limiters of the same policies share keys. */
export function planOf(policies: Policies, name?: string, base?: Plan, inherit?: Inherit): Plan {
  const placed: PlacedPolicy[] = [];
  let width = 0;
  for (const [policyName, policy] of Object.entries(namedPolicies(policies))) {
    const { algorithm, params, limit, window } = policy;
    const grows = algorithm.roomy !== undefined;
    placed.push({ algorithm, params, limit, window, name: policyName, offset: width, grows });
    width += grows ? 1 : algorithm.width(params);
  }
  if (!placed.some((policy) => !policy.algorithm.countsDenials)) {
    throw new SluiceError('ERR_POLICY', 'policies', policies, 'at least one that denies by itself');
  }
  const id = placed.map(describe).join('&');
  const number = `~${digest(id).toString(36)}`;
  const variant = inherit === undefined || inherit === 'reset' ? '' : `+${inherit}`;
  const signature = placed.map((policy) => policy.algorithm.name).join('&') + variant;
  const inheritance = inheritanceOf(placed, width, inherit);
  return {
    // After a 'reset' nothing is shared.
    name:
      name === undefined ? (base?.name ?? signature + number) : inherit === 'reset' ? name + number : name,
    variant: base === undefined || base.signature === signature ? variant : signature,
    id,
    policies: placed,
    width: width + (inheritance?.width ?? 0),
    signature,
    inherit: inheritance,
  };
}

function inheritanceOf(
  policies: readonly Policy[],
  offset: number,
  inherit: Inherit | undefined,
): (Inheritance & { width: number }) | undefined {
  if (inherit === undefined || inherit === 'reset') return undefined;
  for (const { algorithm } of policies) {
    // What records units is additive as it is; what only watches others has none to keep.
    if (algorithm.spending !== undefined || algorithm.countsDenials || inherit === 'additive') continue;
    const hint = `${algorithm.name} has only 'additive' and 'reset'`;
    throw new SluiceError('ERR_CHOICE', 'createLimiter.inherit', inherit, hint);
  }
  const spending = policies.filter(({ algorithm }) => algorithm.spending !== undefined);
  return { keeps: inherit, offset, width: signatureWidth(inherit) * spending.length };
}

function namedPolicies(policies: Policies): Record<string, Policy> {
  if (typeof policies === 'string') return parsePolicies(policies);
  if (isPolicy(policies)) return { default: policies };
  if (typeof policies !== 'object' || policies === null)
    throw new SluiceError('ERR_POLICY', 'policies', policies);
  // A policy may be called __proto__.
  const named = Object.create(null) as Record<string, Policy>;
  for (const [name, policy] of Object.entries(policies)) {
    const list = Array.isArray(policies);
    for (const [part, one] of Object.entries(
      list || typeof policy !== 'string' ? namedPolicies(policy) : parsePolicies(policy),
    )) {
      named[
        nameFor(
          named,
          list
            ? part === 'default'
              ? one.algorithm.name
              : part
            : part === 'default'
              ? name
              : `${name} ${part}`,
        )
      ] = one;
    }
  }
  return named;
}

/** A list may hold two of a kind: the second becomes 'gcra-2'. */
function nameFor(taken: Record<string, Policy>, name: string): string {
  let free = name;
  for (let i = 2; Object.hasOwn(taken, free); i++) free = `${name}-${i}`;
  return free;
}

function isPolicy(value: unknown): value is Policy {
  return typeof value === 'object' && value !== null && 'algorithm' in value && 'params' in value;
}

function describe({ algorithm, params }: Policy): string {
  return [algorithm.name, ...Object.values(params)].join(':');
}
