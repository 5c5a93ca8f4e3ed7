/** Sluice's own part of a configuration: `limits`, by name. */
import type { Mode, Policies } from 'sluice';
import type { LimitConfig, Override } from './model.ts';
import { readPolicies } from './policies.ts';
import type { Value } from './value.ts';

const MODES: readonly Mode[] = ['whole', 'partial', 'always'];
const LONGEST_NAME = 200;

/** Undefined after a fault. */
export function readLimit(name: string, value: Value): LimitConfig | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (name === '' || name.length > LONGEST_NAME || /[\u0000-\u001f]/.test(name))
    return value.fault(`a limit's name must have 1 to ${LONGEST_NAME} characters, none of them for control`);
  if (!value.isMap) {
    const policies = readPolicies(value);
    return policies === undefined ? undefined : { ...PLAIN, name, policies, text: String(policies) };
  }
  const members = value.members(`limit ${JSON.stringify(name)}`, FIELDS);
  const given = members.get('policies');
  if (given === undefined) return value.fault('policies are required');
  const policies = readPolicies(given);
  const tiers = readTiers(members.get('tiers'));
  const overrides = readOverrides(members.get('overrides'), tiers);
  const mode = readMode(members.get('mode'));
  const shadow = members.get('shadow')?.truth('shadow') ?? false;
  members.get('description')?.text('description');
  if (policies === undefined) return undefined;
  return { name, policies, tiers, overrides, mode, shadow, text: textOf(policies) };
}

const FIELDS = ['policies', 'tiers', 'overrides', 'mode', 'shadow', 'description'];
const PLAIN = { tiers: {}, overrides: [], mode: 'whole', shadow: false } as const;

function readTiers(value: Value | undefined): Record<string, Policies> {
  const tiers: Record<string, Policies> = {};
  for (const [tier, member] of value?.members('tiers') ?? []) {
    const policies = readPolicies(member);
    if (policies !== undefined) Object.defineProperty(tiers, tier, { value: policies, enumerable: true });
  }
  return tiers;
}

function readMode(value: Value | undefined): Mode {
  if (value === undefined) return 'whole';
  const mode = value.text('mode');
  const found = MODES.find((one) => one === mode);
  if (mode !== undefined && found === undefined) value.fault(`mode must be one of ${MODES.join(', ')}`);
  return found ?? 'whole';
}

function readOverrides(value: Value | undefined, tiers: Readonly<Record<string, Policies>>): Override[] {
  const overrides: Override[] = [];
  for (const [keys, member] of value?.members('overrides') ?? []) {
    const then = readOverride(member, tiers);
    if (then !== undefined) overrides.push({ keys, then });
  }
  return overrides;
}

function readOverride(
  value: Value,
  tiers: Readonly<Record<string, Policies>>,
): Override['then'] | undefined {
  if (value.plain === 'unlimited' || value.plain === 'blocked') return value.plain;
  const members = value.isMap ? value.members('an override') : undefined;
  if (members?.has('tier')) {
    const tier = value.members('an override', ['tier']).get('tier');
    const name = tier?.text('tier');
    if (name === undefined) return undefined;
    if (Object.hasOwn(tiers, name)) return { tier: name };
    return tier?.fault(`${JSON.stringify(name)} is not a tier of this limit`);
  }
  const policies = readPolicies(members?.get('policies') ?? value);
  return policies === undefined ? undefined : { policies };
}

/** For people who look at what is loaded. */
export function textOf(policies: Policies): string {
  if (typeof policies === 'string') return policies;
  if (Array.isArray(policies)) return policies.map((one) => textOf(one as Policies)).join(' & ');
  if ('algorithm' in policies && typeof policies.algorithm === 'object') {
    const { algorithm, limit, window } = policies as { algorithm: { name: string }; limit: number; window: number };
    return `${algorithm.name} ${limit} per ${window} ms`;
  }
  return Object.entries(policies)
    .map(([name, policy]) => `${name}: ${textOf(policy as Policies)}`)
    .join(' & ');
}
