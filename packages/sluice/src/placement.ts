/** Policies with names, side by side in one row. */
import { MANUAL_BLOCK, type PlacedPolicy, type Plan, type Policy } from './contract.ts';
import { digest } from './digest.ts';
import { show, SluiceError } from './errors.ts';

export type NamedPolicies = Readonly<Record<string, Policy>>;

const RESERVED = `must not be named '${MANUAL_BLOCK}': in a decision, that name stands for a manual block`;

/** Without a name, limiters whose policies have the same names and numbers share keys. */
export function place(named: NamedPolicies, name?: string): Plan {
  // A caller's value may be anything; text is for the larger createLimiter.
  if (typeof named !== 'object' || named === null) throw new SluiceError('ERR_POLICY', 'policies', named);
  const policies: PlacedPolicy[] = [];
  let width = 0;
  for (const [policyName, policy] of Object.entries(named)) {
    if (!isPolicy(policy))
      throw new SluiceError('ERR_POLICY', 'policies', named, `${policyName} is ${show(policy)}`);
    if (policyName === MANUAL_BLOCK)
      throw new SluiceError('ERR_POLICY', 'policies', policyName, 'choose another name', RESERVED);
    const { algorithm, params, limit, window } = policy;
    const grows = algorithm.roomy !== undefined;
    const refill = algorithm.refill?.(params, limit, window);
    policies.push({ algorithm, params, limit, window, name: policyName, offset: width, grows, refill });
    width += grows ? 1 : algorithm.width(params);
  }
  if (!policies.some((policy) => !policy.algorithm.countsDenials)) {
    throw new SluiceError(
      'ERR_POLICY',
      'policies',
      named,
      'at least one that denies by itself: not only penalty()',
    );
  }
  const id = policies.map(describe).join('&');
  const signature = signatureOf(policies);
  return {
    name: name ?? policies.map((policy) => `${policy.name} ${describe(policy)}`).join('&'),
    id,
    policies,
    width,
    signature,
  };
}

/** Names what is stored in a row: plans with the same algorithms in the same order read each other's rows. */
export function signatureOf(policies: readonly Policy[]): string {
  return policies.map((policy) => policy.algorithm.name).join('&');
}

/** A suffix that stands for a plan's numbers. */
export function numbered(id: string): string {
  return `~${digest(id).toString(36)}`;
}

/** A caller's value may be anything. */
export function isPolicy(value: unknown): value is Policy {
  return typeof value === 'object' && value !== null && 'algorithm' in value && 'params' in value;
}

function describe({ algorithm, params }: Policy): string {
  return [algorithm.name, ...Object.values(params)].join(':');
}
