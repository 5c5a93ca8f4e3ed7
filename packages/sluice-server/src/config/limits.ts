/** Parses the `limits` section of a configuration. */
import type { Mode, Policies } from 'sluice';
import { readClasses } from './classes.ts';
import { FAILURE_ANSWERS, type LimitConfig, type Override, type Treatment } from './model.ts';
import { readPolicies, showPolicies } from './policies.ts';
import type { Value } from './value.ts';

const MODES: readonly Mode[] = ['whole', 'partial', 'always'];
const MAX_NAME = 200;
const BAD_NAME = `a name must have 1 to ${MAX_NAME} characters, without control characters`;

function isName(text: string): boolean {
  return text !== '' && text.length <= MAX_NAME && !Array.from(text).some((character) => character < ' ');
}

/** Parses a limit. Returns undefined if it reported a fault. */
export function readLimit(name: string, value: Value): LimitConfig | undefined {
  if (!isName(name)) return value.fault(BAD_NAME);
  if (!value.isMap) {
    const policies = readPolicies(value);
    return policies === undefined ? undefined : { ...PLAIN, name, policies, text: showPolicies(value) };
  }
  const members = value.members(`limit ${JSON.stringify(name)}`, FIELDS);
  const given = members.get('policies');
  if (given === undefined) return value.fault('a limit must have policies');
  const policies = readPolicies(given);
  const tiers = readTiers(members.get('tiers'));
  const classes = readClasses(members.get('classes'), policies, tiers);
  const overrides = readOverrides(members.get('overrides'), tiers);
  const mode = readChoice('mode', MODES, members.get('mode')) ?? 'whole';
  const onFailure = readChoice('onFailure', FAILURE_ANSWERS, members.get('onFailure'));
  const shadow = members.get('shadow')?.boolean('shadow') ?? false;
  members.get('description')?.text('description');
  if (policies === undefined) return undefined;
  return { name, policies, tiers, classes, overrides, mode, shadow, onFailure, text: showPolicies(given) };
}

const FIELDS = ['policies', 'tiers', 'classes', 'overrides', 'mode', 'shadow', 'onFailure', 'description'];
const PLAIN = { tiers: {}, classes: {}, overrides: [], mode: 'whole', shadow: false } as const;

function readTiers(value: Value | undefined): Record<string, Policies> {
  const tiers: Record<string, Policies> = {};
  for (const [tier, member] of value?.members('tiers') ?? []) {
    const policies = readPolicies(member);
    if (!isName(tier)) member.fault(BAD_NAME);
    else if (policies !== undefined)
      Object.defineProperty(tiers, tier, { value: policies, enumerable: true });
  }
  return tiers;
}

/** Parses one of several words. Returns undefined if the member is missing or invalid. */
function readChoice<T extends string>(
  member: string,
  choices: readonly T[],
  value: Value | undefined,
): T | undefined {
  const text = value?.text(member);
  const found = choices.find((one) => one === text);
  if (text !== undefined && found === undefined)
    value?.fault(`${member} must be one of ${choices.join(', ')}; got ${value.kind}`);
  return found;
}

function readOverrides(value: Value | undefined, tiers: Readonly<Record<string, Policies>>): Override[] {
  const overrides: Override[] = [];
  for (const [keys, member] of value?.members('overrides') ?? []) {
    const treatment = readOverride(member, tiers);
    if (treatment !== undefined) overrides.push({ keys, treatment });
  }
  return overrides;
}

function readOverride(value: Value, tiers: Readonly<Record<string, Policies>>): Treatment | undefined {
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
